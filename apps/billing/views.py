"""The settlement centre: the account, costs by dimension, bills from their total down to usage records."""

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.billing import file_answers
from apps.billing.bill_document import bill_document, parts_page
from apps.billing.charts import bars_option, trend_option
from apps.billing.forms import BillsForm, BuyerForm, CostForm, PayForm
from apps.billing.models import Bill
from apps.billing.permissions import books_check
from apps.billing.selectors.accounts import account_overview, transaction_list, transactions_whole
from apps.billing.selectors.bills import (
    bill_get,
    bill_line_get,
    bill_line_items,
    bill_lines,
    bill_list,
)
from apps.billing.selectors.costs import cost_by, cost_by_day, cost_total
from apps.billing.services.bills import bill_confirm, bill_make, bill_pay
from apps.billing.states import BillState
from apps.catalog.selectors.coupons import coupon_list, coupons_for
from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import is_export, show_list
from apps.identity.pages.requests import PortalRequest, TenantRequest
from apps.kernel.reach import Records
from apps.tenancy.models import Tenant
from apps.tenancy.services import BUYER_RIGHTS, tenant_buyer_set

# So many lines of a bill stand on one page.
_LINES = 200

DIMENSIONS = {
    "commodity": gettext_lazy("Commodity"),
    "resource_type": gettext_lazy("Component"),
    "business_system": gettext_lazy("Business system"),
    "organization": gettext_lazy("Organization"),
    "person": gettext_lazy("Person"),
    "supplier": gettext_lazy("Supplier"),
    "workload": gettext_lazy("Order"),
}


_CNY = gettext_lazy("CNY")
TRANSACTIONS = PageList(
    Column("time", gettext_lazy("Time"), sort="created_at", value="created_at"),
    Column("kind", gettext_lazy("Kind"), sort="kind", value="get_kind_display"),
    Column("reference", gettext_lazy("Reference"), sort="reference", value="reference", is_extra=True),
    Column("reason", gettext_lazy("Reason"), value="reason", is_extra=True),
    Column("amount", gettext_lazy("Amount"), value="total", unit=_CNY),
    Column("coupons", gettext_lazy("From coupons"), value="coupon_amount", unit=_CNY),
    Column("change", gettext_lazy("Balance change"), value="balance_change", unit=_CNY),
    Column("balance", gettext_lazy("Balance after"), value="balance_after", unit=_CNY),
    order="-time",
)


@page("billing.view")
def account(request: TenantRequest) -> HttpResponseBase:
    """Balance, coupons and past transactions (PLAT-OPS-7, -8, -31)."""
    books_check(request.actor)
    tenant = request.entered_tenant
    context = {
        "overview": account_overview(tenant=tenant),
        "coupons": coupon_list(tenant=tenant, state="claimed"),
        "topic": _topic(tenant),
        "live": [_topic(tenant)],
    }
    read = transactions_whole if is_export(request) else transaction_list
    return show_list(request, "billing/account", TRANSACTIONS, read(tenant=tenant), context)


@page("billing.view")
def costs(request: TenantRequest) -> HttpResponse:
    """Costs by dimension and by day (PLAT-OPS-53, -54)."""
    chosen = cleaned(CostForm(request.GET))
    tenant = request.entered_tenant
    since = _beginning(tenant, chosen["span"])
    rows = cost_by(actor=request.actor, tenant=tenant, dimension=chosen["dimension"], since=since)
    days = cost_by_day(actor=request.actor, tenant=tenant, since=since)
    context = {
        "chosen": chosen,
        "dimensions": DIMENSIONS.items(),
        "rows": rows,
        "total": cost_total(actor=request.actor, tenant=tenant, since=since),
        "trend": trend_option(days),
        "bars": bars_option(rows[:5]),
    }
    return show(request, "billing/costs", context)


def _beginning(tenant: Tenant, span: str) -> datetime:
    """The first instant of the present month or year in the tenant's zone."""
    now = timezone.localtime(timezone.now(), ZoneInfo(tenant.timezone))
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return month if span == "month" else month.replace(month=1)


BILLS = PageList(
    Column("no", gettext_lazy("Number"), sort="no", value="no"),
    Column("from", gettext_lazy("From"), sort="period_from", value="period_from"),
    Column("until", gettext_lazy("Until"), sort="period_until", value="period_until"),
    Column("total", gettext_lazy("Total"), sort="total", value="shown_total", unit=_CNY),
    Column("state", gettext_lazy("State"), sort=ranked("state", BillState.values), value="get_state_display"),
    Column("made", gettext_lazy("Made"), sort="made_at", value="made_at"),
    Column("paid", gettext_lazy("Paid"), sort="paid_at", value="paid_at", is_extra=True),
    order="-made",
)


@page("billing.view")
def bills(request: TenantRequest) -> HttpResponseBase:
    """All bills, or of each the part that the reader reaches."""
    is_whole = request.actor.reaches_all(Records.COSTS)
    chosen = cleaned(BillsForm(request.GET))
    rows = bill_list(actor=request.actor, tenant=request.entered_tenant, state=chosen["state"])
    context = {
        "chosen": chosen,
        "states": BillState.choices,
        "is_whole": is_whole,
        "may_say_buyer": request.actor.may_any(*BUYER_RIGHTS),
        "overview": account_overview(tenant=request.entered_tenant) if is_whole else None,
        "topic": _topic(request.entered_tenant),
        "live": [_topic(request.entered_tenant)],
    }
    return show_list(request, "billing/bills", BILLS, rows, context)


def _topic(tenant: Tenant) -> str:
    return f"tenant.{tenant.schema_name}.billing"


@require_POST
@page("billing.pay")
def make(request: TenantRequest) -> HttpResponse:
    """Bill what was used up to now (PLAT-OPS-32)."""
    row = bill_make(actor=request.actor, tenant=request.entered_tenant)
    messages.success(request, _("The bill %(no)s is made.") % {"no": row.no})
    return go(request, "billing:bill", row.uid)


@page("billing.view")
def bill(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One bill: the document with its lines, confirming it, paying it."""
    row = bill_get(actor=request.actor, uid=uid)
    context = document_context(request, row) | {
        "overview": account_overview(tenant=row.tenant) if row.is_whole else None,
        "coupons": coupons_for(tenant=row.tenant, total=row.total)
        if row.state == BillState.CONFIRMED
        else [],
        "topic": _topic(row.tenant),
        "live": [_topic(row.tenant)],
    }
    return show(request, "billing/bill", context)


def document_context(request: PortalRequest, row: Bill) -> dict[str, object]:
    """What the document of a bill shows: of a long one a page of its lines."""
    rows = paged(request, bill_lines(row, request.actor).order_by("charge_id", "pk"), _LINES)
    return {
        "bill": row,
        "document": bill_document(row, request.actor),
        "rows": rows,
        "parts": parts_page(row, request.actor, list(rows)),
    }


@page("billing.view")
def bill_file(request: TenantRequest, uid: UUID, kind: str) -> HttpResponse:
    """The bill as a PDF or a workbook: the part of it that its reader reaches."""
    return file_answers.bill_file(request.actor, bill_get(actor=request.actor, uid=uid), kind)


@page()
def details(request: TenantRequest) -> HttpResponse:
    """What bills say of the tenant as their buyer: its legal name, address and tax number."""
    request.actor.require_any(*BUYER_RIGHTS)
    tenant = request.entered_tenant
    shown = {name: getattr(tenant, name) for name in ("legal_name", "address", "tax_number")}
    form = BuyerForm(request.POST or None, initial=shown)
    if request.method == "POST" and form.is_valid():
        tenant_buyer_set(actor=request.actor, tenant=tenant, **form.cleaned_data)
        messages.success(request, _("Saved: bills that are made from now on say so."))
        return go(request, "billing:details")
    return show(request, "billing/details", {"form": form}, status=400 if form.errors else 200)


@require_POST
@page("billing.pay")
def confirm(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = bill_confirm(actor=request.actor, bill_uid=uid)
    messages.success(request, _("The bill %(no)s is confirmed.") % {"no": row.no})
    return go(request, "billing:bill", row.uid)


@require_POST
@page("billing.pay")
def pay(request: TenantRequest, uid: UUID) -> HttpResponse:
    given = cleaned(PayForm(request.POST))
    bill_pay(actor=request.actor, bill_uid=uid, coupon_uid=given["coupon"])
    row: Bill = bill_get(actor=request.actor, uid=uid)
    messages.success(request, _("The bill %(no)s is paid.") % {"no": row.no})
    return go(request, "billing:bill", uid)


@page("billing.view")
def line(request: TenantRequest, uid: UUID, line_uid: UUID) -> HttpResponse:
    """What one amount on a bill came from: price version, usage records, events (PLAT-OPS-55)."""
    row = bill_get(actor=request.actor, uid=uid)
    found = bill_line_get(bill=row, uid=line_uid, actor=request.actor)
    items = paged(request, bill_line_items(found), 100)
    return show(request, "billing/line", {"bill": row, "line": found, "rows": items})
