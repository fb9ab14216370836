import apps.kernel.planes
import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='NumberSequence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prefix', models.CharField(max_length=16, unique=True)),
                ('last', models.PositiveIntegerField(default=0)),
            ],
            options={
                'verbose_name': 'number sequence',
                'verbose_name_plural': 'number sequences',
            },
        ),
        migrations.CreateModel(
            name='Post',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=120, unique=True, verbose_name='name')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'post',
                'verbose_name_plural': 'posts',
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='TenantRole',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.SlugField(max_length=48, unique=True, verbose_name='code')),
                ('name_en', models.CharField(max_length=80, verbose_name='name in English')),
                ('name_zh', models.CharField(max_length=80, verbose_name='name in Chinese')),
                ('permissions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None, verbose_name='permissions')),
                ('is_builtin', models.BooleanField(default=False, verbose_name='built-in')),
                ('description', models.CharField(blank=True, max_length=500, verbose_name='description')),
                ('is_read_only', models.BooleanField(default=False, verbose_name='read-only')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'role',
                'verbose_name_plural': 'roles',
                'ordering': ['code'],
            },
        ),
        migrations.CreateModel(
            name='Organization',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('description', models.CharField(blank=True, max_length=500, verbose_name='description')),
                ('attributes', models.JSONField(blank=True, default=dict, verbose_name='attributes')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='orgs.organization')),
            ],
            options={
                'verbose_name': 'organization',
                'verbose_name_plural': 'organizations',
                'ordering': ['name'],
                "constraints": [
                    models.UniqueConstraint(fields=('parent', 'name'), name='organization_name_once', nulls_distinct=False),
                    models.CheckConstraint(condition=models.Q(('parent', None), models.Q(('parent', models.F('id')), _negated=True), _connector='OR'), name='organization_not_own_parent'),
                ],
            },
        ),
        migrations.CreateModel(
            name='BusinessSystem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=120, unique=True, verbose_name='information system name')),
                ('number', models.CharField(max_length=48, unique=True, verbose_name='system service number')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='updated at')),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='orgs.businesssystem')),
                ('organization', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='business_systems', to='orgs.organization')),
            ],
            options={
                'verbose_name': 'business system',
                'verbose_name_plural': 'business systems',
                'ordering': ['number'],
                'permissions': [('take_part', 'Can take part in the business system')],
            },
        ),
        migrations.CreateModel(
            name='Member',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('user', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, unique=True)),
                ('organization', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='members', to='orgs.organization')),
                ('post', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='holders', to='orgs.post')),
            ],
            options={
                'verbose_name': 'member',
                'verbose_name_plural': 'members',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='RoleBinding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('user', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('role', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bindings', to='orgs.tenantrole')),
            ],
            options={
                'verbose_name': 'role binding',
                'verbose_name_plural': 'role bindings',
                'ordering': ['pk'],
                "constraints": [
                    models.UniqueConstraint(fields=('user', 'role'), name='role_binding_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='BusinessSystemUser',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('content_object', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='user_grants', to='orgs.businesssystem')),
                ('permission', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='auth.permission')),
                ('user', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'business system member',
                'verbose_name_plural': 'business system members',
                'abstract': False,
                'unique_together': {('user', 'permission', 'content_object')},
            },
        ),
        migrations.CreateModel(
            name='DefaultSystem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('user', apps.kernel.planes.SharedForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, unique=True)),
                ('business_system', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='orgs.businesssystem')),
            ],
            options={
                'verbose_name': 'default business system',
                'verbose_name_plural': 'default business systems',
            },
        ),
    ]
