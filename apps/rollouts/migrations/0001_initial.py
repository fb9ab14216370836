import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Backup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(max_length=200, verbose_name='host')),
                ('path', models.CharField(max_length=500, verbose_name='file')),
                ('size', models.PositiveBigIntegerField(default=0, verbose_name='size (bytes)')),
                ('reason', models.CharField(blank=True, max_length=500, verbose_name='reason')),
                ('started_at', models.DateTimeField(db_index=True, verbose_name='started at')),
                ('finished_at', models.DateTimeField(verbose_name='finished at')),
            ],
            options={
                'verbose_name': 'backup',
                'verbose_name_plural': 'backups',
                'ordering': ['-started_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='Lease',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=64, unique=True)),
                ('holder', models.CharField(max_length=200)),
                ('until_at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'lease',
                'verbose_name_plural': 'leases',
            },
        ),
        migrations.CreateModel(
            name='ReleaseKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_key', models.CharField(max_length=64, unique=True, verbose_name='public key')),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('revoked_at', models.DateTimeField(blank=True, null=True, verbose_name='revoked at')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='trusted since')),
            ],
            options={
                'verbose_name': 'release key',
                'verbose_name_plural': 'release keys',
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.CharField(max_length=64, unique=True, verbose_name='version')),
                ('content', models.BinaryField()),
                ('size', models.PositiveIntegerField(verbose_name='size (bytes)')),
                ('file_count', models.PositiveIntegerField(verbose_name='files')),
                ('sha256', models.CharField(max_length=64, verbose_name='SHA-256')),
                ('signature', models.CharField(max_length=128, verbose_name='signature')),
                ('notes', models.CharField(blank=True, max_length=500, verbose_name='notes')),
                ('created_by', models.CharField(blank=True, max_length=150, verbose_name='added by')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='added at')),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='rollouts.releasekey', verbose_name='signed by')),
            ],
            options={
                'verbose_name': 'release',
                'verbose_name_plural': 'releases',
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='Rollout',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('config', models.JSONField(blank=True, default=dict, verbose_name='configuration')),
                ('batch', models.PositiveSmallIntegerField(default=1, verbose_name='targets in a batch')),
                ('gate_s', models.PositiveIntegerField(default=60, verbose_name='time for each target (s)')),
                ('state', models.CharField(choices=[('running', 'Rolling out'), ('paused', 'Paused'), ('rolling_back', 'Rolling back'), ('done', 'Rolled out'), ('rolled_back', 'Rolled back'), ('cancelled', 'Cancelled')], default='running', max_length=16, verbose_name='state')),
                ('why', models.JSONField(blank=True, default=dict, verbose_name='reason')),
                ('created_by', models.CharField(blank=True, max_length=150, verbose_name='started by')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='started at')),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('release', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='rollouts.release', verbose_name='release')),
            ],
            options={
                'verbose_name': 'roll-out',
                'verbose_name_plural': 'roll-outs',
                'ordering': ['-created_at', '-pk'],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('state__in', ['running', 'paused', 'rolling_back', 'done', 'rolled_back', 'cancelled'])), name='rollout_state'),
                    models.CheckConstraint(condition=models.Q(('batch__gte', 1), ('gate_s__gte', 1)), name='rollout_batch'),
                ],
            },
        ),
        migrations.CreateModel(
            name='RolloutStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('batch_no', models.PositiveSmallIntegerField(verbose_name='batch')),
                ('kind', models.CharField(choices=[('server', 'Server'), ('node', 'Node')], max_length=8, verbose_name='kind')),
                ('node_uid', models.CharField(blank=True, max_length=64)),
                ('name', models.CharField(max_length=200, verbose_name='target')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('upgrading', 'Upgrading'), ('done', 'Done'), ('failed', 'Failed'), ('rolling_back', 'Rolling back'), ('rolled_back', 'Rolled back'), ('skipped', 'Left as it was')], default='waiting', max_length=16, verbose_name='state')),
                ('is_open', models.BooleanField(default=True)),
                ('from_version', models.CharField(blank=True, max_length=64, verbose_name='from')),
                ('to_version', models.CharField(blank=True, max_length=64, verbose_name='to')),
                ('before', models.JSONField(blank=True, default=dict)),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('slices', models.JSONField(blank=True, default=list)),
                ('why', models.JSONField(blank=True, default=dict, verbose_name='reason')),
                ('started_at', models.DateTimeField(blank=True, null=True, verbose_name='started at')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished at')),
                ('rollout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='rollouts.rollout')),
            ],
            options={
                'verbose_name': 'step',
                'verbose_name_plural': 'steps',
                'ordering': ['rollout', 'batch_no', 'pk'],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'upgrading', 'done', 'failed', 'rolling_back', 'rolled_back', 'skipped'])), name='rolloutstep_state'),
                    models.UniqueConstraint(condition=models.Q(('is_open', True)), fields=('kind', 'node_uid'), name='rollout_target_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ServerProcess',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(max_length=200, verbose_name='host')),
                ('name', models.CharField(max_length=64, verbose_name='name')),
                ('kind', models.CharField(choices=[('web', 'Web server'), ('worker', 'Worker'), ('beat', 'Clock'), ('scheduler', 'Scheduler')], max_length=16, verbose_name='component')),
                ('pid', models.PositiveIntegerField(verbose_name='process')),
                ('version', models.CharField(max_length=64, verbose_name='version')),
                ('state', models.CharField(choices=[('running', 'Running'), ('restarting', 'Restarting'), ('stopped', 'Stopped'), ('lost', 'Lost')], default='running', max_length=16, verbose_name='state')),
                ('generation', models.PositiveBigIntegerField(default=0)),
                ('started_at', models.DateTimeField(verbose_name='started at')),
                ('seen_at', models.DateTimeField(verbose_name='last seen at')),
                ('restart_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name': 'server process',
                'verbose_name_plural': 'server processes',
                'ordering': ['kind', 'host', 'name'],
                'constraints': [models.UniqueConstraint(fields=('host', 'name'), name='server_process_once')],
            },
        ),
        migrations.CreateModel(
            name='ServerGeneration',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_only', models.BooleanField(default=True, unique=True)),
                ('generation', models.PositiveBigIntegerField(default=0)),
            ],
            options={
                'verbose_name': 'server generation',
                'verbose_name_plural': 'server generations',
                'constraints': [models.CheckConstraint(condition=models.Q(('is_only', True)), name='server_generation_only_one')],
            },
        ),
    ]
