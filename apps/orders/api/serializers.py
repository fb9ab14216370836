from typing import Any

from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.approvals.api.serializers import ProcessOut
from apps.catalog.api.serializers import Money, PriceStepOut
from apps.identity.api.sound import ProgramField, SoundSerializer, TextField
from apps.orders.models import ApplicationForm, Attachment, CartLine, FormLine, Order, OrderRemark
from apps.orders.selectors import order_end_reason
from apps.orders.services.delivered_work import SCRIPT_MOST
from apps.orders.services.remarks import TEXT_MOST
from apps.orders.states import OrderState
from apps.tickets.api.serializers import TicketOut


class AmountField(serializers.IntegerField):
    """What one share holds of a component; the catalogue knows the range."""

    def __init__(self) -> None:
        super().__init__(min_value=0, max_value=2**31 - 1)


class LineIn(SoundSerializer):
    commodity = serializers.UUIDField()
    amounts = serializers.DictField(child=AmountField())
    count = serializers.IntegerField(min_value=1, max_value=10000, default=1)


class ProgramIn(SoundSerializer):
    """The buyer's own program, of a commodity that runs that: a command or a script for `sh`, with its variables, in an
    image that he may run, with assets mounted read-only and secrets by their names."""

    argv = serializers.ListField(
        child=ProgramField(max_length=32_768, trim_whitespace=False), max_length=256, default=list
    )
    script = ProgramField(max_length=SCRIPT_MOST, allow_blank=True, trim_whitespace=False, default="")
    env = serializers.DictField(
        child=ProgramField(max_length=32_768, allow_blank=True, trim_whitespace=False), default=dict
    )
    image = serializers.CharField(max_length=100, allow_blank=True, default="")
    assets = serializers.ListField(
        child=serializers.CharField(max_length=400), max_length=16, default=list, help_text="NAME:VERSION."
    )
    secrets = serializers.ListField(
        child=serializers.CharField(max_length=128),
        max_length=64,
        default=list,
        help_text="Names of secrets: each is a variable of the program, and nobody who decides sees its value.",
    )


class FormLineIn(LineIn):
    program = ProgramIn(required=False, allow_null=True, default=None)


class QuoteIn(LineIn):
    duration_s = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        allow_null=True,
        help_text="In seconds. Null: without an end, of what is sold so.",
    )
    coupon = serializers.UUIDField(required=False, allow_null=True, default=None)


class QuoteLineOut(serializers.Serializer[Any]):
    """What one component costs: `unit_amount` for an hour of it all, `exact` for the whole duration, in CNY."""

    component = serializers.CharField()
    name_zh = serializers.CharField()
    name_en = serializers.CharField()
    amount = serializers.IntegerField()
    amount_unit = serializers.CharField()
    quantity = serializers.CharField()
    unit = serializers.CharField()
    mode = serializers.CharField()
    price_unit = serializers.CharField()
    tier_method = serializers.CharField()
    steps = PriceStepOut(many=True)
    unit_amount = serializers.CharField()
    exact = serializers.CharField()


class QuoteCouponOut(serializers.Serializer[Any]):
    """What a coupon takes off a quote."""

    uid = serializers.UUIDField()
    name_zh = serializers.CharField()
    name_en = serializers.CharField()
    amount = serializers.CharField()


class QuoteOut(serializers.Serializer[Any]):
    """The price of amounts and a duration at one price version: `per_hour` exact, `total` an estimate for all of it,
    `payable` what is left of that beside the coupon, in `currency`."""

    commodity = serializers.UUIDField()
    commodity_number = serializers.CharField()
    commodity_name_zh = serializers.CharField()
    commodity_name_en = serializers.CharField()
    commodity_version = serializers.IntegerField()
    supplier = serializers.CharField()
    price_version = serializers.UUIDField()
    price_number = serializers.IntegerField()
    amounts = serializers.DictField(child=AmountField())
    count = serializers.IntegerField()
    duration_s = serializers.IntegerField(
        allow_null=True, help_text="Null: without an end; the total is for 30 days."
    )
    lines = QuoteLineOut(many=True)
    per_hour = serializers.CharField()
    total = serializers.CharField()
    coupon = QuoteCouponOut(allow_null=True)
    payable = serializers.CharField()
    currency = serializers.CharField()
    at = serializers.DateTimeField()


class QuoteStartOut(serializers.Serializer[Any]):
    """When what is quoted would start if it were submitted now; null: nobody can say."""

    start_at = serializers.DateTimeField(allow_null=True)
    basis = serializers.CharField()
    sentence = serializers.CharField()


class QuoteAndStartOut(QuoteOut):
    """What an application would cost and when its work would start; null for what runs nothing in the pool."""

    expected_start = QuoteStartOut(allow_null=True)


@extend_schema_field(QuoteOut)
class QuoteField(serializers.ReadOnlyField):
    """A quote as it was kept when it was made."""


class CartIn(SoundSerializer):
    commodity = serializers.UUIDField()
    amounts = serializers.DictField(child=AmountField(), required=False, default=dict)
    count = serializers.IntegerField(min_value=1, max_value=10000, default=1)


class CartOut(serializers.ModelSerializer):
    commodity = serializers.UUIDField(source="commodity.uid")
    commodity_name = serializers.CharField(source="commodity.name")

    class Meta:
        model = CartLine
        fields = ["uid", "commodity", "commodity_name", "amounts", "count", "created_at"]


class FormIn(SoundSerializer):
    lines = FormLineIn(many=True, allow_empty=False)
    duration_s = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        allow_null=True,
        help_text="In seconds. Null: without an end, of what is sold so.",
    )
    business_system = serializers.UUIDField(required=False, allow_null=True, default=None)
    remark = TextField(max_length=1000, required=False, allow_blank=True, default="")
    data = serializers.DictField(required=False, default=dict)
    coupon = serializers.UUIDField(required=False, allow_null=True, default=None)
    volumes = serializers.ListField(
        child=serializers.CharField(max_length=300),
        required=False,
        default=list,
        max_length=16,
        help_text="Mounted where what is ordered runs: NAME, NAME:/path, NAME:ro or NAME:/path:ro; a uid is a name.",
    )
    cart = serializers.ListField(child=serializers.UUIDField(), required=False, default=list, max_length=50)


class FormLineOut(serializers.ModelSerializer):
    commodity = serializers.UUIDField(source="commodity.uid")
    commodity_name = serializers.CharField(source="commodity.name")
    program = serializers.DictField(help_text="The buyer's own; empty where the centre's runs.")
    quote = QuoteField(default=None)

    class Meta:
        model = FormLine
        fields = ["uid", "commodity", "commodity_name", "amounts", "count", "program", "quote"]


class AttachmentOut(serializers.ModelSerializer):
    class Meta:
        model = Attachment
        fields = ["uid", "name", "size", "content_type", "sha256", "created_at"]


class OrderRowOut(serializers.ModelSerializer):
    form = serializers.UUIDField(source="form.uid")
    form_no = serializers.CharField(source="form.no")
    commodity_name = serializers.CharField()
    business_system = serializers.CharField(source="business_system_name")
    workload = serializers.UUIDField(source="workload_uid", allow_null=True)
    volume = serializers.UUIDField(source="volume_uid", allow_null=True)
    ticket = serializers.UUIDField(source="ticket_uid", allow_null=True)

    class Meta:
        model = Order
        fields = [
            "uid", "no", "form", "form_no", "state", "commodity_name", "supplier", "applicant_name",
            "organization_name", "business_system", "duration_s", "workload", "volume", "ticket", "note", "started_at",
            "ended_at", "end_reason_code", "end_reason", "created_at", "updated_at",
        ]  # fmt: skip

    def to_representation(self, row: Order) -> dict[str, Any]:
        return super().to_representation(row) | {"end_reason": order_end_reason(row)}


class FormRowOut(serializers.ModelSerializer):
    business_system = serializers.CharField(source="business_system_name")
    business_system_number = serializers.CharField(source="business_system.number", default="")
    target_order = serializers.UUIDField(source="target_order.uid", default=None)
    total = Money()

    class Meta:
        model = ApplicationForm
        fields = [
            "uid", "no", "kind", "state", "applicant_name", "organization_name", "business_system",
            "business_system_number", "target_order", "duration_s", "remark", "total", "note", "submitted_at",
            "created_at", "updated_at",
        ]  # fmt: skip

    def to_representation(self, row: ApplicationForm) -> dict[str, Any]:
        note = gettext(row.note) if row.note else ""
        return super().to_representation(row) | {"note": note}


class FormOrderOut(serializers.Serializer[Any]):
    """An order that was made of a form."""

    uid = serializers.UUIDField()
    no = serializers.CharField()
    state = serializers.ChoiceField(OrderState.choices)
    workload = serializers.UUIDField(source="workload_uid", allow_null=True)
    volume = serializers.UUIDField(source="volume_uid", allow_null=True)


class FormOut(FormRowOut):
    """A form with its parts: lines, attachments, orders and the time line of its approval."""

    lines = FormLineOut(many=True)
    attachments = AttachmentOut(many=True)
    orders = FormOrderOut(many=True)
    processes = serializers.SerializerMethodField()
    is_withdrawable = serializers.SerializerMethodField()

    class Meta(FormRowOut.Meta):
        fields = [
            *FormRowOut.Meta.fields,
            "data",
            "volumes",
            "coupon_uid",
            "lines",
            "attachments",
            "orders",
            "processes",
            "is_withdrawable",
        ]

    @extend_schema_field(ProcessOut(many=True))
    def get_processes(self, form: ApplicationForm) -> list[dict[str, Any]]:
        return ProcessOut(self.context["processes"], many=True).data

    def get_is_withdrawable(self, form: ApplicationForm) -> bool:
        return self.context["is_withdrawable"]


class FormAgainOut(serializers.Serializer[Any]):
    """A draft made of a former form, and what of it is not as it was, in sentences."""

    form = FormOut()
    changed = serializers.ListField(child=serializers.CharField())


class OrderOut(OrderRowOut):
    """An order with its quote, tickets and the time line of its approvals."""

    quote = QuoteField()
    tickets = serializers.SerializerMethodField()
    processes = serializers.SerializerMethodField()

    class Meta(OrderRowOut.Meta):
        fields = [*OrderRowOut.Meta.fields, "quote", "tickets", "processes"]

    @extend_schema_field(TicketOut(many=True))
    def get_tickets(self, order: Order) -> list[dict[str, Any]]:
        return TicketOut(self.context["tickets"], many=True).data

    @extend_schema_field(ProcessOut(many=True))
    def get_processes(self, order: Order) -> list[dict[str, Any]]:
        return ProcessOut(self.context["processes"], many=True).data


class ChangeIn(SoundSerializer):
    amounts = serializers.DictField(
        child=AmountField(),
        required=False,
        default=dict,
        help_text="By component, of each share: compute_share in %, gpu_memory in MiB. What is not named stays.",
    )
    duration_s = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        allow_null=True,
        default=None,
        help_text="For how long it is to run in all, in seconds: longer than now. Without it its end stays.",
    )
    reason = serializers.CharField(max_length=1000)


class TerminateIn(SoundSerializer):
    reason = serializers.CharField(max_length=1000)


class TicketExecuteIn(SoundSerializer):
    text = TextField(max_length=2000, required=False, allow_blank=True, default="")


class AttachmentIn(SoundSerializer):
    file = serializers.FileField(allow_empty_file=True, max_length=255)


class OrderRemarkIn(SoundSerializer):
    text = TextField(max_length=TEXT_MOST)


class OrderRemarkOut(serializers.ModelSerializer[OrderRemark]):
    class Meta:
        model = OrderRemark
        fields = ["uid", "author_name", "by_operator", "text", "created_at"]
