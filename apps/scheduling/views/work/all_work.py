"""Work of all tenants, on the operator pages: what waits and why, what runs and where, what failed."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from apps.identity.pages.access import cleaned, operator_page
from apps.identity.pages.lists.acts import ChosenForReasonForm, ListAct, act_on_each, chosen_rows
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import found_once, show_list
from apps.identity.pages.requests import PortalRequest
from apps.kernel.counting import badge_counts
from apps.kernel.translatable import localized
from apps.scheduling.forms.all_work import AllWorkForm
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.selectors.places import places_of
from apps.scheduling.selectors.workloads import queue_list, workload_list_across
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.states import WorkKind, WorkloadState
from apps.tenancy.selectors import tenant_list

TAB_STATES: dict[str, Sequence[str]] = {
    "waiting": (WorkloadState.PENDING, WorkloadState.SUSPENDED),
    "running": (WorkloadState.PLACED, WorkloadState.RUNNING, WorkloadState.STOPPING),
    "failed": (WorkloadState.FAILED, WorkloadState.LOST),
    "finished": (WorkloadState.FINISHED,),
}


WORKLOADS = PageList(
    Column("name", gettext_lazy("Workload"), sort=lambda: localized("name_zh", "name_en"), value="name"),
    Column("no", gettext_lazy("Number"), sort="no", value="no", is_extra=True),
    Column("kind", gettext_lazy("Kind"), sort="kind", value="get_kind_display", is_extra=True),
    Column(
        "state", gettext_lazy("State"), sort=ranked("state", WorkloadState.values), value="get_state_display"
    ),
    # Stands under each name beside the number, whichever columns are chosen: numbers are a tenant's own.
    Column("tenant", gettext_lazy("Tenant"), sort="tenant__name", value="tenant.name", is_extra=True),
    Column(
        "person",
        gettext_lazy("Submitted by"),
        sort="submitted_by__display_name",
        value="submitted_by.display_name",
    ),
    Column(
        "queue",
        gettext_lazy("Queue"),
        sort=lambda: localized("queue__name_zh", "queue__name_en"),
        value=lambda row: localized(row.queue.name_zh, row.queue.name_en),
    ),
    Column("place", gettext_lazy("Where, or why not yet"), value=lambda row: row.places.text),
    Column(
        "share",
        gettext_lazy("Share"),
        sort=("compute_percent", "memory_mib"),
        value="compute_percent",
        unit="%",
    ),
    Column("submitted", gettext_lazy("Submitted"), sort="created_at", value="created_at"),
    Column("started", gettext_lazy("Started"), sort="started_at", value="started_at", is_extra=True),
    Column("ended", gettext_lazy("Ended"), sort="ended_at", value="ended_at", is_extra=True),
)
_STOP = ListAct(
    reverse_lazy("scheduling_admin:workloads_stop"),
    gettext_lazy("Stop"),
    "player-stop",
    confirm=gettext_lazy("Stop the chosen work? What it has not saved is lost."),
    is_danger=True,
    asks_reason=True,
)


@require_GET
@operator_page(P.VIEW)
def workloads(request: PortalRequest) -> HttpResponseBase:
    """All work by tab, tenant, queue, kind and keyword; the newest first, of what waits the next first."""
    chosen = cleaned(AllWorkForm(request.GET))
    narrowed = _narrowed(chosen)
    context = {
        "chosen": chosen,
        "tabs": _tabs(narrowed, chosen["tab"]),
        "tenants": tenant_list(),
        "queues": queue_list(),
        "kinds": WorkKind.choices,
        "acts": [_STOP] if request.actor.may(P.OPERATE) else [],
        "live": ["pool"],
    }
    rows = _ordered(narrowed, chosen)
    return show_list(request, "scheduling/all_work", WORKLOADS, rows, context, prepare=_place)


def _place(rows: Sequence[Workload]) -> None:
    for row in rows:
        row.places = places_of(row)  # type: ignore[attr-defined]


def _narrowed(chosen: dict[str, Any]) -> QuerySet[Workload]:
    """What meets the conditions beside the tab."""
    wanted = {
        "tenant__schema_name": chosen["tenant"],
        "queue__code": chosen["queue"],
        "kind": chosen["kind"],
    }
    rows = workload_list_across().filter(**{name: value for name, value in wanted.items() if value})
    if word := chosen["search"]:
        names = Q(name_en__icontains=word) | Q(name_zh__icontains=word)
        people = Q(submitted_by__username__icontains=word) | Q(submitted_by__display_name__icontains=word)
        rows = found_once(rows.filter(Q(no__icontains=word) | names | people))
    return rows


def _ordered(rows: QuerySet[Workload], chosen: dict[str, Any]) -> QuerySet[Workload]:
    if states := TAB_STATES.get(chosen["tab"]):
        rows = rows.filter(state__in=states)
    if chosen["tab"] == "waiting":
        return rows.order_by("position", "created_at", "pk")
    return rows.order_by("-created_at", "-pk")


def _tabs(rows: QuerySet[Workload], open_tab: str) -> list[dict[str, Any]]:
    """Each tab with its name and how many rows it has, as a badge says it, in one query."""
    counts = badge_counts({code: rows.filter(state__in=states) for code, states in TAB_STATES.items()})
    names = {
        "": _("All"),
        "waiting": _("Waiting"),
        "running": _("Running"),
        "failed": _("Failed"),
        "finished": _("Finished"),
    }
    return [
        {
            "code": code,
            "name": name,
            # Each state is on one of the other tabs.
            "count": counts.get(code, sum(counts.values())),
            "is_open": code == open_tab,
        }
        for code, name in names.items()
    ]


@require_POST
@operator_page(P.OPERATE)
def stop_many(request: PortalRequest) -> HttpResponse:
    """Stop those that were chosen, each by itself, for one reason; what has ended meanwhile stays as it is."""
    given = chosen_rows(request, ChosenForReasonForm)
    return act_on_each(
        request,
        Workload.objects.across().filter(uid__in=given["chosen"]).select_related("tenant"),
        lambda row: workload_stop(
            actor=request.actor, tenant=row.tenant, workload_uid=row.uid, reason=given["reason"]
        ),
        back="/scheduling/workloads/",
        named=lambda row: row.no,
    )
