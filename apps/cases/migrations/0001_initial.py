import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('tenancy', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Case',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('form', 'Application form'), ('order', 'Order'), ('ticket', 'Work ticket'), ('task', 'Approval task')], max_length=8, verbose_name='kind')),
                ('uid', models.UUIDField(verbose_name='identifier')),
                ('no', models.CharField(max_length=32, verbose_name='business number')),
                ('title_zh', models.CharField(max_length=200, verbose_name='title in Chinese')),
                ('title_en', models.CharField(max_length=200, verbose_name='title in English')),
                ('state', models.CharField(max_length=16, verbose_name='state')),
                ('applicant_id', models.BigIntegerField(null=True, verbose_name='applicant')),
                ('applicant_name', models.CharField(blank=True, max_length=120, verbose_name='applicant')),
                ('organization', models.CharField(blank=True, max_length=120, verbose_name='organization')),
                ('business_system', models.CharField(blank=True, max_length=120, verbose_name='business system')),
                ('category', models.CharField(blank=True, max_length=80, verbose_name='category')),
                ('side', models.CharField(blank=True, max_length=8, verbose_name='side')),
                ('roles', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=48), default=list, size=None, verbose_name='candidate roles')),
                ('candidate_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None, verbose_name='candidates by name')),
                ('assignee_id', models.BigIntegerField(null=True, verbose_name='assignee')),
                ('worked_by_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None, verbose_name='worked on by')),
                ('due_at', models.DateTimeField(null=True, verbose_name='due at')),
                ('urged_at', models.DateTimeField(null=True, verbose_name='urged at')),
                ('link', models.CharField(max_length=200, verbose_name='link')),
                ('is_open', models.BooleanField(default=True, verbose_name='open')),
                ('created_at', models.DateTimeField(verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'case',
                'verbose_name_plural': 'cases',
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                'indexes': [models.Index(models.F('kind'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='case_newest'), models.Index(models.F('tenant'), models.F('kind'), models.OrderBy(models.F('created_at'), descending=True), name='case_of_tenant'), models.Index(models.F('kind'), models.F('tenant'), condition=models.Q(('is_open', True)), name='case_open'), models.Index(models.F('no'), name='case_no'), django.contrib.postgres.indexes.GinIndex(condition=models.Q(('is_open', True)), fields=['roles'], name='case_roles'), django.contrib.postgres.indexes.GinIndex(fields=['worked_by_ids'], name='case_worked_by')],
                'constraints': [models.UniqueConstraint(fields=('kind', 'uid'), name='case_once')],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
    ]
