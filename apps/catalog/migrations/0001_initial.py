import apps.kernel.money
import django.db.models.deletion
import django.db.models.manager
import uuid
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('tenancy', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='FormTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_zh', models.CharField(max_length=120, verbose_name='name in Chinese')),
                ('name_en', models.CharField(max_length=120, verbose_name='name in English')),
                ('code', models.SlugField(max_length=48, unique=True, verbose_name='code')),
                ('kind', models.CharField(choices=[('new', 'New'), ('change', 'Change'), ('termination', 'Termination'), ('regularization', 'Regularization')], max_length=16, verbose_name='kind')),
                ('fields', models.JSONField(blank=True, default=list, verbose_name='fields')),
                ('version', models.PositiveIntegerField(default=1, verbose_name='version')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name': 'form template',
                'verbose_name_plural': 'form templates',
                'ordering': ['code'],
            },
        ),
        migrations.CreateModel(
            name='Category',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_zh', models.CharField(max_length=120, verbose_name='name in Chinese')),
                ('name_en', models.CharField(max_length=120, verbose_name='name in English')),
                ('code', models.SlugField(max_length=48, unique=True, verbose_name='code')),
                ('position', models.PositiveIntegerField(default=0, verbose_name='position')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='catalog.category', verbose_name='parent')),
            ],
            options={
                'verbose_name': 'category',
                'verbose_name_plural': 'categories',
                'ordering': ['position', 'code'],
            },
        ),
        migrations.CreateModel(
            name='Commodity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_zh', models.CharField(max_length=120, verbose_name='name in Chinese')),
                ('name_en', models.CharField(max_length=120, verbose_name='name in English')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('number', models.CharField(max_length=32, unique=True, verbose_name='service number')),
                ('intro_zh', models.TextField(blank=True, verbose_name='introduction in Chinese')),
                ('intro_en', models.TextField(blank=True, verbose_name='introduction in English')),
                ('icon', models.CharField(default='cpu', max_length=48, verbose_name='icon')),
                ('supplier', models.CharField(blank=True, max_length=120, verbose_name='supplier')),
                ('kind', models.CharField(choices=[('work', 'Work'), ('environment', 'Environment'), ('session', 'Remote accelerator'), ('service', 'Service'), ('volume', 'Storage volume'), ('manual', 'Manual service')], default='work', max_length=16, verbose_name='kind')),
                ('work', models.JSONField(blank=True, default=dict, verbose_name='work')),
                ('environment', models.CharField(blank=True, max_length=36, verbose_name='environment template')),
                ('is_own_program', models.BooleanField(default=False, verbose_name="the buyer's own program")),
                ('image', models.CharField(blank=True, max_length=36, verbose_name='container image')),
                ('image_name', models.CharField(blank=True, max_length=100)),
                ('card_use', models.CharField(choices=[('share', 'Share of a card'), ('whole', 'Whole card'), ('mig', 'MIG slice')], default='share', max_length=8, verbose_name='accelerator')),
                ('vendor', models.CharField(blank=True, max_length=64, verbose_name='vendor')),
                ('model', models.CharField(blank=True, max_length=200, verbose_name='card model')),
                ('resource_group', models.CharField(blank=True, max_length=64, verbose_name='resource group')),
                ('queue', models.CharField(blank=True, max_length=64, verbose_name='queue')),
                ('spec', models.CharField(blank=True, max_length=64, verbose_name='specification')),
                ('is_listed', models.BooleanField(default=False, verbose_name='listed')),
                ('is_enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('is_for_all', models.BooleanField(default=True, verbose_name='for all tenants')),
                ('min_duration_s', models.PositiveIntegerField(default=60, verbose_name='shortest duration (s)')),
                ('max_duration_s', models.PositiveIntegerField(default=2592000, verbose_name='longest duration (s)')),
                ('max_count', models.PositiveIntegerField(default=64, verbose_name='most shares')),
                ('version', models.PositiveIntegerField(default=1, verbose_name='version')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('category', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='commodities', to='catalog.category', verbose_name='category')),
            ],
            options={
                'verbose_name': 'commodity',
                'verbose_name_plural': 'commodities',
                'ordering': ['number'],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('max_duration_s__gte', models.F('min_duration_s')), ('min_duration_s__gte', 1)), name='commodity_durations'),
                    models.CheckConstraint(condition=models.Q(('max_count__gte', 1)), name='commodity_count'),
                    models.CheckConstraint(condition=models.Q(('kind__in', ['work', 'environment', 'session', 'service', 'volume', 'manual'])), name='commodity_kind'),
                    models.CheckConstraint(condition=models.Q(('card_use__in', ['share', 'whole', 'mig'])), name='commodity_card_use'),
                ],
            },
        ),
        migrations.CreateModel(
            name='Component',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_zh', models.CharField(max_length=120, verbose_name='name in Chinese')),
                ('name_en', models.CharField(max_length=120, verbose_name='name in English')),
                ('code', models.SlugField(max_length=48, unique=True, verbose_name='code')),
                ('unit', models.CharField(max_length=16, verbose_name='unit')),
                ('amount_unit', models.CharField(max_length=16, verbose_name='unit of amounts')),
                ('per_unit', models.PositiveIntegerField(default=1, verbose_name='amount units per unit')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'verbose_name': 'component',
                'verbose_name_plural': 'components',
                'ordering': ['pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('per_unit__gte', 1)), name='component_per_unit')],
            },
        ),
        migrations.CreateModel(
            name='CouponActivity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_zh', models.CharField(max_length=120, verbose_name='name in Chinese')),
                ('name_en', models.CharField(max_length=120, verbose_name='name in English')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('issued', 'Issued'), ('ended', 'Ended')], default='draft', max_length=16, verbose_name='state')),
                ('face_value', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='face value')),
                ('quantity', models.PositiveIntegerField(verbose_name='quantity')),
                ('claimed_count', models.PositiveIntegerField(default=0, verbose_name='claimed')),
                ('per_tenant_limit', models.PositiveIntegerField(default=1, verbose_name='most per tenant')),
                ('minimum_spend', apps.kernel.money.MoneyField(decimal_places=10, default=Decimal('0'), max_digits=28, verbose_name='minimum spend')),
                ('ratio_percent', models.PositiveSmallIntegerField(default=100, verbose_name='most of a bill (%)')),
                ('valid_from', models.DateTimeField(verbose_name='valid from')),
                ('valid_until', models.DateTimeField(verbose_name='valid until')),
                ('issued_at', models.DateTimeField(blank=True, null=True, verbose_name='issued at')),
                ('budget_year', models.PositiveIntegerField(blank=True, null=True, verbose_name='budget of the year')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name': 'coupon activity',
                'verbose_name_plural': 'coupon activities',
                'ordering': ['-created_at', '-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'issued', 'ended'])), name='coupon_activity_state'), models.CheckConstraint(condition=models.Q(('claimed_count__lte', models.F('quantity'))), name='coupon_activity_claims'), models.CheckConstraint(condition=models.Q(('face_value__gt', 0), ('minimum_spend__gte', 0), ('per_tenant_limit__gte', 1), ('quantity__gte', 1), ('ratio_percent__gte', 1), ('ratio_percent__lte', 100), ('valid_until__gt', models.F('valid_from'))), name='coupon_activity_rules')],
            },
        ),
        migrations.CreateModel(
            name='Coupon',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('code', models.CharField(max_length=32, unique=True, verbose_name='code')),
                ('face_value', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='face value')),
                ('remaining', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='remaining')),
                ('state', models.CharField(choices=[('claimed', 'Claimed'), ('used', 'Used'), ('expired', 'Expired'), ('recalled', 'Recalled')], default='claimed', max_length=16, verbose_name='state')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='claimed at')),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('claimed_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='claimed by')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
                ('activity', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='coupons', to='catalog.couponactivity')),
            ],
            options={
                'verbose_name': 'coupon',
                'verbose_name_plural': 'coupons',
                'ordering': ['-created_at', '-pk'],
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('state__in', ['claimed', 'used', 'expired', 'recalled'])), name='coupon_state'),
                    models.CheckConstraint(condition=models.Q(('remaining__gte', 0), ('remaining__lte', models.F('face_value'))), name='coupon_remaining'),
                ],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='CouponBudget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('year', models.PositiveIntegerField(unique=True, verbose_name='year')),
                ('amount', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='amount')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name': 'coupon budget',
                'verbose_name_plural': 'coupon budgets',
                'ordering': ['-year'],
                'constraints': [models.CheckConstraint(condition=models.Q(('amount__gte', 0)), name='coupon_budget_amount')],
            },
        ),
        migrations.CreateModel(
            name='CouponRedemption',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('reference', models.CharField(max_length=64, verbose_name='reference')),
                ('amount', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='amount')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='time')),
                ('coupon', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='redemptions', to='catalog.coupon')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'coupon redemption',
                'verbose_name_plural': 'coupon redemptions',
                'ordering': ['-created_at', '-pk'],
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                "constraints": [
                    models.UniqueConstraint(fields=('coupon', 'reference'), name='coupon_redemption_once'),
                    models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='coupon_redemption_amount'),
                ],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='PriceVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('effective_from', models.DateTimeField(verbose_name='effective from')),
                ('published_at', models.DateTimeField(verbose_name='published at')),
                ('commodity', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='price_versions', to='catalog.commodity')),
            ],
            options={
                'verbose_name': 'price version',
                'verbose_name_plural': 'price versions',
                'ordering': ['commodity', '-number'],
                "constraints": [
                    models.UniqueConstraint(fields=('commodity', 'number'), name='price_version_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='PriceLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('on_demand', 'On demand'), ('subscription', 'Subscription'), ('per_use', 'Per use')], max_length=16, verbose_name='mode')),
                ('unit', models.CharField(choices=[('hour', 'Hour'), ('use', 'Use'), ('day', 'Day'), ('month', 'Month'), ('year', 'Year')], max_length=8, verbose_name='unit')),
                ('tier_method', models.CharField(choices=[('flat', 'One price'), ('progressive', 'Progressive'), ('whole_amount', 'Whole amount')], max_length=16, verbose_name='tier method')),
                ('tiers', models.JSONField(verbose_name='tiers')),
                ('component', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.component')),
                ('price_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='catalog.priceversion')),
            ],
            options={
                'verbose_name': 'price',
                'verbose_name_plural': 'prices',
                'ordering': ['component'],
                "constraints": [
                    models.UniqueConstraint(fields=('price_version', 'component'), name='price_line_once'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ProcessApp',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_zh', models.CharField(max_length=120, verbose_name='name in Chinese')),
                ('name_en', models.CharField(max_length=120, verbose_name='name in English')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('code', models.SlugField(max_length=48, unique=True, verbose_name='code')),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('published', 'Published'), ('unpublished', 'Unpublished')], default='draft', max_length=16, verbose_name='state')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('category', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.category', verbose_name='category')),
                ('form_template', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.formtemplate', verbose_name='form template')),
            ],
            options={
                'verbose_name': 'process application',
                'verbose_name_plural': 'process applications',
                'ordering': ['code'],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'published', 'unpublished'])), name='process_app_state'),
                ],
            },
        ),
        migrations.AddField(
            model_name='commodity',
            name='process_app',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.processapp', verbose_name='application for new'),
        ),
        migrations.AddField(
            model_name='commodity',
            name='termination_app',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.processapp', verbose_name='application for termination'),
        ),
        migrations.CreateModel(
            name='ProcessTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name_zh', models.CharField(max_length=120, verbose_name='name in Chinese')),
                ('name_en', models.CharField(max_length=120, verbose_name='name in English')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('key', models.SlugField(max_length=80, verbose_name='key')),
                ('version', models.CharField(max_length=64, verbose_name='version')),
                ('xml', models.TextField(verbose_name='BPMN')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created at')),
            ],
            options={
                'verbose_name': 'process template',
                'verbose_name_plural': 'process templates',
                'ordering': ['-created_at', '-pk'],
                'constraints': [models.UniqueConstraint(fields=('key', 'version'), name='process_template_once')],
            },
        ),
        migrations.AddField(
            model_name='processapp',
            name='process_template',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.processtemplate', verbose_name='process template'),
        ),
        migrations.CreateModel(
            name='CommodityTenant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('commodity', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='catalog.commodity')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'tenant of a commodity',
                'verbose_name_plural': 'tenants of a commodity',
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                'constraints': [models.UniqueConstraint(fields=('commodity', 'tenant'), name='commodity_tenant_once')],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='CommodityComponent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('minimum', models.PositiveIntegerField(verbose_name='least')),
                ('maximum', models.PositiveIntegerField(verbose_name='most')),
                ('step', models.PositiveIntegerField(default=1, verbose_name='step')),
                ('default', models.PositiveIntegerField(verbose_name='default')),
                ('commodity', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='components', to='catalog.commodity')),
                ('component', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.component')),
            ],
            options={
                'verbose_name': 'component of a commodity',
                'verbose_name_plural': 'components of a commodity',
                'ordering': ['component'],
                'constraints': [models.UniqueConstraint(fields=('commodity', 'component'), name='commodity_component_once'), models.CheckConstraint(condition=models.Q(('default__gte', models.F('minimum')), ('default__lte', models.F('maximum')), ('maximum__gte', models.F('minimum')), ('minimum__gte', 1), ('step__gte', 1)), name='commodity_component_range')],
            },
        ),
    ]
