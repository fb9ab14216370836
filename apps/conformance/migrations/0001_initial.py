import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='ReportKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_key', models.CharField(max_length=64, unique=True, verbose_name='public key')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'report key',
                'verbose_name_plural': 'report keys',
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='ConformanceRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('state', models.CharField(choices=[('queued', 'Waiting to begin'), ('running', 'Under way'), ('finished', 'Finished'), ('interrupted', 'Interrupted')], default='queued', max_length=16, verbose_name='state')),
                ('numbers', models.JSONField(default=list, verbose_name='tests')),
                ('started_by', models.CharField(max_length=120, verbose_name='started by')),
                ('url', models.CharField(blank=True, max_length=300, verbose_name='address')),
                ('inventory', models.JSONField(default=dict)),
                ('report', models.JSONField(blank=True, null=True)),
                ('level_reached', models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='level reached')),
                ('runner', models.JSONField(default=dict)),
                ('is_background', models.BooleanField(default=True)),
                ('is_stop_wanted', models.BooleanField(default=False)),
                ('note', models.CharField(blank=True, max_length=500, verbose_name='reason')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='asked at')),
                ('started_at', models.DateTimeField(blank=True, null=True, verbose_name='started at')),
                ('heard_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended at')),
            ],
            options={
                'verbose_name': 'conformance run',
                'verbose_name_plural': 'conformance runs',
                'ordering': ['-created_at', '-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'finished', 'interrupted'])), name='conformance_run_state'), models.UniqueConstraint(models.Value(1), condition=models.Q(('state__in', ['queued', 'running'])), name='conformance_one_open_run')],
            },
        ),
        migrations.CreateModel(
            name='Trace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=32)),
                ('key', models.CharField(max_length=300)),
                ('detail', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='traces', to='conformance.conformancerun')),
            ],
            options={
                'verbose_name': 'trace of a conformance run',
                'verbose_name_plural': 'traces of conformance runs',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ConformanceResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.CharField(max_length=8, verbose_name='test')),
                ('position', models.PositiveSmallIntegerField()),
                ('outcome', models.CharField(choices=[('waiting', 'To come'), ('running', 'Under way'), ('passed', 'Passed'), ('failed', 'Not passed'), ('not_run', 'Not run')], default='waiting', max_length=8, verbose_name='outcome')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('steps', models.JSONField(default=list)),
                ('expectations', models.JSONField(default=list)),
                ('is_simulated', models.BooleanField(default=False, verbose_name='on simulated devices')),
                ('started_at', models.DateTimeField(blank=True, null=True, verbose_name='started at')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended at')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='conformance.conformancerun')),
            ],
            options={
                'verbose_name': 'conformance result',
                'verbose_name_plural': 'conformance results',
                'ordering': ['run', 'position'],
                'constraints': [models.UniqueConstraint(fields=('run', 'number'), name='conformance_result_once')],
            },
        ),
    ]
