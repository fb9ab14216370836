"""What the operators' page of a tenant shows: figures of several apps about one tenant (PLAT-TEN-9)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.billing.selectors.accounts import account_overview, balance_get, balances_of
from apps.billing.selectors.bills import bill_due_list, bill_list
from apps.billing.selectors.costs import tenants_costs
from apps.billing.states import BillState
from apps.billing.types import AccountOverview
from apps.cases.models import Case
from apps.cases.selectors import case_list
from apps.cases.types import CaseKind
from apps.console.operations.selectors import month_begin
from apps.identity.selectors import members_counted
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.money import ZERO, bill_round
from apps.kernel.planes import in_tenant
from apps.orgs.models import BusinessSystem
from apps.orgs.selectors.business_systems import business_system_list
from apps.orgs.selectors.organizations import organization_list
from apps.orgs.selectors.people import Person, people_of, person_list
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import quota_get, running_counts, workload_list
from apps.scheduling.states import FINAL_STATES, WorkloadState
from apps.scheduling.types import QuotaFigures
from apps.tenancy.models import Tenant
from apps.tenancy.states import ENDED

SHOWN = 5


@dataclass(slots=True)
class TenantOverview:
    """The parts that the actor may see; what he may not is None, or empty. Money in CNY."""

    systems: Sequence[BusinessSystem] = ()
    people: Sequence[Person] = ()
    people_count: int = 0
    organization_count: int = 0
    quota: Sequence[QuotaFigures] = ()
    workloads: Sequence[Workload] = ()
    running_count: int = 0
    waiting_count: int = 0
    forms: Sequence[Case] = ()
    form_count: int = 0
    money: AccountOverview | None = None
    lasting: list[str] = field(default_factory=list)


def tenant_overview(*, actor: Actor, tenant: Tenant) -> TenantOverview:
    """What there is of a tenant now, as far as the actor's role may see; of an ended one its records alone."""
    found = TenantOverview()
    if tenant.state not in ENDED:
        _people(found, actor, tenant)
        _work(found, actor, tenant)
    if actor.may("cases.view"):
        forms = case_list(actor=actor, filters={"kind": CaseKind.FORM, "tenant": tenant.schema_name})
        found.forms, found.form_count = list(forms[:SHOWN]), forms.count()
    if actor.may("billing.view"):
        found.money = account_overview(tenant=tenant)
    if tenant.state not in ENDED:
        found.lasting = tenant_lasting(tenant)
    return found


def tenant_figures_put(actor: Actor, rows: Sequence[Tenant]) -> None:
    """Put on each tenant of a list what the actor may see of it, by one query for each figure and all of them:
    `people_count`, `running_count`, `month_cost` and `balance` in CNY. What he may not see is None, as is the balance
    of one without an account. The month is that of the centre's zone, so that costs of a list compare."""
    begin = month_begin()
    people = members_counted(rows) if actor.may("orgs.view") else None
    running = running_counts(rows) if actor.may("resources.view") else None
    costs = tenants_costs(tenants=rows, since=begin) if actor.may("billing.view") else None
    balances = balances_of(rows) if actor.may("billing.view") else {}
    for row in rows:
        row.people_count = None if people is None else people.get(row.pk, 0)  # type: ignore[attr-defined]
        row.running_count = None if running is None else running.get(row.pk, 0)  # type: ignore[attr-defined]
        row.month_cost = None if costs is None else costs.get(row.pk, ZERO)  # type: ignore[attr-defined]
        row.balance = balances.get(row.pk)  # type: ignore[attr-defined]


def _people(found: TenantOverview, actor: Actor, tenant: Tenant) -> None:
    if not actor.may("orgs.view"):
        return
    with in_tenant(tenant.schema_name):
        found.systems = list(business_system_list(actor=actor).order_by("number"))
        found.organization_count = organization_list(actor=actor).count()
        members = person_list(actor=actor)
        found.people_count = members.count()
        found.people = people_of(members[:SHOWN])


def _work(found: TenantOverview, actor: Actor, tenant: Tenant) -> None:
    if actor.may("scheduling.view"):
        found.quota = list(quota_get(tenant).values())
    if not actor.may("resources.view"):
        return
    work = workload_list(tenant, actor=actor).exclude(state__in=FINAL_STATES)
    found.waiting_count = work.filter(state=WorkloadState.PENDING).count()
    found.running_count = work.count() - found.waiting_count
    found.workloads = list(work[:SHOWN])


def tenant_lasting(tenant: Tenant) -> list[str]:
    """What must be at an end before the tenant can be closed, a sentence each; empty where nothing is."""
    found = []
    work = workload_list(tenant, actor=SYSTEM).exclude(state__in=FINAL_STATES).count()
    if work:
        text = ngettext("%(count)s workload has not ended.", "%(count)s workloads have not ended.", work)
        found.append(text % {"count": work})
    orders = case_list(
        actor=SYSTEM, filters={"kind": CaseKind.ORDER, "tenant": tenant.schema_name, "is_open": "1"}
    )
    if open_ := orders.count():
        numbers = ", ".join(orders.values_list("no", flat=True)[:SHOWN])
        text = ngettext(
            "%(count)s order has not ended: %(numbers)s.",
            "%(count)s orders have not ended: %(numbers)s.",
            open_,
        )
        more = " …" if open_ > SHOWN else ""
        found.append(text % {"count": open_, "numbers": numbers + more})
    if bill_due_list(until=timezone.now()).filter(pk=tenant.pk).exists():
        found.append(_("What was used is on no bill yet: make its last bill."))
    bills = bill_list(actor=SYSTEM, tenant=tenant)
    unpaid = bills.filter(state__in=[BillState.MADE, BillState.CONFIRMED]).count()
    if unpaid:
        text = ngettext("%(count)s bill is not paid.", "%(count)s bills are not paid.", unpaid)
        found.append(text % {"count": unpaid})
    balance = bill_round(balance_get(tenant))
    if balance > ZERO:
        found.append(_("Its balance of ¥%(amount)s is to be refunded.") % {"amount": balance})
    return found
