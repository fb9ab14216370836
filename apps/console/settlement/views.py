"""Accounts and bills of all tenants, as operators see them. Each act is one form and one service."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Sum
from django.http import HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.billing import file_answers
from apps.billing.models import Bill
from apps.billing.selectors.accounts import account_filtered, account_overview
from apps.billing.selectors.bills import bill_get, bill_list
from apps.billing.services.bills import bill_correct, bill_make, bill_write_off
from apps.billing.services.ledger import account_refund
from apps.billing.states import BillState, FundsLevel
from apps.billing.views import document_context
from apps.console.settlement.forms import AccountsForm, BillsForm, CorrectForm, RefundForm, WriteOffForm
from apps.identity.pages.access import cleaned, go, operator_page, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest
from apps.kernel.money import ZERO
from apps.tenancy.selectors import tenant_list, tenant_shown

_CNY = gettext_lazy("CNY")
ACCOUNTS = PageList(
    Column("tenant", gettext_lazy("Tenant"), sort="tenant__name", value="tenant.name"),
    Column("code", gettext_lazy("Code"), sort="tenant__schema_name", value="tenant.schema_name"),
    Column("balance", gettext_lazy("Balance"), sort="balance", value="balance", unit=_CNY),
    Column("unpaid", gettext_lazy("Bills not paid"), sort="unpaid", value="unpaid", unit=_CNY),
    Column("credit", gettext_lazy("Credit limit"), sort="credit_limit", value="credit_limit", unit=_CNY),
    Column(
        "funds",
        gettext_lazy("Funds"),
        sort=ranked("funds_level", FundsLevel.values),
        value="get_funds_level_display",
    ),
    Column("opened", gettext_lazy("Opened"), sort="opened_at", value="opened_at"),
    order="tenant",
)
BILLS = PageList(
    Column("no", gettext_lazy("Number"), sort="no", value="no"),
    Column("tenant", gettext_lazy("Tenant"), sort="tenant__name", value="tenant.name"),
    Column("from", gettext_lazy("From"), sort="period_from", value="period_from"),
    Column("until", gettext_lazy("Until"), sort="period_until", value="period_until"),
    Column("total", gettext_lazy("Total"), sort="total", value="total", unit=_CNY),
    Column("state", gettext_lazy("State"), sort=ranked("state", BillState.values), value="get_state_display"),
    Column("made", gettext_lazy("Made"), sort="made_at", value="made_at", is_extra=True),
    Column("confirmed", gettext_lazy("Confirmed"), sort="confirmed_at", value="confirmed_at", is_extra=True),
    Column("paid", gettext_lazy("Paid"), sort="paid_at", value="paid_at"),
    Column(
        "written_off",
        gettext_lazy("Written off"),
        sort="written_off_at",
        value="written_off_at",
        is_extra=True,
    ),
    order="-made",
)


@operator_page("billing.view")
def accounts(request: PortalRequest) -> HttpResponseBase:
    """The accounts of all tenants with what is on them (PLAT-OPS-28)."""
    chosen = cleaned(AccountsForm(request.GET))
    context = {"chosen": chosen, "levels": FundsLevel.choices}
    return show_list(request, "settlement/accounts", ACCOUNTS, account_filtered(**chosen), context)


@require_POST
@operator_page("billing.manage")
def refund(request: PortalRequest, schema: str) -> HttpResponse:
    """Pay back some of a balance."""
    row = tenant_shown(schema)
    given = cleaned(RefundForm(request.POST))
    account_refund(actor=request.actor, tenant=row, **given)
    said = {"amount": given["amount"], "tenant": row}
    messages.success(request, _("¥%(amount)s is refunded to %(tenant)s.") % said)
    return go(request, "operator:tenant", row.schema_name)


@require_POST
@operator_page("billing.manage")
def make(request: PortalRequest, schema: str) -> HttpResponse:
    """Put all use up to now that is on no bill yet on one (PLAT-OPS-32)."""
    row = bill_make(actor=request.actor, tenant=tenant_shown(schema))
    messages.success(request, _("The bill %(no)s is made.") % {"no": row.no})
    return go(request, "operator:bill", row.uid)


# --- bills -----------------------------------------------------------------------------------------------------


@operator_page("billing.view")
def bills(request: PortalRequest) -> HttpResponseBase:
    """The bills of all tenants, and what those shown come to."""
    chosen = cleaned(BillsForm(request.GET))
    found = bill_list(actor=request.actor, **chosen)
    context = {
        "chosen": chosen,
        "total": found.order_by().aggregate(sum=Sum("total"))["sum"] or ZERO,
        "states": BillState.choices,
        "tenants": tenant_list(),
    }
    return show_list(request, "settlement/bills", BILLS, found, context)


@operator_page("billing.view")
def bill(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One tenant's bill: its lines, its payment, what was given back of it."""
    row = bill_get(actor=request.actor, uid=uid)
    return show(request, "settlement/bill", _bill(request, row))


@operator_page("billing.view")
def bill_file(request: PortalRequest, uid: UUID, kind: str) -> HttpResponse:
    """One tenant's bill as a PDF or a workbook."""
    return file_answers.bill_file(request.actor, bill_get(actor=request.actor, uid=uid), kind)


def _bill(request: PortalRequest, row: Bill) -> dict[str, Any]:
    return document_context(request, row) | {
        "is_operator": True,
        "overview": account_overview(tenant=row.tenant),
        "correct_form": CorrectForm(auto_id="correct-%s"),
        "write_off_form": WriteOffForm(auto_id="write-off-%s"),
        "may_correct": row.state == BillState.PAID,
        "may_write_off": row.state in (BillState.MADE, BillState.CONFIRMED),
    }


@require_POST
@operator_page("billing.manage")
def correct(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Give back what a paid bill charged too much."""
    row = bill_get(actor=request.actor, uid=uid)
    given = cleaned(CorrectForm(request.POST))
    bill_correct(actor=request.actor, bill_uid=uid, **given)
    said = {"amount": given["amount"], "no": row.no}
    messages.success(request, _("¥%(amount)s of bill %(no)s is given back to the balance.") % said)
    return go(request, "operator:bill", uid)


@require_POST
@operator_page("billing.manage")
def write_off(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Give up a bill that will not be paid."""
    row = bill_write_off(actor=request.actor, bill_uid=uid, **cleaned(WriteOffForm(request.POST)))
    messages.success(request, _("The bill %(no)s is written off.") % {"no": row.no})
    return go(request, "operator:bill", uid)
