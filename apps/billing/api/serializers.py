"""Money as the API shows it: amounts as text, bills down to the usage records they came from."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.billing.bill_document import buyer_of, seller_of
from apps.billing.models import Bill, BillLine, BillPayment, LedgerTransaction, RatedItem
from apps.billing.selectors.bills import bill_lines
from apps.billing.states import FundsLevel
from apps.catalog.api.serializers import Money, PriceStepOut, PriceVersionOut
from apps.catalog.pricing.tiers import steps
from apps.catalog.selectors.prices import pricing_line
from apps.catalog.types import steps_json
from apps.identity.api.sound import MomentField, SoundSerializer
from apps.tenancy.models import Tenant


class PaymentOut(serializers.ModelSerializer):
    coupon_amount = Money()
    balance_amount = Money()

    class Meta:
        model = BillPayment
        fields = ["uid", "coupon_uid", "coupon_code", "coupon_amount", "balance_amount", "created_at"]


class BillOut(serializers.ModelSerializer):
    """`total` is of what the reader reaches: of all of it where `is_whole`."""

    tenant = serializers.CharField(source="tenant.schema_name")
    total = Money(source="shown_total")
    is_whole = serializers.BooleanField()

    class Meta:
        model = Bill
        fields = [
            "uid",
            "no",
            "tenant",
            "state",
            "period_from",
            "period_until",
            "total",
            "made_at",
            "confirmed_at",
            "paid_at",
            "written_off_at",
            "created_at",
            "is_whole",
        ]


class BillLineOut(serializers.ModelSerializer):
    """`unit_amount` × `share_seconds` ÷ the seconds of `price_unit` = `exact`, rounded half up to `amount`."""

    order_no = serializers.CharField(source="charge.order_no")
    order_uid = serializers.UUIDField(source="charge.order_uid", allow_null=True)
    workload_uid = serializers.UUIDField(source="charge.workload_uid")
    job_id = serializers.CharField(source="charge.job_id", help_text="Of a job over centres; else empty.")
    commodity_zh = serializers.CharField(source="charge.commodity_name_zh")
    commodity_en = serializers.CharField(source="charge.commodity_name_en")
    business_system = serializers.CharField(source="charge.business_system")
    organization = serializers.CharField(source="charge.organization")
    person = serializers.CharField(source="charge.person")
    name_zh = serializers.CharField(source="price_line.component.name_zh")
    name_en = serializers.CharField(source="price_line.component.name_en")
    work_name = serializers.CharField(source="charge.work_name")
    unit = serializers.CharField(source="price_line.component.unit")
    price_unit = serializers.CharField(source="price_line.unit")
    mode = serializers.CharField(source="price_line.mode")
    tier_method = serializers.CharField(source="price_line.tier_method")
    price_number = serializers.IntegerField(source="price_line.price_version.number")
    quantity = Money()
    unit_amount = Money()
    exact = Money()
    accrued = Money()
    amount = Money()
    steps = serializers.SerializerMethodField()

    class Meta:
        model = BillLine
        fields = [
            "uid",
            "order_no",
            "order_uid",
            "workload_uid",
            "job_id",
            "commodity_zh",
            "commodity_en",
            "business_system",
            "organization",
            "person",
            "work_name",
            "component",
            "name_zh",
            "name_en",
            "quantity",
            "unit",
            "mode",
            "price_unit",
            "tier_method",
            "price_number",
            "steps",
            "unit_amount",
            "share_seconds",
            "exact",
            "accrued",
            "amount",
        ]

    @extend_schema_field(PriceStepOut(many=True))
    def get_steps(self, line: BillLine) -> list[dict[str, Any]]:
        priced = pricing_line(line.price_line)
        return steps_json(steps(priced.method, priced.tiers, line.quantity))


class BuyerIn(SoundSerializer):
    """What bills say of their buyer. What is not named stays as it is."""

    legal_name = serializers.CharField(
        max_length=160, required=False, allow_blank=True, help_text="Empty: what the tenant is called."
    )
    address = serializers.CharField(max_length=300, required=False, allow_blank=True)
    tax_number = serializers.CharField(max_length=40, required=False, allow_blank=True)


class BuyerOut(serializers.ModelSerializer[Tenant]):
    class Meta:
        model = Tenant
        fields = ["legal_name", "address", "tax_number"]


class PartyOut(serializers.Serializer[Any]):
    """Seller or buyer, as they were when the bill was made."""

    name = serializers.CharField()
    address = serializers.CharField()
    tax_number = serializers.CharField()
    bank = serializers.CharField()


class BillWholeOut(BillOut):
    seller = serializers.SerializerMethodField()
    buyer = serializers.SerializerMethodField()
    lines = serializers.SerializerMethodField()
    payment = serializers.SerializerMethodField()

    class Meta(BillOut.Meta):
        fields = [*BillOut.Meta.fields, "seller", "buyer", "lines", "payment"]

    @extend_schema_field(PartyOut)
    def get_seller(self, bill: Bill) -> dict[str, str]:
        return seller_of(bill).as_json()

    @extend_schema_field(PartyOut)
    def get_buyer(self, bill: Bill) -> dict[str, str]:
        return buyer_of(bill).as_json()

    @extend_schema_field(BillLineOut(many=True))
    def get_lines(self, bill: Bill) -> list[dict[str, Any]]:
        return BillLineOut(bill_lines(bill, self.context["actor"]), many=True).data

    @extend_schema_field(PaymentOut(allow_null=True))
    def get_payment(self, bill: Bill) -> dict[str, Any] | None:
        if not bill.is_whole:
            return None
        payment = BillPayment.objects.of(bill.tenant).filter(bill=bill).first()
        return PaymentOut(payment).data if payment else None


class BillItemOut(serializers.ModelSerializer):
    """One usage record's part of a bill line, with what vouches for it."""

    usage = serializers.UUIDField(source="usage.uid")
    slice_uid = serializers.CharField(source="usage.slice_uid")
    seq = serializers.IntegerField(source="usage.seq")
    start_at = serializers.DateTimeField(source="usage.start_at")
    end_at = serializers.DateTimeField(source="usage.end_at")
    compute_percent = serializers.IntegerField(source="usage.compute_percent")
    memory_mib = serializers.IntegerField(source="usage.memory_mib")
    cpu_seconds = serializers.CharField(source="usage.cpu_seconds")
    memory_peak_mib = serializers.IntegerField(source="usage.memory_peak_mib")
    node_uid = serializers.CharField(source="usage.node_uid")
    device_uid = serializers.CharField(source="usage.device_uid")
    report_id = serializers.CharField(source="usage.report_id")
    received_at = serializers.DateTimeField(source="usage.received_at")
    rated_at = serializers.DateTimeField(source="created_at")
    ledger_transaction = serializers.UUIDField(source="transaction.uid", default=None)
    unit_amount = Money()
    exact = Money()

    class Meta:
        model = RatedItem
        fields = [
            "usage",
            "slice_uid",
            "seq",
            "start_at",
            "end_at",
            "seconds",
            "compute_percent",
            "memory_mib",
            "cpu_seconds",
            "memory_peak_mib",
            "node_uid",
            "device_uid",
            "report_id",
            "received_at",
            "rated_at",
            "ledger_transaction",
            "unit_amount",
            "exact",
        ]


class BillItemsOut(serializers.Serializer):
    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = BillItemOut(many=True)


class BillLineWholeOut(BillLineOut):
    price_version = PriceVersionOut(source="price_line.price_version")
    records = serializers.SerializerMethodField(help_text="One page of its usage records, in time's order.")

    class Meta(BillLineOut.Meta):
        fields = [*BillLineOut.Meta.fields, "price_version", "records"]

    @extend_schema_field(BillItemsOut)
    def get_records(self, line: BillLine) -> dict[str, Any]:
        return self.context["records"]


class BillIn(SoundSerializer):
    until = MomentField(required=False, allow_null=True, default=None)


class PayIn(SoundSerializer):
    coupon = serializers.UUIDField(required=False, allow_null=True, default=None)


class DepositIn(SoundSerializer):
    amount = serializers.DecimalField(max_digits=18, decimal_places=2)
    reference = serializers.CharField(max_length=80)


class CreditIn(SoundSerializer):
    amount = serializers.DecimalField(max_digits=18, decimal_places=2)
    reason = serializers.CharField(max_length=200)


class RefundIn(DepositIn):
    reason = serializers.CharField(max_length=200)


class WriteOffIn(SoundSerializer):
    reason = serializers.CharField(max_length=200)


class AccountOut(serializers.Serializer):
    is_open = serializers.BooleanField()
    opened_at = serializers.DateTimeField(allow_null=True)
    balance = Money()
    credit_limit = Money(help_text="What may be owed beyond the balance.")
    reserved = Money(help_text="Set aside for work, and not used yet.")
    spendable = Money(
        help_text="Balance, credit and what coupons can pay, less what is owed and reserved: what may still start."
    )
    funds_level = serializers.ChoiceField(choices=FundsLevel.choices)
    unbilled = Money()
    unpaid = Money()
    coupon_count = serializers.IntegerField()
    coupon_remaining = Money()
    month_cost = Money()
    year_cost = Money()


class TransactionOut(serializers.ModelSerializer):
    total = Money()
    balance_change = Money()
    coupon_amount = Money()
    balance_after = Money()

    class Meta:
        model = LedgerTransaction
        fields = [
            "uid",
            "kind",
            "reference",
            "reason",
            "total",
            "balance_change",
            "coupon_amount",
            "balance_after",
            "created_at",
        ]


class CostOut(serializers.Serializer):
    key = serializers.CharField()
    label_zh = serializers.CharField()
    label_en = serializers.CharField()
    exact = Money()
    share_seconds = serializers.IntegerField()


class CostsOut(serializers.Serializer):
    dimension = serializers.CharField()
    total = Money()
    rows = CostOut(many=True)


class CostsIn(SoundSerializer):
    dimension = serializers.CharField(max_length=32, default="resource_type")
    since = MomentField(required=False, allow_null=True, default=None)
    until = MomentField(required=False, allow_null=True, default=None)
