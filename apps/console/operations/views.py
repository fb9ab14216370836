"""The operator pages on the provider's host: what needs somebody now, over all tenants."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from apps.approvals.forms import TogetherForm
from apps.approvals.services import tasks_decide_across
from apps.approvals.views import decided_tell
from apps.billing.charts import trend_option
from apps.cases.models import Case
from apps.cases.permissions import INBOX, TICKETS
from apps.cases.selectors import case_inbox, case_list, case_tickets
from apps.cases.types import CaseKind
from apps.console.centre.checklist import Lack, lacks
from apps.console.operations import selectors as read
from apps.console.operations.charts import alarm_option
from apps.console.operations.forms import AlarmsForm, CasesForm, InboxForm
from apps.console.operations.home import home_figures, revenue_now, sold_lately
from apps.fleet.selectors import node_list
from apps.identity.pages.access import LOGIN, cleaned, go, next_url, operator_page, page, paged, show
from apps.identity.pages.lists.acts import ListAct, act_on_each, chosen_rows
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest, Role
from apps.identity.services.users import tenants_of
from apps.kernel.errors import Forbidden
from apps.kernel.translatable import localized
from apps.telemetry.selectors import alarm_list
from apps.telemetry.services.alarms import alarm_acknowledge
from apps.telemetry.states import SOURCE_LABELS, AlarmLevel, AlarmState
from apps.tenancy.selectors import tenant_list
from apps.ticketing.selectors import category_list, path_names

# --- ways in ---------------------------------------------------------------------------------------------------


@require_GET
def admin_login(request: PortalRequest) -> HttpResponse:
    """The admin signs in where everybody does; who is signed in and no operator is told so."""
    wanted = next_url(request, "/admin/")
    if not request.actor.is_user:
        return redirect(f"{LOGIN}?{urlencode({'next': wanted})}")
    if request.actor.kind != "operator":
        raise Forbidden(_("This is for operators."))
    return redirect(wanted)


@page(plane="provider")
def home(request: PortalRequest) -> HttpResponse:
    """The overview; a tenant's people are shown the way to their tenants."""
    if request.actor.kind != "operator":
        tenants = tenants_of(request.user)
        if len(tenants) == 1:
            return redirect(f"/t/{tenants[0].schema_name}/")
        return render(request, "operator/my_tenants.html", {"tenants": tenants})
    topics = ["alarms", "cases", "pool"]
    found = home_figures(request.actor)
    # Who only looks begins with how the centre does; who acts, with what there is to do.
    leads = found["parts"][:1] == ["money"]
    return show(request, "operator/home", {**found, "money_leads": leads, "topics": topics, "live": topics})


@operator_page("tenancy.view")
def checklist(request: PortalRequest) -> HttpResponse:
    """What the centre still lacks; nothing where there is nothing."""
    return render(request, "operator/_checklist.html", {"rows": _cures(request)})


@operator_page("tenancy.view")
def checklist_next(request: PortalRequest) -> HttpResponse:
    """What is to be made next of what the centre lacks, for who has just made something; nothing where the reader can
    put nothing right."""
    found = next((cure for cure in _cures(request) if cure.is_possible), None)
    return render(request, "operator/_checklist_next.html", {"cure": found})


@dataclass(frozen=True, slots=True)
class Cure:
    """Something that is missing, and how the reader puts it right: in the role he is in, or in another that he
    holds."""

    lack: Lack
    is_open: bool
    role: Role | None

    @property
    def is_possible(self) -> bool:
        return self.is_open or self.role is not None


def _cures(request: PortalRequest) -> list[Cure]:
    found = []
    for lack in lacks():
        able = (role for role in request.held_roles if lack.permission in role.permissions)
        is_open = request.actor.may(lack.permission)
        found.append(Cure(lack, is_open, None if is_open else next(able, None)))
    return found


@operator_page("billing.view")
def revenue(request: PortalRequest) -> HttpResponse:
    """Rated use of this month over all tenants: by day, beside last month, and who gave most."""
    found = revenue_now()
    return render(request, "operator/_revenue.html", {"revenue": found, "option": trend_option(found.days)})


@operator_page("reports.view")
def sold(request: PortalRequest) -> HttpResponse:
    """What the pool had, what was sold of it, and what was used of that, over seven days."""
    return render(request, "operator/_sold.html", {"sold": sold_lately()})


# --- cases -----------------------------------------------------------------------------------------------------

_CASE_COLUMNS = (
    Column("no", gettext_lazy("Number"), sort="no", value="no"),
    Column("title", gettext_lazy("Title"), sort=lambda: localized("title_zh", "title_en"), value="title"),
    Column("state", gettext_lazy("State"), sort=ranked("state", read.STATES_IN_ORDER), value="state_label"),
    # Numbers are a tenant's own: its name stands under each, whichever columns are chosen.
    Column("tenant", gettext_lazy("Tenant"), sort="tenant__name", value="tenant.name", is_extra=True),
    Column(
        "organization",
        gettext_lazy("Organization"),
        sort="organization",
        value="organization",
        is_extra=True,
    ),
    Column("system", gettext_lazy("Business system"), sort="business_system", value="business_system"),
    Column("applicant", gettext_lazy("Applicant"), sort="applicant_name", value="applicant_name"),
    Column("created", gettext_lazy("Created at"), sort="created_at", value="created_at"),
)
CASES = PageList(*_CASE_COLUMNS, order="-created", places=("kind",), usual={"tab": "open"})
CASE_TICKETS = PageList(
    *_CASE_COLUMNS,
    Column("due", gettext_lazy("Due"), sort="due_at", value="due_at"),
    order="-created",
    places=("kind",),
    usual={"tab": "open"},
)


@operator_page(*INBOX)
def inbox(request: PortalRequest) -> HttpResponse:
    """The operators' approval tasks of all tenants (PLAT-TODO-1); each opens in its tenant."""
    chosen = cleaned(InboxForm(request.GET))
    context = {
        "chosen": chosen,
        "rows": paged(request, _asked(request, chosen)),
        "waiting": case_inbox(actor=request.actor).count(),
        "tenants": tenant_list(),
        "may_decide": request.actor.may("approvals.decide") and chosen["tab"] != "done",
        "live": ["cases"],
    }
    return show(request, "operator/inbox", context)


def _asked(request: PortalRequest, chosen: dict[str, str]) -> QuerySet[Case]:
    filters = {name: chosen[name] for name in ("search", "tenant")}
    return case_inbox(actor=request.actor, tab=chosen["tab"], filters=filters)


@require_POST
@operator_page("approvals.decide")
def inbox_decide(request: PortalRequest) -> HttpResponse:
    """Decide all that was ticked alike, each in its tenant and by itself (PLAT-TODO-5)."""
    given = cleaned(TogetherForm(request.POST))
    decided = tasks_decide_across(
        actor=request.actor,
        task_uids=given["chosen"],
        decision=given["decision"],
        comment=given["comment"],
    )
    decided_tell(request, given["decision"], decided)
    return go(request, "operator:inbox")


@operator_page("cases.view")
def cases(request: PortalRequest) -> HttpResponseBase:
    """Forms, orders, tickets and tasks of every tenant (PLAT-OPS-17, -18, -23)."""
    return _cases(request, cleaned(CasesForm(request.GET)), CASES)


@operator_page(*TICKETS)
def tickets(request: PortalRequest) -> HttpResponseBase:
    """Work tickets of every tenant: by tab, number, state, category and tenant (PLAT-TODO-9, PLAT-TODO-14)."""
    chosen = cleaned(CasesForm(request.GET)) | {"kind": CaseKind.TICKET}
    return _cases(request, chosen, CASE_TICKETS, is_tickets=True, categories=path_names(category_list()))


def _chosen_cases(request: PortalRequest, chosen: dict[str, Any]) -> QuerySet[Case]:
    if chosen["kind"] == CaseKind.TICKET:
        return case_tickets(actor=request.actor, tab=chosen["tab"], filters=chosen)
    return case_list(actor=request.actor, filters=chosen)


def _cases(
    request: PortalRequest, chosen: dict[str, Any], listing: PageList, **more: Any
) -> HttpResponseBase:
    """The cases that meet the conditions, as a page or, exactly these, as a file (PLAT-OPS-19)."""
    context = {
        "chosen": chosen,
        "kinds": CaseKind.choices,
        "states": read.STATES[CaseKind(chosen["kind"])].choices,
        "tenants": tenant_list(),
        "live": ["cases"],
    }
    rows = _chosen_cases(request, chosen)
    return show_list(request, "operator/cases", listing, rows, context | more, prepare=_name_states)


def _name_states(rows: Sequence[Case]) -> None:
    for row in rows:
        row.state_label = read.state_label(row.kind, row.state)  # type: ignore[attr-defined]


# --- the pool and its alarms -----------------------------------------------------------------------------------

# Each with its devices, and each of these with a table of its slices.
_NODES_PER_PAGE = 5


@operator_page("fleet.view")
def pool(request: PortalRequest) -> HttpResponse:
    """Nodes, devices and slices with what is held and what is delivered."""
    rows = paged(request, node_list(), _NODES_PER_PAGE)
    nodes = read.pool_named(list(rows))
    return show(request, "operator/pool", {"rows": rows, "nodes": nodes, "live": ["pool", "alarms"]})


ALARMS = PageList(
    Column("alarm", gettext_lazy("Alarm"), value="title"),
    Column(
        "level", gettext_lazy("Level"), sort=ranked("level", AlarmLevel.values), value="get_level_display"
    ),
    Column(
        "state", gettext_lazy("State"), sort=ranked("state", AlarmState.values), value="get_state_display"
    ),
    Column(
        "person",
        gettext_lazy("Acknowledged by"),
        sort="acknowledged_by__display_name",
        value="acknowledged_by",
        is_extra=True,
    ),
    Column(
        "source",
        gettext_lazy("Source"),
        sort="source",
        value=lambda row: SOURCE_LABELS.get(row.source, row.source),
    ),
    Column("count", gettext_lazy("Times raised"), sort="count", value="count", is_extra=True),
    Column("since", gettext_lazy("Since"), sort="fired_at", value="fired_at"),
    Column("until", gettext_lazy("Until"), sort="resolved_at", value="resolved_at", is_extra=True),
    usual={"state": "open", "days": 30},
    order="-since",
)


@operator_page("alarms.view")
def alarms(request: PortalRequest) -> HttpResponseBase:
    """Alarms as they come, with their trend (PLAT-OBS-11 to -13, PLAT-OBS-18)."""
    chosen = cleaned(AlarmsForm(request.GET))
    rows = read.alarm_filtered(**chosen)
    days = read.alarm_days(rows)
    context = {
        "chosen": chosen,
        "levels": AlarmLevel.choices,
        "counts": read.alarm_counts(),
        "option": alarm_option(days) if days else None,
        "acts": [ListAct(reverse("operator:acknowledge_chosen"), _("Acknowledge"), "bell-check")]
        if request.actor.may("alarms.acknowledge")
        else [],
        "live": ["alarms"],
    }
    return show_list(request, "operator/alarms", ALARMS, rows, context)


@require_POST
@operator_page("alarms.acknowledge")
def acknowledge(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Say that one looks after it; it stays open until its cause is gone."""
    row = alarm_acknowledge(actor=request.actor, alarm_uid=uid)
    messages.success(request, _("Acknowledged: %(alarm)s") % {"alarm": row})
    return go(request, "operator:alarms")


@require_POST
@operator_page("alarms.acknowledge")
def acknowledge_chosen(request: PortalRequest) -> HttpResponse:
    """Say of each of several alarms that one looks after it."""
    uids = chosen_rows(request)["chosen"]
    return act_on_each(
        request,
        alarm_list().filter(uid__in=uids),
        lambda row: alarm_acknowledge(actor=request.actor, alarm_uid=row.uid),
        back="/alarms/",
    )
