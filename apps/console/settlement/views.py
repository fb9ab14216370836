"""Accounts and bills of all tenants, as operators see them. Each act is one form and one service."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Sum
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
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
from apps.console.settlement.rows import bill_rows
from apps.identity.pages.access import cleaned, go, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.money import ZERO
from apps.kernel.spreadsheet import CSV_TYPE
from apps.tenancy.selectors import tenant_list, tenant_shown


@operator_page("billing.view")
def accounts(request: PortalRequest) -> HttpResponse:
    """The accounts of all tenants with what is on them (PLAT-OPS-28)."""
    chosen = cleaned(AccountsForm(request.GET))
    context = {
        "chosen": chosen,
        "rows": paged(request, account_filtered(**chosen)),
        "levels": FundsLevel.choices,
        "is_narrowed": any(chosen.values()),
    }
    return show(request, "settlement/accounts", context)


@require_POST
@operator_page("billing.manage")
def refund(request: PortalRequest, schema: str) -> HttpResponse:
    """Pay back some of a balance."""
    row = tenant_shown(schema)
    given = cleaned(RefundForm(request.POST))
    account_refund(actor=request.actor, tenant=row, **given)
    said = {"amount": given["amount"], "tenant": row}
    messages.success(request, _("%(amount)s CNY are refunded to %(tenant)s.") % said)
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
def bills(request: PortalRequest) -> HttpResponse:
    """The bills of all tenants, and what those shown come to."""
    chosen = cleaned(BillsForm(request.GET))
    found = bill_list(actor=request.actor, **chosen)
    context = {
        "chosen": chosen,
        "rows": paged(request, found),
        "total": found.order_by().aggregate(sum=Sum("total"))["sum"] or ZERO,
        "states": BillState.choices,
        "tenants": tenant_list(),
        "export": urlencode({name: value for name, value in chosen.items() if value}),
        "is_narrowed": any(chosen.values()),
    }
    return show(request, "settlement/bills", context)


@operator_page("billing.view")
def bills_export(request: PortalRequest) -> StreamingHttpResponse:
    """Exactly the bills that meet the present conditions, as CSV."""
    chosen = cleaned(BillsForm(request.GET))
    lines = bill_rows(bill_list(actor=request.actor, **chosen))
    response = StreamingHttpResponse(lines, content_type=CSV_TYPE)
    response["Content-Disposition"] = 'attachment; filename="weir-bills.csv"'
    response["X-Accel-Buffering"] = "no"
    return response


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
    messages.success(request, _("%(amount)s CNY of bill %(no)s are given back to the balance.") % said)
    return go(request, "operator:bill", uid)


@require_POST
@operator_page("billing.manage")
def write_off(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Give up a bill that will not be paid."""
    row = bill_write_off(actor=request.actor, bill_uid=uid, **cleaned(WriteOffForm(request.POST)))
    messages.success(request, _("The bill %(no)s is written off.") % {"no": row.no})
    return go(request, "operator:bill", uid)
