import apps.kernel.money
import django.db.models.deletion
import django.db.models.manager
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('catalog', '0001_initial'),
        ('tenancy', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Bill',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('no', models.CharField(max_length=64, unique=True, verbose_name='number')),
                ('state', models.CharField(choices=[('made', 'Made'), ('confirmed', 'Confirmed'), ('paid', 'Paid'), ('written_off', 'Written off')], default='made', max_length=16, verbose_name='state')),
                ('period_from', models.DateTimeField(verbose_name='from')),
                ('period_until', models.DateTimeField(verbose_name='until')),
                ('total', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='total')),
                ('made_at', models.DateTimeField(verbose_name='made at')),
                ('confirmed_at', models.DateTimeField(blank=True, null=True, verbose_name='confirmed at')),
                ('paid_at', models.DateTimeField(blank=True, null=True, verbose_name='paid at')),
                ('written_off_at', models.DateTimeField(blank=True, null=True, verbose_name='written off at')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'bill',
                'verbose_name_plural': 'bills',
                'ordering': ['-created_at', '-pk'],
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('state__in', ['made', 'confirmed', 'paid', 'written_off'])), name='bill_state'),
                    models.CheckConstraint(condition=models.Q(('total__gte', 0)), name='bill_total'),
                ],
                "indexes": [
                    models.Index(fields=['tenant', '-created_at'], name='bill_of_tenant'),
                ],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='Charge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('order_uid', models.UUIDField(blank=True, db_index=True, null=True, verbose_name='order')),
                ('order_no', models.CharField(max_length=48, verbose_name='order number')),
                ('workload_uid', models.UUIDField(unique=True, verbose_name='workload')),
                ('commodity_number', models.CharField(max_length=32, verbose_name='service number')),
                ('commodity_name_zh', models.CharField(max_length=120, verbose_name='commodity in Chinese')),
                ('commodity_name_en', models.CharField(max_length=120, verbose_name='commodity in English')),
                ('supplier', models.CharField(blank=True, max_length=120, verbose_name='supplier')),
                ('amounts', models.JSONField(verbose_name='amounts')),
                ('count', models.PositiveIntegerField(verbose_name='shares')),
                ('business_system', models.CharField(blank=True, max_length=120, verbose_name='business system')),
                ('organization', models.CharField(blank=True, max_length=120, verbose_name='organization')),
                ('person', models.CharField(blank=True, max_length=120, verbose_name='person')),
                ('coupon_uid', models.UUIDField(blank=True, null=True, verbose_name='coupon')),
                ('state', models.CharField(choices=[('open', 'Open'), ('closed', 'Closed')], default='open', max_length=8, verbose_name='state')),
                ('opened_at', models.DateTimeField(verbose_name='opened at')),
                ('closed_at', models.DateTimeField(blank=True, null=True, verbose_name='closed at')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('price_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.priceversion')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'charge',
                'verbose_name_plural': 'charges',
                'ordering': ['-created_at', '-pk'],
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('state__in', ['open', 'closed'])), name='charge_state'),
                ],
                "indexes": [
                    models.Index(fields=['tenant', '-created_at'], name='charge_of_tenant'),
                ],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='BillLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('component', models.CharField(max_length=48, verbose_name='component')),
                ('quantity', models.DecimalField(decimal_places=10, max_digits=28, verbose_name='quantity per share')),
                ('unit_amount', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='price per share and unit of time')),
                ('share_seconds', models.PositiveBigIntegerField(verbose_name='share seconds')),
                ('exact', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='exact amount')),
                ('accrued', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='accrued')),
                ('amount', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='amount')),
                ('bill', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='billing.bill')),
                ('price_line', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.priceline')),
                ('charge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='billing.charge')),
            ],
            options={
                'verbose_name': 'bill line',
                'verbose_name_plural': 'bill lines',
                'ordering': ['pk'],
                "constraints": [
                    models.UniqueConstraint(fields=('bill', 'charge', 'price_line', 'quantity'), name='bill_line_once'),
                    models.CheckConstraint(condition=models.Q(('amount__gte', 0)), name='bill_line_amount'),
                ],
            },
        ),
        migrations.CreateModel(
            name='ChargeResize',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('amounts', models.JSONField(verbose_name='amounts')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('charge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='resizes', to='billing.charge')),
            ],
            options={
                'verbose_name': 'change of a charge',
                'verbose_name_plural': 'changes of charges',
                'ordering': ['charge', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='FundsHold',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('amount', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='set aside')),
                ('used', apps.kernel.money.MoneyField(decimal_places=10, default=0, max_digits=28, verbose_name='used')),
                ('billed', apps.kernel.money.MoneyField(decimal_places=10, default=0, max_digits=28, verbose_name='billed')),
                ('hourly', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='per hour')),
                ('shares', models.PositiveIntegerField(verbose_name='shares')),
                ('check_at', models.DateTimeField(blank=True, null=True, verbose_name='checked next')),
                ('short_since', models.DateTimeField(blank=True, null=True, verbose_name='short since')),
                ('ended_at', models.DateTimeField(blank=True, null=True, verbose_name='ended at')),
                ('released_at', models.DateTimeField(blank=True, null=True, verbose_name='released at')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('charge', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='funds', to='billing.charge')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'hold of funds',
                'verbose_name_plural': 'holds of funds',
                'ordering': ['-created_at', '-pk'],
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('amount__gte', 0), ('billed__gte', 0), ('hourly__gte', 0), ('used__gte', models.F('billed'))), name='funds_hold_figures'),
                ],
                "indexes": [
                    models.Index(condition=models.Q(('billed__lt', models.F('amount')), ('billed__lt', models.F('used')), _connector='OR'), fields=['tenant'], include=('amount', 'used', 'billed', 'hourly'), name='funds_hold_standing'),
                    models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['check_at'], name='funds_hold_due'),
                    models.Index(condition=models.Q(('released_at__isnull', True)), fields=['ended_at'], name='funds_hold_unsettled'),
                ],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='LedgerAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.CharField(max_length=96, unique=True, verbose_name='code')),
                ('kind', models.CharField(choices=[('cash', 'Cash'), ('balance', 'Balance'), ('accrued', 'Used, not billed'), ('receivable', 'Billed, not paid'), ('revenue', 'Revenue'), ('promotion', 'Coupons'), ('rounding', 'Rounding'), ('write_off', 'Written off')], max_length=16, verbose_name='kind')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'ledger account',
                'verbose_name_plural': 'ledger accounts',
                'ordering': ['code'],
            },
        ),
        migrations.CreateModel(
            name='LedgerTransaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('idempotency_key', models.CharField(max_length=160, unique=True)),
                ('kind', models.CharField(choices=[('deposit', 'Deposit'), ('rate', 'Use'), ('bill', 'Bill made'), ('payment', 'Bill paid'), ('refund', 'Refund'), ('correction', 'Correction'), ('write_off', 'Bill written off')], max_length=16, verbose_name='kind')),
                ('reference', models.CharField(blank=True, max_length=160, verbose_name='reference')),
                ('reason', models.CharField(blank=True, max_length=200, verbose_name='reason')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='time')),
                ('tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'transaction',
                'verbose_name_plural': 'transactions',
                'ordering': ['-created_at', '-pk'],
                "indexes": [
                    models.Index(fields=['tenant', 'kind', '-created_at'], name='ledger_tx_of_tenant'),
                ],
            },
        ),
        migrations.CreateModel(
            name='LedgerLeg',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('amount', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='amount')),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='legs', to='billing.ledgeraccount')),
                ('transaction', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='legs', to='billing.ledgertransaction')),
            ],
            options={
                'verbose_name': 'leg',
                'verbose_name_plural': 'legs',
                'ordering': ['pk'],
                "constraints": [
                    models.UniqueConstraint(fields=('transaction', 'account'), name='ledger_leg_once'),
                    models.CheckConstraint(condition=models.Q(('amount', 0), _negated=True), name='ledger_leg_amount'),
                ],
                "indexes": [
                    models.Index(fields=['account', 'id'], include=('amount',), name='ledger_leg_of_account'),
                ],
            },
        ),
        migrations.CreateModel(
            name='BillPayment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('coupon_uid', models.UUIDField(blank=True, null=True, verbose_name='coupon')),
                ('coupon_code', models.CharField(blank=True, max_length=32, verbose_name='coupon')),
                ('coupon_amount', apps.kernel.money.MoneyField(decimal_places=10, default=0, max_digits=28, verbose_name='from the coupon')),
                ('balance_amount', apps.kernel.money.MoneyField(decimal_places=10, default=0, max_digits=28, verbose_name='from the balance')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='time')),
                ('bill', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='payment', to='billing.bill')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
                ('transaction', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='billing.ledgertransaction')),
            ],
            options={
                'verbose_name': 'payment',
                'verbose_name_plural': 'payments',
                'ordering': ['-created_at', '-pk'],
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                "constraints": [
                    models.CheckConstraint(condition=models.Q(('balance_amount__gte', 0), ('coupon_amount__gte', 0)), name='bill_payment_amounts'),
                ],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='UsageRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('workload_uid', models.UUIDField(verbose_name='workload')),
                ('slice_uid', models.CharField(max_length=64, verbose_name='slice')),
                ('seq', models.PositiveBigIntegerField(verbose_name='number')),
                ('start_at', models.DateTimeField(verbose_name='from')),
                ('end_at', models.DateTimeField(verbose_name='until')),
                ('seconds', models.PositiveIntegerField(verbose_name='seconds')),
                ('compute_percent', models.PositiveSmallIntegerField(verbose_name='compute share (%)')),
                ('memory_mib', models.PositiveBigIntegerField(verbose_name='accelerator memory (MiB)')),
                ('storage_gib', models.PositiveBigIntegerField(default=0, verbose_name='storage (GiB)')),
                ('cpu_seconds', models.DecimalField(decimal_places=3, default=0, max_digits=18, verbose_name='CPU seconds')),
                ('memory_peak_mib', models.PositiveBigIntegerField(default=0, verbose_name='peak memory (MiB)')),
                ('node_uid', models.CharField(max_length=64, verbose_name='node')),
                ('device_uid', models.CharField(max_length=128, verbose_name='device')),
                ('report_id', models.CharField(max_length=80, verbose_name='report')),
                ('received_at', models.DateTimeField(auto_now_add=True, verbose_name='received at')),
                ('rated_at', models.DateTimeField(blank=True, null=True, verbose_name='rated at')),
                ('charge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='usage', to='billing.charge')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'usage record',
                'verbose_name_plural': 'usage records',
                'ordering': ['start_at', 'pk'],
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                "constraints": [
                    models.UniqueConstraint(fields=('slice_uid', 'seq'), name='usage_once'),
                    models.CheckConstraint(condition=models.Q(('end_at__gt', models.F('start_at'))), name='usage_interval'),
                ],
                "indexes": [
                    models.Index(fields=['slice_uid', 'end_at'], name='usage_of_slice'),
                    models.Index(fields=['charge', 'start_at'], name='usage_of_charge'),
                    models.Index(condition=models.Q(('rated_at__isnull', True)), fields=['id'], name='usage_unrated'),
                ],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='RatedItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('component', models.CharField(max_length=48, verbose_name='component')),
                ('quantity', models.DecimalField(decimal_places=10, max_digits=28, verbose_name='quantity per share')),
                ('unit_amount', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='price per share and unit of time')),
                ('seconds', models.PositiveIntegerField(verbose_name='seconds')),
                ('exact', apps.kernel.money.MoneyField(decimal_places=10, max_digits=28, verbose_name='exact amount')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='rated at')),
                ('bill', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='billing.bill')),
                ('charge', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='billing.charge')),
                ('price_line', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalog.priceline')),
                ('transaction', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='billing.ledgertransaction')),
                ('usage', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='items', to='billing.usagerecord')),
            ],
            options={
                'verbose_name': 'rated item',
                'verbose_name_plural': 'rated items',
                'ordering': ['pk'],
                "constraints": [
                    models.UniqueConstraint(fields=('usage', 'component'), name='rated_item_once'),
                    models.CheckConstraint(condition=models.Q(('exact__gte', 0)), name='rated_item_exact'),
                ],
                "indexes": [
                    models.Index(condition=models.Q(('bill__isnull', True)), fields=['charge'], name='rated_item_unbilled'),
                    models.Index(fields=['bill', 'charge', 'component'], name='rated_item_of_bill'),
                ],
            },
        ),
        migrations.CreateModel(
            name='UsageRefusal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('workload_uid', models.CharField(max_length=64, verbose_name='workload')),
                ('slice_uid', models.CharField(max_length=64, verbose_name='slice')),
                ('seq', models.CharField(max_length=24, verbose_name='number')),
                ('code', models.CharField(choices=[('no_charge', 'No charge is open for the workload'), ('foreign_node', 'The report speaks for another node'), ('backwards', 'The interval ends before it begins'), ('not_whole', 'The interval is no whole number of seconds'), ('too_long', 'The interval is longer than a day'), ('future', 'The interval lies in the future'), ('before_open', 'The interval lies before the charge was opened'), ('after_close', 'The interval lies after the charge was closed'), ('absurd', 'The measured figures are impossible'), ('overlap', 'The interval overlaps one that is recorded'), ('rewritten', 'Another interval is recorded under this number')], max_length=32, verbose_name='reason')),
                ('report', models.JSONField(verbose_name='report')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='time')),
            ],
            options={
                'verbose_name': 'refused usage report',
                'verbose_name_plural': 'refused usage reports',
                'ordering': ['-created_at', '-pk'],
                'constraints': [models.UniqueConstraint(fields=('slice_uid', 'seq', 'code'), name='usage_refusal_once')],
            },
        ),
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('bill_count', models.PositiveIntegerField(default=0)),
                ('credit_limit', apps.kernel.money.MoneyField(decimal_places=10, default=0, max_digits=28, verbose_name='credit limit')),
                ('funds_level', models.CharField(choices=[('enough', 'Enough'), ('low', 'Low'), ('empty', 'Used up')], default='enough', editable=False, max_length=8, verbose_name='funds')),
                ('opened_at', models.DateTimeField(verbose_name='opened at')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenancy.tenant')),
            ],
            options={
                'verbose_name': 'account',
                'verbose_name_plural': 'accounts',
                'abstract': False,
                'base_manager_name': 'plain',
                'default_manager_name': 'plain',
                'constraints': [models.UniqueConstraint(fields=('tenant',), name='account_once'), models.CheckConstraint(condition=models.Q(('credit_limit__gte', 0)), name='account_credit'), models.CheckConstraint(condition=models.Q(('funds_level__in', ['enough', 'low', 'empty'])), name='account_funds')],
            },
            managers=[
                ('plain', django.db.models.manager.Manager()),
            ],
        ),
    ]
