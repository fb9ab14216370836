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
            name='Seal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('until_txid', models.BigIntegerField(unique=True, verbose_name='up to transaction')),
                ('count', models.PositiveIntegerField(verbose_name='records')),
                ('previous', models.CharField(blank=True, max_length=64, unique=True, verbose_name='previous digest')),
                ('digest', models.CharField(max_length=64, unique=True, verbose_name='digest')),
                ('at', models.DateTimeField(auto_now_add=True, verbose_name='time')),
            ],
            options={
                'verbose_name': 'seal',
                'verbose_name_plural': 'seals',
                'ordering': ['-until_txid'],
            },
        ),
        migrations.CreateModel(
            name='Record',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=80, verbose_name='act')),
                ('actor_kind', models.CharField(max_length=12, verbose_name='kind of actor')),
                ('actor_name', models.CharField(max_length=120, verbose_name='actor')),
                ('role', models.CharField(blank=True, max_length=64, verbose_name='role')),
                ('schema', models.CharField(blank=True, max_length=63, verbose_name='tenant')),
                ('request_id', models.CharField(blank=True, max_length=64, verbose_name='request')),
                ('subject_kind', models.CharField(blank=True, max_length=40, verbose_name='kind of subject')),
                ('subject_id', models.CharField(blank=True, max_length=64, verbose_name='subject')),
                ('detail', models.JSONField(default=dict, verbose_name='detail')),
                ('at', models.DateTimeField(verbose_name='time')),
                ('txid', models.BigIntegerField(db_default=models.Func(output_field=models.BigIntegerField(), template='(pg_current_xact_id()::text::bigint)'))),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='user')),
            ],
            options={
                'verbose_name': 'operation record',
                'verbose_name_plural': 'operation log',
                'ordering': ['-at', '-pk'],
                'indexes': [models.Index(fields=['txid', 'id'], name='record_by_txid'), models.Index(fields=['-at', '-id'], name='record_by_time'), models.Index(fields=['subject_kind', 'subject_id'], name='record_by_subject'), models.Index(fields=['schema', '-at'], name='record_by_tenant')],
            },
        ),
    ]
