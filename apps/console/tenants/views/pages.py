"""The operators' pages of tenants: the list, one tenant with all its parts, and its records as a file."""

from functools import partial

from django.http import FileResponse, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from apps.billing.forms import BuyerForm
from apps.console.operations.selectors import state_label
from apps.console.settlement.forms import RefundForm
from apps.console.tenants.forms import (
    CreditForm,
    DepositForm,
    QuotasForm,
    ReasonForm,
    TenantFilterForm,
    TenantNameForm,
)
from apps.console.tenants.overview import tenant_figures_put, tenant_overview
from apps.console.tenants.services import tenant_archive_take
from apps.console.tenants.views.opening import tenant_address
from apps.identity.pages.access import cleaned, operator_page, show
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest
from apps.kernel.money import bill_round
from apps.tenancy.selectors import tenant_find, tenant_shown
from apps.tenancy.states import ENDED, TenantState

TENANTS = PageList(
    Column("name", _("Name"), sort="name", value="name"),
    Column("code", _("Code"), sort="schema_name", value="schema_name"),
    Column("people", _("People"), value="people_count"),
    Column("running", _("Running work"), value="running_count"),
    Column("cost", _("Cost this month"), value="month_cost", unit="CNY"),
    Column("balance", _("Balance"), value="balance", unit="CNY"),
    Column("host", _("Address"), sort="host", value="host", is_extra=True),
    Column("timezone", _("Time zone"), sort="timezone", value="timezone", is_extra=True),
    Column("created", _("Created at"), sort="created_at", value="created_at"),
    Column("state", _("State"), sort="state", value="get_state_display"),
    order="name",
)


@operator_page("tenancy.view")
def tenants(request: PortalRequest) -> HttpResponseBase:
    """Whom the centre serves, ended ones too, by name, code and state, each with its people, running work and money
    (PLAT-TEN-8)."""
    chosen = cleaned(TenantFilterForm(request.GET))
    context = {"chosen": chosen, "states": TenantState.choices}
    prepare = partial(tenant_figures_put, request.actor)
    return show_list(request, "operator/tenants", TENANTS, tenant_find(**chosen), context, prepare=prepare)


@operator_page("tenancy.view")
def tenant(request: PortalRequest, schema: str) -> HttpResponse:
    """One tenant: overview, business systems, resources, cost, application forms, people (PLAT-TEN-9)."""
    row = tenant_shown(schema)
    found = tenant_overview(actor=request.actor, tenant=row)
    account = found.money
    context = {
        "tenant": row,
        "found": found,
        "forms": [(case, state_label(case.kind, case.state)) for case in found.forms],
        "address": tenant_address(request, row.host) if row.host else "",
        "is_ended": row.state in ENDED,
        "name_form": TenantNameForm(initial={"name": row.name, "timezone": row.timezone}),
        "buyer_form": BuyerForm(
            auto_id="buyer-%s",
            initial={
                "legal_name": row.legal_name,
                "address": row.address,
                "tax_number": row.tax_number,
            },
        ),
        "reason_form": ReasonForm(),
        "deposit_form": DepositForm(),
        "credit_form": CreditForm(initial={"amount": bill_round(account.credit_limit) if account else 0}),
        "refund_form": RefundForm(auto_id="refund-%s"),
        "quota_form": QuotasForm(initial={line.item: line.total for line in found.quota}),
    }
    return show(request, "operator/tenant", context)


@require_GET
@operator_page("tenancy.manage")
def tenant_archive(request: PortalRequest, schema: str) -> HttpResponseBase:
    """All that is kept of a tenant, as one archive."""
    row = tenant_shown(schema)
    name = f"{row.schema_name}-{timezone.localdate().isoformat()}.zip"
    return FileResponse(
        tenant_archive_take(actor=request.actor, tenant=row), as_attachment=True, filename=name
    )
