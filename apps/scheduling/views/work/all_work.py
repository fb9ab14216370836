"""Work of all tenants, on the operator pages: what waits and why, what runs and where, what failed."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import urlencode
from django.utils.timezone import localtime
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from apps.identity.pages.access import cleaned, go, next_url, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.spreadsheet import CSV_TYPE, csv_lines
from apps.scheduling.forms.all_work import AllWorkForm, StopManyForm
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.selectors.places import Places, places_of
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
_CHUNK = 500


@require_GET
@operator_page(P.VIEW)
def workloads(request: PortalRequest) -> HttpResponse:
    """All work by tab, tenant, queue, kind and keyword; the newest first, of what waits the next first."""
    chosen = cleaned(AllWorkForm(request.GET))
    narrowed = _narrowed(chosen)
    rows = paged(request, _ordered(narrowed, chosen))
    for row in rows:
        row.places = places_of(row)
    context = {
        "rows": rows,
        "chosen": chosen,
        "tabs": _tabs(narrowed, chosen["tab"]),
        "tenants": tenant_list(),
        "queues": queue_list(),
        "kinds": WorkKind.choices,
        "is_narrowed": any(chosen[name] for name in ("search", "tenant", "queue", "kind")),
        "query": urlencode({name: value for name, value in chosen.items() if value}),
        "may_stop": request.actor.may(P.OPERATE),
        "live": ["pool"],
    }
    return show(request, "scheduling/all_work", context)


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
        rows = rows.filter(Q(no__icontains=word) | names | people)
    return rows


def _ordered(rows: QuerySet[Workload], chosen: dict[str, Any]) -> QuerySet[Workload]:
    if states := TAB_STATES.get(chosen["tab"]):
        rows = rows.filter(state__in=states)
    if chosen["tab"] == "waiting":
        return rows.order_by("position", "created_at", "pk")
    return rows.order_by("-created_at", "-pk")


def _tabs(rows: QuerySet[Workload], open_tab: str) -> list[dict[str, Any]]:
    """Each tab with its name and how many rows it has, in one query."""
    groups = rows.order_by().values_list("state").annotate(count=Count("pk"))
    counts = dict(groups)
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
            "count": sum(counts.get(state, 0) for state in TAB_STATES.get(code, counts)),
            "is_open": code == open_tab,
        }
        for code, name in names.items()
    ]


@require_GET
@operator_page(P.VIEW)
def export(request: PortalRequest) -> StreamingHttpResponse:
    """Exactly the rows that meet the present conditions, as CSV."""
    chosen = cleaned(AllWorkForm(request.GET))
    response = StreamingHttpResponse(_csv(_ordered(_narrowed(chosen), chosen)), content_type=CSV_TYPE)
    response["Content-Disposition"] = 'attachment; filename="weir-workloads.csv"'
    response["X-Accel-Buffering"] = "no"
    return response


def _csv(rows: QuerySet[Workload]) -> Iterator[str]:
    # Spreadsheets take a file for UTF-8 only with this mark.
    yield "\ufeff"
    yield from csv_lines(
        [[_("Number"), _("Name"), _("State"), _("Tenant"), _("Queue"), _("Submitted by"), _("Where"), _("Submitted"),
          _("Started"), _("Ended")]]
    )  # fmt: skip
    yield from csv_lines(_line(row) for row in rows.iterator(chunk_size=_CHUNK))


def _line(row: Workload) -> list[str]:
    where: Places = places_of(row)
    queue = row.queue.name_zh if (get_language() or "").startswith("zh") else row.queue.name_en
    times = [
        localtime(at).strftime("%Y-%m-%d %H:%M:%S") if at else ""
        for at in (row.created_at, row.started_at, row.ended_at)
    ]
    person = row.submitted_by.display_name if row.submitted_by else ""
    devices = ", ".join(f"{device.node.name} #{device.index}" for device in where.devices)
    return [row.no, row.name, str(row.get_state_display()), row.tenant.name, queue, person, devices, *times]


@require_POST
@operator_page(P.OPERATE)
def stop_many(request: PortalRequest) -> HttpResponse:
    """Stop those that were chosen, each by itself, for one reason; what has ended meanwhile stays as it is."""
    given = cleaned(StopManyForm(request.POST))
    wanted: list[UUID] = given["work"]
    rows = list(Workload.objects.across().filter(uid__in=wanted).select_related("tenant"))
    for row in rows:
        workload_stop(actor=request.actor, tenant=row.tenant, workload_uid=row.uid, reason=given["reason"])
    told = ngettext("%(n)s workload is being stopped.", "%(n)s workloads are being stopped.", len(rows))
    messages.success(request, told % {"n": len(rows)})
    return go(request, next_url(request, "/scheduling/workloads/"))
