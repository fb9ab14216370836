from typing import Any

from django.utils.translation import gettext
from rest_framework import serializers

from apps.approvals.api.serializers import ProcessOut
from apps.catalog.api.serializers import Money
from apps.orders.models import ApplicationForm, Attachment, CartLine, FormLine, Order
from apps.orders.selectors import order_end_reason
from apps.tickets.api.serializers import TicketOut


class AmountField(serializers.IntegerField):
    """What one share holds of a component; the catalogue knows the range."""

    def __init__(self) -> None:
        super().__init__(min_value=0, max_value=2**31 - 1)


class LineIn(serializers.Serializer):
    commodity = serializers.UUIDField()
    amounts = serializers.DictField(child=AmountField())
    count = serializers.IntegerField(min_value=1, max_value=10000, default=1)


class QuoteIn(LineIn):
    duration_s = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    coupon = serializers.UUIDField(required=False, allow_null=True, default=None)


class CartIn(serializers.Serializer):
    commodity = serializers.UUIDField()
    amounts = serializers.DictField(child=AmountField(), required=False, default=dict)
    count = serializers.IntegerField(min_value=1, max_value=10000, default=1)


class CartOut(serializers.ModelSerializer):
    commodity = serializers.UUIDField(source="commodity.uid")
    commodity_name = serializers.CharField(source="commodity.name")

    class Meta:
        model = CartLine
        fields = ["uid", "commodity", "commodity_name", "amounts", "count", "created_at"]


class FormIn(serializers.Serializer):
    lines = LineIn(many=True, allow_empty=False)
    duration_s = serializers.IntegerField(min_value=1, max_value=2**31 - 1)
    business_system = serializers.UUIDField(required=False, allow_null=True, default=None)
    remark = serializers.CharField(max_length=1000, required=False, allow_blank=True, default="")
    data = serializers.DictField(required=False, default=dict)
    coupon = serializers.UUIDField(required=False, allow_null=True, default=None)
    cart = serializers.ListField(child=serializers.UUIDField(), required=False, default=list, max_length=50)


class FormLineOut(serializers.ModelSerializer):
    commodity = serializers.UUIDField(source="commodity.uid")
    commodity_name = serializers.CharField(source="commodity.name")

    class Meta:
        model = FormLine
        fields = ["uid", "commodity", "commodity_name", "amounts", "count", "quote"]


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
    ticket = serializers.UUIDField(source="ticket_uid", allow_null=True)

    class Meta:
        model = Order
        fields = [
            "uid", "no", "form", "form_no", "state", "commodity_name", "supplier", "applicant_name",
            "organization_name", "business_system", "duration_s", "workload", "ticket", "note", "started_at",
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


class FormOut(FormRowOut):
    """A form with its parts: lines, attachments, orders and the time line of its approval."""

    lines = FormLineOut(many=True)
    attachments = AttachmentOut(many=True)
    orders = serializers.SerializerMethodField()
    processes = serializers.SerializerMethodField()
    is_withdrawable = serializers.SerializerMethodField()

    class Meta(FormRowOut.Meta):
        fields = [
            *FormRowOut.Meta.fields,
            "data",
            "coupon_uid",
            "lines",
            "attachments",
            "orders",
            "processes",
            "is_withdrawable",
        ]

    def get_orders(self, form: ApplicationForm) -> list[dict[str, Any]]:
        return [
            {
                "uid": str(one.uid),
                "no": one.no,
                "state": one.state,
                "workload": one.workload_uid and str(one.workload_uid),
            }
            for one in form.orders.all()
        ]

    def get_processes(self, form: ApplicationForm) -> list[dict[str, Any]]:
        return ProcessOut(self.context["processes"], many=True).data

    def get_is_withdrawable(self, form: ApplicationForm) -> bool:
        return self.context["is_withdrawable"]


class OrderOut(OrderRowOut):
    """An order with its quote, tickets and the time line of its approvals."""

    tickets = serializers.SerializerMethodField()
    processes = serializers.SerializerMethodField()

    class Meta(OrderRowOut.Meta):
        fields = [*OrderRowOut.Meta.fields, "quote", "tickets", "processes"]

    def get_tickets(self, order: Order) -> list[dict[str, Any]]:
        return TicketOut(self.context["tickets"], many=True).data

    def get_processes(self, order: Order) -> list[dict[str, Any]]:
        return ProcessOut(self.context["processes"], many=True).data


class TerminateIn(serializers.Serializer):
    reason = serializers.CharField(max_length=1000)


class TicketExecuteIn(serializers.Serializer):
    text = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")


class AttachmentIn(serializers.Serializer):
    file = serializers.FileField(allow_empty_file=True, max_length=255)
