import apps.kernel.attached_files
import apps.kernel.money
import apps.kernel.planes
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('catalog', '0001_initial'),
        ('orgs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ApplicationForm',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('no', models.CharField(max_length=32, unique=True, verbose_name='business number')),
                ('kind', models.CharField(choices=[('new', 'New'), ('change', 'Change'), ('termination', 'Termination'), ('regularization', 'Regularization')], default='new', max_length=16, verbose_name='kind')),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('submitted', 'Submitted'), ('approving', 'In approval'), ('approved', 'Approved'), ('delivering', 'In delivery'), ('completed', 'Completed'), ('rejected', 'Rejected')], default='draft', max_length=16, verbose_name='state')),
                ('applicant_name', models.CharField(max_length=120, verbose_name='applicant')),
                ('organization_name', models.CharField(blank=True, max_length=120, verbose_name='applying unit')),
                ('duration_s', models.PositiveIntegerField(default=3600, verbose_name='duration (s)')),
                ('remark', models.CharField(blank=True, max_length=1000, verbose_name='remark')),
                ('template_code', models.SlugField(blank=True, max_length=48, verbose_name='form template')),
                ('fields', models.JSONField(default=list)),
                ('data', models.JSONField(default=dict, verbose_name='further fields')),
                ('volumes', models.JSONField(blank=True, default=list, verbose_name='volumes')),
                ('coupon_uid', models.UUIDField(blank=True, null=True, verbose_name='coupon')),
                ('total', apps.kernel.money.MoneyField(blank=True, decimal_places=10, max_digits=28, null=True, verbose_name='quoted total')),
                ('note', models.CharField(blank=True, max_length=500, verbose_name='note')),
                ('submitted_at', models.DateTimeField(blank=True, null=True, verbose_name='application time')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('applicant', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='applicant')),
                ('business_system', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orgs.businesssystem', verbose_name='business system')),
            ],
            options={
                'verbose_name': 'application form',
                'verbose_name_plural': 'application forms',
                'ordering': ['-created_at', '-pk'],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'submitted', 'approving', 'approved', 'delivering', 'completed', 'rejected'])), name='form_state_known'),
                ],
                "indexes": [
                    models.Index(fields=['applicant', '-created_at'], name='form_by_applicant'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('file', models.FileField(upload_to=apps.kernel.attached_files.attachment_path)),
                ('name', models.CharField(max_length=120, verbose_name='file name')),
                ('size', models.PositiveBigIntegerField(verbose_name='size')),
                ('content_type', models.CharField(max_length=120)),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='added at')),
                ('form', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='orders.applicationform')),
                ('uploader', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='added by')),
            ],
            options={
                'verbose_name': 'attachment',
                'verbose_name_plural': 'attachments',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='CartLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('amounts', models.JSONField(default=dict, verbose_name='amounts')),
                ('count', models.PositiveIntegerField(default=1, verbose_name='count')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('commodity', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='catalog.commodity', verbose_name='commodity')),
                ('user', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'cart line',
                'verbose_name_plural': 'cart lines',
                'ordering': ['-created_at', '-pk'],
            },
        ),
        migrations.CreateModel(
            name='FormLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('commodity_snapshot', models.JSONField(default=dict, verbose_name='commodity as submitted')),
                ('amounts', models.JSONField(default=dict, verbose_name='amounts')),
                ('count', models.PositiveIntegerField(default=1, verbose_name='count')),
                ('program', models.JSONField(blank=True, default=dict, verbose_name='program')),
                ('quote', models.JSONField(blank=True, null=True, verbose_name='quote')),
                ('hold_uid', models.UUIDField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('commodity', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='catalog.commodity', verbose_name='commodity')),
                ('form', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='orders.applicationform')),
            ],
            options={
                'verbose_name': 'form line',
                'verbose_name_plural': 'form lines',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('no', models.CharField(max_length=32, unique=True, verbose_name='business number')),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('processing', 'Processing'), ('shipped', 'Shipped'), ('completed', 'Completed'), ('terminating', 'Terminating'), ('terminated', 'Terminated'), ('failed', 'Failed')], default='pending', max_length=16, verbose_name='state')),
                ('state_before', models.CharField(blank=True, max_length=16)),
                ('commodity_name_zh', models.CharField(max_length=120, verbose_name='commodity in Chinese')),
                ('commodity_name_en', models.CharField(max_length=120, verbose_name='commodity in English')),
                ('supplier', models.CharField(blank=True, max_length=120, verbose_name='supplier')),
                ('applicant_name', models.CharField(max_length=120, verbose_name='applicant')),
                ('organization_name', models.CharField(blank=True, max_length=120, verbose_name='applying unit')),
                ('duration_s', models.PositiveIntegerField(verbose_name='duration (s)')),
                ('quote', models.JSONField(verbose_name='quote')),
                ('workload_uid', models.UUIDField(blank=True, null=True, unique=True)),
                ('volume_uid', models.UUIDField(blank=True, null=True, unique=True)),
                ('ticket_uid', models.UUIDField(blank=True, null=True)),
                ('note', models.CharField(blank=True, max_length=500, verbose_name='note')),
                ('end_told_s', models.PositiveIntegerField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True, verbose_name='started at')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended at')),
                ('end_reason_code', models.CharField(blank=True, max_length=32, verbose_name='reason')),
                ('end_reason', models.CharField(blank=True, max_length=500, verbose_name='reason')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('applicant', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='applicant')),
                ('business_system', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='orgs.businesssystem', verbose_name='business system')),
                ('form', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='orders', to='orders.applicationform')),
                ('line', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='order', to='orders.formline')),
            ],
            options={
                'verbose_name': 'order',
                'verbose_name_plural': 'orders',
                'ordering': ['-created_at', '-pk'],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'processing', 'shipped', 'completed', 'terminating', 'terminated', 'failed'])), name='order_state_known'),
                ],
                "indexes": [
                    models.Index(fields=['applicant', '-created_at'], name='order_by_applicant'),
                ],
            },
        ),
        migrations.AddField(
            model_name='applicationform',
            name='target_order',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='later_forms', to='orders.order', verbose_name='order to end or change'),
        ),
        migrations.AddConstraint(
            model_name='applicationform',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ('termination', 'change')), ('target_order__isnull', False)), models.Q(models.Q(('kind__in', ('termination', 'change')), _negated=True), ('target_order__isnull', True)), _connector='OR'), name='form_target_order'),
        ),
    ]
