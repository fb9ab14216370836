import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=32, unique=True)),
                ('at', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name': 'turn',
                'verbose_name_plural': 'turns',
            },
        ),
        migrations.CreateModel(
            name='AlarmRoute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(blank=True, max_length=80, verbose_name='name')),
                ('channel', models.CharField(choices=[('in_site', 'In-site message'), ('email', 'E-mail')], max_length=16, verbose_name='channel')),
                ('severities', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('critical', 'Critical'), ('major', 'Major'), ('minor', 'Minor'), ('notice', 'Notice')], max_length=16), blank=True, default=list, size=None, verbose_name='severities')),
                ('addresses', django.contrib.postgres.fields.ArrayField(base_field=models.EmailField(max_length=254), blank=True, default=list, size=None, verbose_name='addresses')),
                ('roles', django.contrib.postgres.fields.ArrayField(base_field=models.SlugField(max_length=48), blank=True, default=list, size=None, verbose_name='roles')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('removed_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name': 'alarm route',
                'verbose_name_plural': 'alarm routes',
                'ordering': ['created_at', 'pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('channel__in', ['in_site', 'email'])), name='alarm_route_channel')],
            },
        ),
        migrations.CreateModel(
            name='AlarmRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.SlugField(max_length=48, unique=True, verbose_name='code')),
                ('metric', models.CharField(choices=[('device_utilisation', 'Device utilisation'), ('device_memory', 'Device memory in use'), ('device_temperature', 'Device temperature'), ('device_power', 'Device power'), ('device_failed', 'Device failed'), ('device_missing', 'Device missing'), ('device_degraded', 'Device degraded'), ('node_utilisation', 'Node utilisation'), ('node_power', 'Node power'), ('pool_power', 'Pool power'), ('node_silent', 'Node silent'), ('node_lost', 'Node lost'), ('node_clock', 'Node clock wrong'), ('network_silent', 'Switch or switch port silent'), ('session_latency', 'Session latency'), ('share_waiting', 'Share not started'), ('share_missing', 'Share not delivered'), ('queue_wait', 'Longest wait in a queue'), ('quota_used', 'Quota in use'), ('disk_used', 'Portal disk in use'), ('device_mismatch', 'Device reports another memory'), ('order_untold', 'Order not told'), ('usage_refused', 'Usage refused'), ('usage_doubted', 'Usage doubted')], max_length=32, verbose_name='metric')),
                ('comparison', models.CharField(choices=[('gt', '>'), ('ge', '≥'), ('lt', '<'), ('le', '≤')], default='ge', max_length=2, verbose_name='comparison')),
                ('threshold', models.FloatField(default=1, verbose_name='threshold')),
                ('for_s', models.PositiveIntegerField(default=0, verbose_name='for (s)')),
                ('severity', models.CharField(choices=[('critical', 'Critical'), ('major', 'Major'), ('minor', 'Minor'), ('notice', 'Notice')], max_length=16, verbose_name='severity')),
                ('subject', models.CharField(blank=True, max_length=128, verbose_name='subject')),
                ('ends_after_s', models.PositiveIntegerField(blank=True, null=True, verbose_name='ends after (s) of quiet')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name': 'alarm rule',
                'verbose_name_plural': 'alarm rules',
                'ordering': ['code'],
                'constraints': [models.CheckConstraint(condition=models.Q(('severity__in', ['critical', 'major', 'minor', 'notice'])), name='alarm_rule_severity'), models.CheckConstraint(condition=models.Q(('comparison__in', ['gt', 'ge', 'lt', 'le'])), name='alarm_rule_comparison')],
            },
        ),
        migrations.CreateModel(
            name='Alarm',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('key', models.CharField(max_length=200, verbose_name='key')),
                ('level', models.CharField(choices=[('critical', 'Critical'), ('major', 'Major'), ('minor', 'Minor'), ('notice', 'Notice')], max_length=16, verbose_name='level')),
                ('state', models.CharField(choices=[('firing', 'Firing'), ('acknowledged', 'Acknowledged'), ('resolved', 'Resolved')], default='firing', max_length=16, verbose_name='state')),
                ('source', models.CharField(max_length=64, verbose_name='source')),
                ('subject_kind', models.CharField(blank=True, max_length=32, verbose_name='kind of subject')),
                ('subject_id', models.CharField(blank=True, max_length=128, verbose_name='subject')),
                ('msgid', models.CharField(max_length=240)),
                ('params', models.JSONField(default=dict)),
                ('count', models.PositiveIntegerField(default=1, verbose_name='times raised')),
                ('fired_at', models.DateTimeField(verbose_name='since')),
                ('raised_at', models.DateTimeField(verbose_name='last raised at')),
                ('acknowledged_at', models.DateTimeField(blank=True, null=True, verbose_name='acknowledged at')),
                ('resolved_at', models.DateTimeField(blank=True, null=True, verbose_name='resolved at')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('acknowledged_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='acknowledged by')),
                ('rule', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='alarms', to='telemetry.alarmrule', verbose_name='rule')),
            ],
            options={
                'verbose_name': 'alarm',
                'verbose_name_plural': 'alarms',
                'ordering': ['-created_at', '-pk'],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('state__in', ['firing', 'acknowledged', 'resolved'])), name='alarm_state'),
                    models.CheckConstraint(condition=models.Q(('level__in', ['critical', 'major', 'minor', 'notice'])), name='alarm_level'),
                    models.UniqueConstraint(condition=models.Q(('state', 'resolved'), _negated=True), fields=('key',), name='alarm_once_while_open'),
                ],
                "indexes": [
                    models.Index(fields=['state', '-created_at', '-id'], name='alarm_by_state'),
                ],
            },
        ),
        migrations.CreateModel(
            name='LogEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('level', models.CharField(choices=[('debug', 'Debug'), ('info', 'Information'), ('warning', 'Warning'), ('error', 'Error'), ('critical', 'Critical')], max_length=8, verbose_name='level')),
                ('component', models.CharField(blank=True, max_length=64, verbose_name='component')),
                ('node', models.CharField(blank=True, max_length=200, verbose_name='node')),
                ('task', models.CharField(blank=True, max_length=64, verbose_name='task')),
                ('tenant', models.CharField(blank=True, max_length=63, verbose_name='tenant')),
                ('priority', models.IntegerField(blank=True, null=True, verbose_name='task priority')),
                ('text', models.TextField(verbose_name='text')),
            ],
            options={
                'verbose_name': 'log entry',
                'verbose_name_plural': 'log entries',
                'ordering': ['-at', '-pk'],
                'indexes': [models.Index(fields=['-at', '-id'], name='log_by_time'), models.Index(fields=['level', '-at'], name='log_by_level'), models.Index(condition=models.Q(('task', ''), _negated=True), fields=['task', '-at'], name='log_by_task'), models.Index(condition=models.Q(('node', ''), _negated=True), fields=['node', '-at'], name='log_by_node')],
                'constraints': [models.CheckConstraint(condition=models.Q(('level__in', ['debug', 'info', 'warning', 'error', 'critical'])), name='log_entry_level')],
            },
        ),
        migrations.CreateModel(
            name='PastShare',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slice_uid', models.UUIDField(db_index=True, verbose_name='slice')),
                ('from_at', models.DateTimeField(null=True, verbose_name='from')),
                ('until_at', models.DateTimeField(verbose_name='until')),
                ('compute_percent', models.PositiveIntegerField(verbose_name='compute share (%)')),
                ('memory_mib', models.PositiveBigIntegerField(verbose_name='memory (MiB)')),
            ],
            options={
                'verbose_name': 'past share',
                'verbose_name_plural': 'past shares',
                'ordering': ['until_at', 'pk'],
                'indexes': [models.Index(fields=['until_at'], name='past_share_by_end')],
            },
        ),
        migrations.CreateModel(
            name='Rollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('series', models.CharField(max_length=32, verbose_name='series')),
                ('kind', models.CharField(max_length=16, verbose_name='kind of subject')),
                ('subject', models.CharField(max_length=128, verbose_name='subject')),
                ('tenant', models.CharField(blank=True, max_length=63, verbose_name='tenant')),
                ('source', models.CharField(blank=True, choices=[('measured', 'measured'), ('modelled', 'modelled')], max_length=16, verbose_name='known by')),
                ('hour', models.DateTimeField(verbose_name='hour')),
                ('weighted', models.FloatField(default=0, verbose_name='figure × seconds')),
                ('seconds', models.FloatField(default=0, verbose_name='seconds')),
                ('peak', models.FloatField(default=0, verbose_name='peak')),
            ],
            options={
                'verbose_name': 'hourly figure',
                'verbose_name_plural': 'hourly figures',
                'ordering': ['hour', 'pk'],
                'indexes': [models.Index(fields=['series', 'kind', 'hour'], name='rollup_by_series')],
                'constraints': [models.UniqueConstraint(fields=('series', 'kind', 'subject', 'tenant', 'source', 'hour'), name='rollup_once')],
            },
        ),
        migrations.CreateModel(
            name='Sample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('series', models.CharField(max_length=64, verbose_name='series')),
                ('subject', models.CharField(max_length=128, verbose_name='subject')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('value', models.FloatField(verbose_name='value')),
            ],
            options={
                'verbose_name': 'sample',
                'verbose_name_plural': 'samples',
                'ordering': ['at', 'pk'],
                'indexes': [models.Index(fields=['at'], name='sample_age')],
                'constraints': [models.UniqueConstraint(fields=('series', 'subject', 'at'), name='sample_once')],
            },
        ),
        migrations.CreateModel(
            name='AlarmDelivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('is_over', models.BooleanField(default=False, verbose_name='over')),
                ('channel', models.CharField(choices=[('in_site', 'In-site message'), ('email', 'E-mail')], max_length=16, verbose_name='channel')),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('sent', 'Sent'), ('failed', 'Failed')], default='pending', max_length=16, verbose_name='state')),
                ('error', models.CharField(blank=True, max_length=300, verbose_name='error')),
                ('tries', models.PositiveSmallIntegerField(default=0, verbose_name='tries')),
                ('next_try_at', models.DateTimeField(verbose_name='next try at')),
                ('sent_at', models.DateTimeField(blank=True, null=True, verbose_name='sent at')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('alarm', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='telemetry.alarm', verbose_name='alarm')),
                ('route', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='telemetry.alarmroute', verbose_name='route')),
            ],
            options={
                'verbose_name': 'alarm delivery',
                'verbose_name_plural': 'alarm deliveries',
                'ordering': ['-created_at', '-pk'],
                'indexes': [models.Index(condition=models.Q(('state', 'pending')), fields=['next_try_at'], name='alarm_delivery_due')],
                'constraints': [models.UniqueConstraint(fields=('alarm', 'route', 'is_over'), name='alarm_delivery_once'), models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'sent', 'failed'])), name='alarm_delivery_state')],
            },
        ),
        migrations.CreateModel(
            name='AlarmBreach',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(max_length=128)),
                ('since_at', models.DateTimeField()),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='breaches', to='telemetry.alarmrule')),
            ],
            options={
                'verbose_name': 'breach',
                'verbose_name_plural': 'breaches',
                'constraints': [models.UniqueConstraint(fields=('rule', 'subject'), name='alarm_breach_once')],
            },
        ),
    ]
