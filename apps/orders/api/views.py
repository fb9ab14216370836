"""Quotes, the cart, application forms with their attachments, and orders."""

from typing import Any
from uuid import UUID

from django.http import FileResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.approvals.selectors import process_list
from apps.cases.api.base import CaseView
from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.selectors.prices import quote_get
from apps.identity.api.base import ApiView
from apps.kernel.attached_files import file_answer
from apps.orders.api import serializers as s
from apps.orders.models import ApplicationForm
from apps.orders.selectors import (
    TABS,
    attachment_get,
    cart_list,
    form_get,
    form_is_withdrawable,
    form_list,
    order_get,
    order_list,
    processes_of_order,
    remark_list,
)
from apps.orders.services.again import form_again, order_again
from apps.orders.services.attachments import attachment_add, attachment_remove
from apps.orders.services.carts import cart_add, cart_remove
from apps.orders.services.changes import order_change
from apps.orders.services.deliveries import ticket_execute, ticket_send
from apps.orders.services.drafts import form_delete, form_draft, form_update
from apps.orders.services.operator_ends import order_end
from apps.orders.services.remarks import order_remark
from apps.orders.services.submissions import form_submit, form_withdraw
from apps.orders.services.terminations import order_terminate
from apps.orders.types import LineInput, amounts_delivered
from apps.scheduling.selectors.workloads import expected_start_get
from apps.tickets.selectors import tickets_of


class QuotesView(ApiView):
    no_key_because = "it changes nothing"
    permission = "catalog.view"

    @extend_schema(request=s.QuoteIn, responses=s.QuoteAndStartOut)
    def post(self, request: Request) -> Response:
        """What it costs at the prices of this moment, and when it could start. Nothing is changed."""
        given = s.QuoteIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        commodity = commodity_get(tenant=self.tenant, uid=data["commodity"])
        quote = quote_get(
            tenant=self.tenant,
            commodity=commodity,
            amounts=data["amounts"],
            count=data["count"],
            duration_s=data["duration_s"],
            at=timezone.now(),
            coupon=data["coupon"],
        )
        if not commodity.is_scheduled:
            return Response({**quote.as_json(), "expected_start": None})
        start = expected_start_get(
            tenant=self.tenant,
            amounts=amounts_delivered(data["amounts"], data["count"]),
            duration_s=data["duration_s"],
        )
        return Response({**quote.as_json(), "expected_start": start.as_json()})


class CartView(ApiView):
    permission = "orders.apply"

    @extend_schema(responses=s.CartOut(many=True))
    def get(self, request: Request) -> Response:
        return self.page(cart_list(actor=self.actor), s.CartOut)

    @extend_schema(request=s.CartIn, responses={201: s.CartOut})
    def post(self, request: Request) -> Response:
        given = s.CartIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        line = cart_add(
            actor=self.actor, commodity_uid=data["commodity"], amounts=data["amounts"], count=data["count"]
        )
        return Response(s.CartOut(line).data, status=201)


class CartLineView(ApiView):
    permission = "orders.apply"

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        cart_remove(actor=self.actor, line_uid=uid)
        return Response(status=204)


# --- forms -----------------------------------------------------------------------------------------------------


def _program(line: dict[str, Any]) -> dict[str, Any]:
    """What is said of a line's own program, without what is not."""
    return {name: said for name, said in (line["program"] or {}).items() if said}


def _form_fields(data: dict[str, Any]) -> dict[str, Any]:
    lines = [
        LineInput(one["commodity"], one["amounts"], one["count"], _program(one)) for one in data["lines"]
    ]
    return {
        "lines": lines,
        "duration_s": data["duration_s"],
        "business_system_uid": data["business_system"],
        "remark": data["remark"],
        "data": data["data"],
        "coupon_uid": data["coupon"],
        "volumes": data["volumes"],
    }


def _form_out(view: ApiView, uid: UUID, status: int = 200) -> Response:
    form: ApplicationForm = form_get(actor=view.actor, uid=uid)
    context = {
        "processes": process_list(form.uid),
        "is_withdrawable": form_is_withdrawable(actor=view.actor, form=form),
    }
    return Response(s.FormOut(form, context=context).data, status=status)


_FORM_FILTERS = ("search", "state", "business_system")


class FormsView(ApiView):
    permission = "orders.view"

    @extend_schema(
        parameters=[
            OpenApiParameter("tab", str, enum=TABS),
            *(OpenApiParameter(n, str) for n in _FORM_FILTERS),
        ],
        responses=s.FormRowOut(many=True),
    )
    def get(self, request: Request) -> Response:
        filters = {name: request.query_params.get(name, "") for name in _FORM_FILTERS}
        tab = request.query_params.get("tab", "all")
        return self.page(form_list(actor=self.actor, tab=tab, **filters), s.FormRowOut)

    @extend_schema(request=s.FormIn, responses={201: s.FormOut})
    def post(self, request: Request) -> Response:
        """Keep a draft."""
        given = s.FormIn(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        form = form_draft(actor=self.actor, cart_uids=data["cart"], **_form_fields(data))
        return _form_out(self, form.uid, status=201)


class FormView(CaseView):
    case_kind = "form"
    permission = "orders.view"

    @extend_schema(responses=s.FormOut)
    def get(self, request: Request, uid: UUID) -> Response:
        return _form_out(self, uid)

    @extend_schema(request=s.FormIn, responses=s.FormOut)
    def patch(self, request: Request, uid: UUID) -> Response:
        """Replace what a draft says."""
        given = s.FormIn(data=request.data)
        given.is_valid(raise_exception=True)
        form_update(actor=self.actor, form_uid=uid, **_form_fields(given.validated_data))
        return _form_out(self, uid)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        form_delete(actor=self.actor, form_uid=uid)
        return Response(status=204)


class FormSubmitView(ApiView):
    permission = "orders.view"

    @extend_schema(request=None, responses=s.FormOut)
    def post(self, request: Request, uid: UUID) -> Response:
        form_submit(actor=self.actor, form_uid=uid)
        return _form_out(self, uid)


class FormAgainView(ApiView):
    permission = "orders.apply"

    @extend_schema(request=None, responses={201: s.FormAgainOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """A draft with what a refused or ended application had, as far as it can be had now; the rest is named."""
        made = form_again(actor=self.actor, form_uid=uid)
        form = _form_out(self, made.form.uid).data
        return Response({"form": form, "changed": made.changed}, status=201)


class FormWithdrawView(ApiView):
    permission = "orders.view"

    @extend_schema(request=None, responses=s.FormOut)
    def post(self, request: Request, uid: UUID) -> Response:
        form_withdraw(actor=self.actor, form_uid=uid)
        return _form_out(self, uid)


class AttachmentsView(CaseView):
    case_kind = "form"
    permission = "orders.view"
    parser_classes = [MultiPartParser]

    @extend_schema(responses=s.AttachmentOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        form = form_get(actor=self.actor, uid=uid)
        return self.page(form.attachments.all(), s.AttachmentOut)

    @extend_schema(request={"multipart/form-data": s.AttachmentIn}, responses={201: s.AttachmentOut})
    def post(self, request: Request, uid: UUID) -> Response:
        given = s.AttachmentIn(data=request.data)
        given.is_valid(raise_exception=True)
        file = given.validated_data["file"]
        row = attachment_add(actor=self.actor, form_uid=uid, file=file, name=file.name)
        return Response(s.AttachmentOut(row).data, status=201)


class AttachmentView(ApiView):
    permission = "orders.view"

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, uid: UUID) -> FileResponse:
        """Download; never shown by the browser itself."""
        row = attachment_get(actor=self.actor, uid=uid)
        return file_answer(row)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, uid: UUID) -> Response:
        attachment_remove(actor=self.actor, attachment_uid=uid)
        return Response(status=204)


# --- orders ----------------------------------------------------------------------------------------------------

_ORDER_FILTERS = ("search", "state", "business_system", "supplier")


class OrdersView(ApiView):
    permission = "orders.view"

    @extend_schema(
        parameters=[OpenApiParameter(name, str) for name in _ORDER_FILTERS],
        responses=s.OrderRowOut(many=True),
    )
    def get(self, request: Request) -> Response:
        filters = {name: request.query_params.get(name, "") for name in _ORDER_FILTERS}
        return self.page(order_list(actor=self.actor, **filters), s.OrderRowOut)


class OrderView(CaseView):
    case_kind = "order"
    permission = "orders.view"

    @extend_schema(responses=s.OrderOut)
    def get(self, request: Request, uid: UUID) -> Response:
        order = order_get(actor=self.actor, uid=uid)
        context = {"tickets": tickets_of(order.uid), "processes": processes_of_order(order)}
        return Response(s.OrderOut(order, context=context).data)


class OrderChangeView(ApiView):
    permission = "orders.apply"

    @extend_schema(request=s.ChangeIn, responses={201: s.FormOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Ask for another share of a card, or more time, for what runs: a change form, submitted."""
        given = s.ChangeIn(data=request.data)
        given.is_valid(raise_exception=True)
        form = order_change(actor=self.actor, order_uid=uid, **given.validated_data)
        return _form_out(self, form.uid, status=201)


class OrderAgainView(ApiView):
    permission = "orders.apply"

    @extend_schema(request=None, responses={201: s.FormOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """A draft with the service, the amounts, the program, the volumes and the duration that an order had."""
        form = order_again(actor=self.actor, order_uid=uid)
        return _form_out(self, form.uid, status=201)


class OrderTerminateView(ApiView):
    permission = "orders.terminate"

    @extend_schema(request=s.TerminateIn, responses={201: s.FormOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Ask for the end of an order: a termination form, submitted."""
        given = s.TerminateIn(data=request.data)
        given.is_valid(raise_exception=True)
        form = order_terminate(actor=self.actor, order_uid=uid, reason=given.validated_data["reason"])
        return _form_out(self, form.uid, status=201)


class OrderEndView(ApiView):
    permission = "resources.operate"

    @extend_schema(request=s.TerminateIn, responses=s.OrderRowOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Operators: end what an order delivered, of a suspended tenant too; its applicant is told why."""
        given = s.TerminateIn(data=request.data)
        given.is_valid(raise_exception=True)
        order = order_end(actor=self.actor, order_uid=uid, reason=given.validated_data["reason"])
        return Response(s.OrderRowOut(order).data)


class OrderRemarksView(ApiView):
    permission = "orders.view"
    ordering = ("created_at", "pk")

    @extend_schema(responses=s.OrderRemarkOut(many=True))
    def get(self, request: Request, uid: UUID) -> Response:
        """What tenant and operators said about an order, the oldest first."""
        order = order_get(actor=self.actor, uid=uid)
        return self.page(remark_list(actor=self.actor, order=order), s.OrderRemarkOut)

    @extend_schema(request=s.OrderRemarkIn, responses={201: s.OrderRemarkOut})
    def post(self, request: Request, uid: UUID) -> Response:
        """Say something about it; the other side is told. Nothing of the order changes by it."""
        given = s.OrderRemarkIn(data=request.data)
        given.is_valid(raise_exception=True)
        row = order_remark(actor=self.actor, order_uid=uid, **given.validated_data)
        return Response(s.OrderRemarkOut(row).data, status=201)


class TicketSendView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=None, responses=s.OrderRowOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Send a waiting delivery ticket: its order is delivered as if it had gone out by itself (PLAT-CFG-45)."""
        return Response(s.OrderRowOut(ticket_send(actor=self.actor, ticket_uid=uid)).data)


class TicketExecuteView(CaseView):
    case_kind = "ticket"
    permission = "tickets.work"

    @extend_schema(request=s.TicketExecuteIn, responses=s.OrderRowOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Carry out a claimed delivery ticket: its order is delivered now (PLAT-TODO-12)."""
        given = s.TicketExecuteIn(data=request.data)
        given.is_valid(raise_exception=True)
        order = ticket_execute(actor=self.actor, ticket_uid=uid, note=given.validated_data["text"])
        return Response(s.OrderRowOut(order).data)
