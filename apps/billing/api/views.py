"""Bills, the account, costs; and the operators' deposits."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.billing.api import serializers as s
from apps.billing.file_answers import bill_file
from apps.billing.permissions import BillingPermission as P
from apps.billing.permissions import books_check
from apps.billing.selectors.accounts import account_overview, transaction_list
from apps.billing.selectors.bills import bill_get, bill_line_get, bill_line_items, bill_list
from apps.billing.selectors.costs import cost_by
from apps.billing.services.bills import bill_confirm, bill_correct, bill_make, bill_pay, bill_write_off
from apps.billing.services.ledger import account_deposit, account_open, account_refund, credit_limit_set
from apps.identity.api.base import ApiView
from apps.kernel.actor import Actor
from apps.kernel.errors import Forbidden, InvalidInput
from apps.kernel.money import ZERO
from apps.kernel.planes import current_tenant
from apps.kernel.workbook import XLSX_TYPE
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenant_get, tenant_shown
from apps.tenancy.services import BUYER_RIGHTS, tenant_buyer_set


def read(serializer: type, data: Any) -> dict[str, Any]:
    """The input as its serializer understands it; a refusal names each field."""
    given = serializer(data=data)
    given.is_valid(raise_exception=True)
    return given.validated_data


class BillsView(ApiView):
    plane = "both"
    permission = P.VIEW

    @extend_schema(parameters=[OpenApiParameter("state", str)], responses=s.BillOut(many=True))
    def get(self, request: Request) -> Response:
        """Bills, newest first; an operator outside tenants sees those of all tenants."""
        rows = bill_list(actor=self.actor, state=request.query_params.get("state", ""))
        return self.page(rows, s.BillOut)

    @extend_schema(request=s.BillIn, responses={201: s.BillWholeOut})
    def post(self, request: Request) -> Response:
        """Bill all use of the tenant up to `until` (now) that is on no bill yet."""
        if self.tenant is None:
            raise InvalidInput(
                _("A bill is made for one tenant, and none is chosen."),
                cure=_("Send the header Weir-Tenant with the tenant's code."),
            )
        bill = bill_make(actor=self.actor, tenant=self.tenant, **read(s.BillIn, request.data))
        return Response(s.BillWholeOut(bill, context={"actor": self.actor}).data, status=201)


class BillView(ApiView):
    plane = "both"
    permission = P.VIEW

    @extend_schema(responses=s.BillWholeOut)
    def get(self, request: Request, uid: UUID) -> Response:
        """One bill with its lines and its payment."""
        return Response(
            s.BillWholeOut(bill_get(actor=self.actor, uid=uid), context={"actor": self.actor}).data
        )


class BillPdfView(ApiView):
    plane = "both"
    permission = P.VIEW

    @extend_schema(responses={(200, "application/pdf"): OpenApiTypes.BINARY})
    def get(self, request: Request, uid: UUID) -> HttpResponse:
        """The bill as a PDF, in the caller's language."""
        return bill_file(self.actor, bill_get(actor=self.actor, uid=uid), "pdf")


class BillXlsxView(ApiView):
    plane = "both"
    permission = P.VIEW

    @extend_schema(responses={(200, XLSX_TYPE): OpenApiTypes.BINARY})
    def get(self, request: Request, uid: UUID) -> HttpResponse:
        """The bill as a workbook, amounts as figures."""
        return bill_file(self.actor, bill_get(actor=self.actor, uid=uid), "xlsx")


class BillConfirmView(ApiView):
    permission = P.PAY

    @extend_schema(request=None, responses=s.BillWholeOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Agree to the bill; then it can be paid."""
        return Response(
            s.BillWholeOut(bill_confirm(actor=self.actor, bill_uid=uid), context={"actor": self.actor}).data
        )


class BillPayView(ApiView):
    permission = P.PAY

    @extend_schema(request=s.PayIn, responses=s.BillWholeOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Pay a confirmed bill from a coupon, if one is named, and the balance."""
        coupon = read(s.PayIn, request.data)["coupon"]
        bill_pay(actor=self.actor, bill_uid=uid, coupon_uid=coupon)
        return Response(
            s.BillWholeOut(bill_get(actor=self.actor, uid=uid), context={"actor": self.actor}).data
        )


class BillCorrectView(ApiView):
    plane = "provider"
    permission = P.MANAGE

    @extend_schema(request=s.RefundIn, responses=s.BillWholeOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Give back to the balance what a paid bill charged too much; `reference` makes it happen once."""
        bill_correct(actor=self.actor, bill_uid=uid, **read(s.RefundIn, request.data))
        return Response(
            s.BillWholeOut(bill_get(actor=self.actor, uid=uid), context={"actor": self.actor}).data
        )


class BillWriteOffView(ApiView):
    plane = "provider"
    permission = P.MANAGE

    @extend_schema(request=s.WriteOffIn, responses=s.BillWholeOut)
    def post(self, request: Request, uid: UUID) -> Response:
        """Give up a bill that will not be paid: the tenant owes it no more."""
        bill_write_off(actor=self.actor, bill_uid=uid, **read(s.WriteOffIn, request.data))
        return Response(
            s.BillWholeOut(bill_get(actor=self.actor, uid=uid), context={"actor": self.actor}).data
        )


class BillLineView(ApiView):
    plane = "both"
    permission = P.VIEW
    ordering = ("pk",)

    @extend_schema(responses=s.BillLineWholeOut)
    def get(self, request: Request, uid: UUID, line: UUID) -> Response:
        """One line down to the price version and, page by page, the usage records it came from."""
        bill = bill_get(actor=self.actor, uid=uid)
        row = bill_line_get(bill=bill, uid=line, actor=self.actor)
        records = self.page(bill_line_items(row), s.BillItemOut).data
        return Response(s.BillLineWholeOut(row, context={"records": records}).data)


class AccountView(ApiView):
    permission = P.VIEW

    @extend_schema(responses=s.AccountOut)
    def get(self, request: Request) -> Response:
        """Balance, coupons, what is owed and what was used; for who reaches the costs of the whole tenant."""
        books_check(self.actor)
        return Response(s.AccountOut(account_overview(tenant=self.tenant)).data)


class TransactionsView(ApiView):
    permission = P.VIEW

    @extend_schema(responses=s.TransactionOut(many=True))
    def get(self, request: Request) -> Response:
        """Deposits, bills and payments with the balance after each; for who reaches the costs of the whole tenant."""
        books_check(self.actor)
        return self.page(transaction_list(tenant=self.tenant), s.TransactionOut)


class CostsView(ApiView):
    plane = "both"
    permission = P.VIEW

    @extend_schema(parameters=[s.CostsIn], responses=s.CostsOut)
    def get(self, request: Request) -> Response:
        """Rated use that one reaches by one dimension; every dimension adds up to the same total."""
        wanted = read(s.CostsIn, request.query_params)
        if self.tenant is None and self.actor.kind != "operator":
            raise Forbidden()
        rows = cost_by(actor=self.actor, tenant=self.tenant, **wanted)
        total = sum((row.exact for row in rows), ZERO)
        return Response(s.CostsOut({"dimension": wanted["dimension"], "total": total, "rows": rows}).data)


class TenantAccountView(ApiView):
    plane = "provider"
    permission = P.VIEW

    @extend_schema(responses=s.AccountOut)
    def get(self, request: Request, schema: str) -> Response:
        return Response(s.AccountOut(account_overview(tenant=tenant_get(schema))).data)

    @extend_schema(request=None, responses={201: s.AccountOut})
    def post(self, request: Request, schema: str) -> Response:
        """Open the tenant's account; an open one stays as it is."""
        tenant = tenant_get(schema)
        account_open(actor=self.actor, tenant=tenant)
        return Response(s.AccountOut(account_overview(tenant=tenant)).data, status=201)


class DepositView(ApiView):
    plane = "provider"
    permission = P.MANAGE

    @extend_schema(request=s.DepositIn, responses={201: s.AccountOut})
    def post(self, request: Request, schema: str) -> Response:
        """Credit an amount to the tenant's balance; `reference` makes it happen once."""
        tenant = tenant_get(schema)
        account_deposit(actor=self.actor, tenant=tenant, **read(s.DepositIn, request.data))
        return Response(s.AccountOut(account_overview(tenant=tenant)).data, status=201)


class RefundView(ApiView):
    plane = "provider"
    permission = P.MANAGE

    @extend_schema(request=s.RefundIn, responses={201: s.AccountOut})
    def post(self, request: Request, schema: str) -> Response:
        """Pay back an amount of the tenant's balance; `reference` makes it happen once."""
        tenant = tenant_get(schema)
        account_refund(actor=self.actor, tenant=tenant, **read(s.RefundIn, request.data))
        return Response(s.AccountOut(account_overview(tenant=tenant)).data, status=201)


class CreditLimitView(ApiView):
    plane = "provider"
    permission = P.MANAGE

    @extend_schema(request=s.CreditIn, responses=s.AccountOut)
    def put(self, request: Request, schema: str) -> Response:
        """How much the tenant may owe beyond its balance."""
        tenant = tenant_get(schema)
        credit_limit_set(actor=self.actor, tenant=tenant, **read(s.CreditIn, request.data))
        return Response(s.AccountOut(account_overview(tenant=tenant)).data)


def _buyer_put(actor: Actor, tenant: Tenant, data: Any) -> Response:
    shown = {name: getattr(tenant, name) for name in ("legal_name", "address", "tax_number")}
    row = tenant_buyer_set(actor=actor, tenant=tenant, **(shown | read(s.BuyerIn, data)))
    return Response(s.BuyerOut(row).data)


class BuyerView(ApiView):
    open_because = "who pays the tenant's bills or manages its organizations; the service says so"

    @extend_schema(responses=s.BuyerOut)
    def get(self, request: Request) -> Response:
        """What bills say of the tenant as their buyer."""
        self.actor.require_any(*BUYER_RIGHTS)
        return Response(s.BuyerOut(self.tenant).data)

    @extend_schema(request=s.BuyerIn, responses=s.BuyerOut)
    def patch(self, request: Request) -> Response:
        """Change it, for bills that are made from now on; what is not named stays."""
        return _buyer_put(self.actor, current_tenant(), request.data)


class TenantBuyerView(ApiView):
    plane = "provider"
    permission = "tenancy.manage"

    @extend_schema(responses=s.BuyerOut)
    def get(self, request: Request, schema: str) -> Response:
        """What bills say of a tenant as their buyer."""
        return Response(s.BuyerOut(tenant_shown(schema)).data)

    @extend_schema(request=s.BuyerIn, responses=s.BuyerOut)
    def patch(self, request: Request, schema: str) -> Response:
        """Change it, for bills that are made from now on; what is not named stays."""
        return _buyer_put(self.actor, tenant_shown(schema), request.data)
