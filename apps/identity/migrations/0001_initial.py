import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('tenancy', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='AgentToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('kind', models.CharField(choices=[('join', 'Join token'), ('node', 'Node credential')], max_length=8, verbose_name='kind')),
                ('node_uid', models.CharField(blank=True, max_length=64, verbose_name='node')),
                ('note', models.CharField(blank=True, max_length=120, verbose_name='note')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires at')),
                ('used_at', models.DateTimeField(blank=True, null=True, verbose_name='used at')),
                ('revoked_at', models.DateTimeField(blank=True, null=True, verbose_name='revoked at')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'agent token',
                'verbose_name_plural': 'agent tokens',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='OperatorRole',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.SlugField(max_length=48, unique=True, verbose_name='code')),
                ('name_en', models.CharField(max_length=80, verbose_name='name in English')),
                ('name_zh', models.CharField(max_length=80, verbose_name='name in Chinese')),
                ('permissions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, size=None, verbose_name='permissions')),
                ('is_builtin', models.BooleanField(default=False, verbose_name='built-in')),
                ('description', models.CharField(blank=True, max_length=500, verbose_name='description')),
                ('is_read_only', models.BooleanField(default=False, verbose_name='read-only')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name': 'operator role',
                'verbose_name_plural': 'operator roles',
                'ordering': ['code'],
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('username', models.CharField(max_length=64, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='login account')),
                ('display_name', models.CharField(max_length=120, verbose_name='name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='e-mail')),
                ('language', models.CharField(blank=True, max_length=8, verbose_name='language')),
                ('is_active', models.BooleanField(default=True, verbose_name='enabled')),
                ('is_operator', models.BooleanField(default=False, verbose_name='operator side')),
                ('tours_ended', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=64), default=list, editable=False, size=None)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'ordering': ['username'],
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('username'), name='user_username_ci')],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('hint', models.CharField(max_length=12, verbose_name='begins with')),
                ('expires_at', models.DateTimeField(verbose_name='expires at')),
                ('revoked_at', models.DateTimeField(blank=True, null=True, verbose_name='revoked at')),
                ('used_at', models.DateTimeField(blank=True, null=True, verbose_name='last used at')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'API token',
                'verbose_name_plural': 'API tokens',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='IdempotentCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=128)),
                ('caller', models.CharField(max_length=96)),
                ('method_path', models.CharField(max_length=200)),
                ('body_digest', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('answer', models.JSONField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='idempotent_call_age')],
                'constraints': [models.UniqueConstraint(fields=('caller', 'key'), name='idempotent_call_once')],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_active', models.BooleanField(default=True, verbose_name='enabled')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to='tenancy.tenant')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='memberships', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'membership',
                'verbose_name_plural': 'memberships',
                'constraints': [models.UniqueConstraint(fields=('user', 'tenant'), name='membership_once')],
            },
        ),
        migrations.CreateModel(
            name='OperatorBinding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='operator_bindings', to=settings.AUTH_USER_MODEL)),
                ('role', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bindings', to='identity.operatorrole')),
            ],
            options={
                'verbose_name': 'operator role binding',
                'verbose_name_plural': 'operator role bindings',
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('user', 'role'), name='operator_binding_once')],
            },
        ),
        migrations.CreateModel(
            name='SignIn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('username', models.CharField(max_length=64, verbose_name='login account')),
                ('schema', models.CharField(blank=True, max_length=63, verbose_name='tenant')),
                ('address', models.GenericIPAddressField(null=True, verbose_name='address')),
                ('is_accepted', models.BooleanField(verbose_name='accepted')),
                ('at', models.DateTimeField(auto_now_add=True, verbose_name='time')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'sign-in',
                'verbose_name_plural': 'login log',
                'ordering': ['-at'],
                'indexes': [models.Index(fields=['username', '-at'], name='signin_by_username')],
            },
        ),
    ]
