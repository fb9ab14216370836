import apps.kernel.planes
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
            name='Ticket',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('no', models.CharField(max_length=32, unique=True, verbose_name='business number')),
                ('kind', models.CharField(choices=[('delivery', 'Delivery'), ('manual', 'Manual service'), ('repair', 'Repair'), ('purchase', 'Purchase'), ('outsourcing', 'Outsourcing')], default='delivery', max_length=16, verbose_name='kind')),
                ('title_zh', models.CharField(max_length=200, verbose_name='title in Chinese')),
                ('title_en', models.CharField(max_length=200, verbose_name='title in English')),
                ('subject_kind', models.CharField(max_length=16)),
                ('subject_uid', models.UUIDField()),
                ('subject_no', models.CharField(max_length=32, verbose_name='for')),
                ('side', models.CharField(default='operator', max_length=8, verbose_name='side')),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('delivering', 'In delivery'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=16, verbose_name='state')),
                ('submitter_name', models.CharField(max_length=120, verbose_name='submitted by')),
                ('organization_name', models.CharField(blank=True, max_length=120, verbose_name='organization')),
                ('business_system_name', models.CharField(blank=True, max_length=120, verbose_name='business system')),
                ('result', models.JSONField(default=dict, verbose_name='result')),
                ('claimed_at', models.DateTimeField(blank=True, null=True, verbose_name='claimed at')),
                ('done_at', models.DateTimeField(blank=True, null=True, verbose_name='done at')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('assignee', apps.kernel.planes.SharedForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='claimed by')),
                ('submitter', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='submitted by')),
            ],
            options={
                'verbose_name': 'work ticket',
                'verbose_name_plural': 'work tickets',
                'ordering': ['-created_at', '-pk'],
                'indexes': [models.Index(fields=['subject_uid'], name='ticket_by_subject')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'delivering', 'done', 'failed'])), name='ticket_state_known'), models.UniqueConstraint(condition=models.Q(('state__in', ['waiting', 'delivering'])), fields=('kind', 'subject_uid'), name='ticket_open_once')],
            },
        ),
    ]
