import apps.kernel.planes
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('catalog', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ProcessInstance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('state_json', models.TextField()),
                ('subject_kind', models.CharField(max_length=16)),
                ('subject_uid', models.UUIDField()),
                ('subject_no', models.CharField(max_length=32, verbose_name='business number')),
                ('title_zh', models.CharField(max_length=200, verbose_name='title in Chinese')),
                ('title_en', models.CharField(max_length=200, verbose_name='title in English')),
                ('applicant_name', models.CharField(max_length=120, verbose_name='applicant')),
                ('organization_name', models.CharField(blank=True, max_length=120, verbose_name='organization')),
                ('business_system_name', models.CharField(blank=True, max_length=120, verbose_name='business system')),
                ('state', models.CharField(choices=[('running', 'In approval'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('sent_back', 'Sent back'), ('withdrawn', 'Withdrawn')], default='running', max_length=16, verbose_name='state')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('applicant', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='applicant')),
                ('process_template', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='catalog.processtemplate')),
            ],
            options={
                'verbose_name': 'process',
                'verbose_name_plural': 'processes',
                'ordering': ['-created_at', '-pk'],
                "constraints": [
                    models.UniqueConstraint(condition=models.Q(('state', 'running')), fields=('subject_uid',), name='process_running_once'),
                    models.CheckConstraint(condition=models.Q(('state__in', ['running', 'approved', 'rejected', 'sent_back', 'withdrawn'])), name='process_state_known'),
                ],
                "indexes": [
                    models.Index(fields=['subject_uid', '-created_at'], name='process_by_subject'),
                ],
            },
        ),
        migrations.CreateModel(
            name='HumanTask',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('engine_task_id', models.CharField(max_length=64)),
                ('node_id', models.CharField(max_length=120)),
                ('name_zh', models.CharField(max_length=120, verbose_name='step in Chinese')),
                ('name_en', models.CharField(max_length=120, verbose_name='step in English')),
                ('roles', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), default=list, size=None, verbose_name='candidate roles')),
                ('operator_roles', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), default=list, size=None, verbose_name='candidate operator roles')),
                ('user_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None, verbose_name='candidates by name')),
                ('rule', models.CharField(default='one_of', max_length=8, verbose_name='rule')),
                ('allow_refuse', models.BooleanField(default=True, verbose_name='may refuse')),
                ('allow_send_back', models.BooleanField(default=True, verbose_name='may send back')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('done', 'Done'), ('cancelled', 'Cancelled')], default='waiting', max_length=16, verbose_name='state')),
                ('due_at', models.DateTimeField(blank=True, null=True, verbose_name='deadline')),
                ('urged_at', models.DateTimeField(blank=True, null=True, verbose_name='urged at')),
                ('done_at', models.DateTimeField(blank=True, null=True, verbose_name='done at')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('instance', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tasks', to='approvals.processinstance')),
            ],
            options={
                'verbose_name': 'approval task',
                'verbose_name_plural': 'approval tasks',
                'ordering': ['-created_at', '-pk'],
                "constraints": [
                    models.UniqueConstraint(fields=('instance', 'engine_task_id'), name='task_once'),
                    models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'done', 'cancelled'])), name='task_state_known'),
                ],
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(condition=models.Q(('state', 'waiting')), fields=['roles'], name='task_roles'),
                    django.contrib.postgres.indexes.GinIndex(fields=['user_ids'], name='task_users'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('user_name', models.CharField(max_length=120, verbose_name='decided by')),
                ('role', models.CharField(max_length=100, verbose_name='in the role')),
                ('decision', models.CharField(choices=[('approve', 'Approve'), ('refuse', 'Refuse'), ('send_back', 'Send back')], max_length=16, verbose_name='decision')),
                ('comment', models.CharField(blank=True, max_length=1000, verbose_name='comment')),
                ('at', models.DateTimeField(auto_now_add=True, verbose_name='time')),
                ('user', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='decided by')),
                ('task', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='given', to='approvals.humantask')),
            ],
            options={
                'verbose_name': 'decision',
                'verbose_name_plural': 'decisions',
                'ordering': ['at', 'pk'],
                'constraints': [models.UniqueConstraint(fields=('task', 'user'), name='decision_once')],
            },
        ),
    ]
