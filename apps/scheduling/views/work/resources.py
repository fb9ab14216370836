"""My resources: where they run, what they hold and use, what they print."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from apps.billing.selectors.charges import usage_list
from apps.billing.selectors.costs import workload_cost
from apps.fleet.models import Slice
from apps.fleet.selectors import log_read, slice_list
from apps.fleet.types import SessionConnection
from apps.identity.pages.access import cleaned, page, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import TenantRequest
from apps.kernel.actor import Actor
from apps.kernel.translatable import localized
from apps.scheduling.addresses import web_origin
from apps.scheduling.forms.submit import LogForm, ResourcesForm
from apps.scheduling.models import Workload, WorkloadArray
from apps.scheduling.selectors.arrays import array_list, arrays_as_one, progress_of
from apps.scheduling.selectors.entitlements.hourly_price import hourly_price
from apps.scheduling.selectors.entitlements.limits import LimitLine, limit_lines
from apps.scheduling.selectors.entitlements.resource_tickets import queue_list_of
from apps.scheduling.selectors.executions import may_execute
from apps.scheduling.selectors.forecasts.forecast import expectation_of
from apps.scheduling.selectors.places import places_of
from apps.scheduling.selectors.timeline import start_estimate_of, timeline
from apps.scheduling.selectors.usage.delivered import delivered_lines
from apps.scheduling.selectors.usage.model_usage import quota_list
from apps.scheduling.selectors.web_pages import may_open_web, service_seen
from apps.scheduling.selectors.workloads import (
    node_name,
    node_ready_names,
    session_shares,
    workload_get,
    workload_list,
    workload_reason,
)
from apps.scheduling.states import (
    HOLDING_STATES,
    OPEN_STATES,
    WorkKind,
    WorkloadState,
)
from apps.scheduling.views.work.charts import use_option
from apps.tenancy.models import Tenant

LOG_PIECE_BYTES = 64 * 1024
USAGE_SHOWN = 120


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A slice of a resource and, where there are several, which share and replica it is: both counted from 0."""

    slice: Slice
    share: int | None
    replica: int | None


RESOURCES = PageList(
    Column("name", gettext_lazy("Resource"), sort=lambda: localized("name_zh", "name_en"), value="name"),
    Column("no", gettext_lazy("Number"), sort="no", value="no", is_extra=True),
    Column("kind", gettext_lazy("Kind"), sort="kind", value="get_kind_display", is_extra=True),
    Column(
        "state", gettext_lazy("State"), sort=ranked("state", WorkloadState.values), value="get_state_display"
    ),
    Column(
        "person",
        gettext_lazy("Submitted by"),
        sort="submitted_by__display_name",
        value="submitted_by.display_name",
        is_extra=True,
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
    Column("made", gettext_lazy("Submitted"), sort="created_at", value="created_at", is_extra=True),
    Column("started", gettext_lazy("Started"), sort="started_at", value="started_at"),
    Column("ended", gettext_lazy("Ended"), sort="ended_at", value="ended_at", is_extra=True),
)


@page("resources.view")
def resources(request: TenantRequest) -> HttpResponseBase:
    """The tenant's resources with node, device, share and state (PLAT-SVC-17, PLAT-SVC-18)."""
    chosen = cleaned(ResourcesForm(request.GET))
    tenant = request.entered_tenant
    rows = _chosen(workload_list(tenant, actor=request.actor), chosen, request.actor)
    topic = f"tenant.{tenant.schema_name}.resources"
    context = {
        "chosen": chosen,
        "array": _array(request, chosen["array"]),
        "states": WorkloadState.choices,
        "kinds": WorkKind.choices,
        "queues": [row.code for row in queue_list_of(tenant, request.actor.user_id)],
        "quotas": quota_list(tenant),
        "lines": _limits(tenant, request.actor),
        "portal": request.build_absolute_uri("/").rstrip("/"),
        "topic": topic,
        "live": [topic],
    }
    return show_list(request, "scheduling/resources", RESOURCES, rows, context, prepare=_described)


def _described(rows: Sequence[Workload]) -> None:
    progress = progress_of({row.array_id for row in rows if row.array_id is not None})
    for row in rows:
        row.places = places_of(row)  # type: ignore[attr-defined]
        row.progress = progress.get(row.array_id) if row.array_id else None  # type: ignore[attr-defined]


def _array(request: TenantRequest, no: str) -> WorkloadArray | None:
    """The array whose tasks are listed, with how far it is."""
    rows = array_list(request.entered_tenant, actor=request.actor)
    return rows.filter(no=no).first() if no else None


def _limits(tenant: Tenant, actor: Actor) -> list[LimitLine]:
    """What the reader may hold and by which tier; nothing for an operator, who is only looking (PLAT-CLU-31)."""
    return limit_lines(tenant, actor.user_id, timezone.now()) if actor.kind == "user" else []


def _chosen(rows: QuerySet[Workload], chosen: dict[str, Any], actor: Actor) -> QuerySet[Workload]:
    wanted = {
        "state": chosen["state"],
        "kind": chosen["kind"],
        "queue__code": chosen["queue"],
        "array__no": chosen["array"],
    }
    rows = rows.filter(**{name: value for name, value in wanted.items() if value})
    if word := chosen["search"]:
        rows = rows.filter(Q(no__icontains=word) | Q(name_en__icontains=word) | Q(name_zh__icontains=word))
    elif not (chosen["state"] or chosen["array"]):
        # Who looks for no one of them finds an array as one.
        rows = arrays_as_one(rows)
    return rows.filter(submitted_by=actor.user_id) if chosen["mine"] else rows


def _resource(request: TenantRequest, uid: UUID) -> tuple[Workload, dict[str, Any]]:
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    context = {
        "resource": row,
        "reason": workload_reason(row),
        "parts": _parts(row),
        "local_node": node_name(row.local_node),
        "service": service_seen(row),
        "address": web_origin(request, row.uid),
        # The values of variables may be keys: they are shown to who set them, their names to all who see the work.
        "is_own": request.actor.kind == "user" and row.submitted_by_id == request.actor.user_id,
        **_acts(request, row),
    }
    return row, context


def _parts(row: Workload) -> list[SliceRow]:
    """Those that hold their share first: of a session that moved, or work that was lost, there are older ones."""
    shares = {part.slice_uid: part.share for part in row.allocations.all()} if row.shares > 1 else {}
    per = row.shares_per_replica
    parts = [
        SliceRow(each, share, None if share is None or per == 1 else share // per)
        for each in slice_list(workload_uids=[row.uid])
        for share in [shares.get(each.uid)]
    ]
    return sorted(parts, key=lambda part: (part.slice.is_final, part.share or 0))


def _acts(request: TenantRequest, row: Workload) -> dict[str, object]:
    """What the reader may do with it."""
    may = request.actor.may("resources.operate")
    is_open = may and row.state in OPEN_STATES
    is_aside = may and row.state == WorkloadState.SUSPENDED
    is_free = row.is_direct and not row.spec and not row.whole_cards
    if row.environment is not None and row.environment.is_fixed:
        is_free = False
    runs = row.state in (WorkloadState.PLACED, WorkloadState.RUNNING)
    return {
        "may_stop": (is_open or is_aside) and (row.is_direct or request.actor.kind == "operator"),
        "may_resize": is_open and is_free,
        "may_extend": (is_open or is_aside) and row.is_direct and row.run_timeout_s is not None,
        "may_migrate": is_open and row.kind == WorkKind.SESSION,
        "may_suspend": is_open,
        "may_resume": is_aside,
        "may_requeue": may and row.is_direct and runs,
        "may_scale": is_open and row.is_direct and (row.min_shares is not None or not runs),
        "may_open_web": may_open_web(request.actor, row) and not row.is_final,
        "may_open_terminal": may_execute(request.actor, row) and may and row.state == WorkloadState.RUNNING,
        "may_save_image": may_execute(request.actor, row)
        and bool(row.work.get("image"))
        and row.state == WorkloadState.RUNNING
        and request.actor.may("images.use")
        and may,
        "may_run_again": may
        and row.is_direct
        and row.kind == WorkKind.PROGRAM
        and request.actor.kind == "user",
        "may_see_key": may and row.kind == WorkKind.SESSION and row.submitted_by_id == request.actor.user_id,
        "nodes": node_ready_names() if is_open and row.kind == WorkKind.SESSION else [],
    }


@page("resources.view")
def resource(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One resource: its slices, its output as it grows, its measured use and its cost so far."""
    row, context = _resource(request, uid)
    tenant, parts = request.entered_tenant, context["parts"]
    usage = list(usage_list(tenant=tenant, workload_uid=row.uid)[:USAGE_SHOWN])
    context |= {
        "usage": usage,
        "delivered": delivered_lines(tenant, row, [part.slice for part in context["parts"]]),
        **_outputs(request, row, parts),
        "chart": use_option(usage[::-1]),
        "cost": workload_cost(tenant=tenant, workload_uid=row.uid),
        "hourly": _hourly(row),
        "lines": timeline(row),
        "estimate": start_estimate_of(row),
        "expected": expectation_of(row) if row.state == WorkloadState.PENDING else None,
        "live": [f"{kind}.{row.uid}" for kind in ("workload", "log", "metrics")]
        + [f"tenant.{tenant.schema_name}.billing"],
    }
    return show(request, "scheduling/resource", context)


def _hourly(row: Workload) -> Decimal | None:
    """What direct work costs an hour as it is now; None once it has ended, and where its order says so."""
    if not row.is_direct or row.is_final:
        return None
    return hourly_price(row, row.active_shares if row.state in HOLDING_STATES else None)


@page("resources.view")
def brief(request: TenantRequest, uid: UUID) -> HttpResponse:
    """A resource in a few lines, for pages about its order."""
    _row, context = _resource(request, uid)
    return render(request, "scheduling/_brief.html", context)


@never_cache
@page("resources.operate")
def session_key(request: TenantRequest, uid: UUID) -> HttpResponse:
    """How a script elsewhere reaches the reader's own session: its key, and the lines to paste."""
    row, shares = session_shares(actor=request.actor, tenant=request.entered_tenant, uid=uid)
    shown = [(share, _address(share), _line(share)) for share in shares]
    return show(request, "scheduling/session_key", {"resource": row, "shares": shown})


def _address(share: SessionConnection) -> str:
    """Where a share of a session listens; empty before it does."""
    return f"{share.host}:{share.port}" if share.host and share.port and share.fingerprint else ""


def _line(share: SessionConnection) -> str:
    """What a script elsewhere pastes to compute on a share."""
    reach = f'"{share.host}", {share.port}, "{share.fingerprint}", "{share.token}"'
    return (
        "import weir.torch; from weir.link.remote import connect; "
        f"device = weir.torch.attach(connect({reach}))"
    )


@page("resources.view")
def log(request: TenantRequest, uid: UUID) -> HttpResponse:
    """What the work printed from a byte on, and the place where the next piece will be put."""
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    asked = cleaned(LogForm(request.GET))
    offset, whose = asked["offset"] or 0, {"share": asked["share"], "attempt": asked["attempt"]}
    piece = log_read(workload_uid=row.uid, offset=offset, limit=LOG_PIECE_BYTES, **whose)
    context = {"resource": row, "piece": piece, "offset": offset}
    return render(
        request, "scheduling/_log.html", context | {"next": _log_url(row, piece.next_offset, **whose)}
    )


@page("resources.view")
def log_file(request: TenantRequest, uid: UUID) -> StreamingHttpResponse:
    """All that the work printed, of the share and attempt that are named, as a file."""
    row = workload_get(request.entered_tenant, uid, actor=request.actor)
    asked = cleaned(LogForm(request.GET))
    pieces = _log_pieces(row, share=asked["share"], attempt=asked["attempt"])
    response = StreamingHttpResponse(pieces, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{row.no}.log"'
    response["X-Accel-Buffering"] = "no"
    return response


def _log_pieces(row: Workload, **whose: int | None) -> Iterator[str]:
    """What is there now, to its end: of work that goes on printing no more is waited for."""
    offset = 0
    while True:
        piece = log_read(workload_uid=row.uid, offset=offset, limit=LOG_PIECE_BYTES, **whose)
        yield piece.text
        if piece.ended or piece.next_offset == offset:
            return
        offset = piece.next_offset


def _log_url(row: Workload, offset: int, **whose: int | None) -> str:
    """Where its output is read on, of the share and attempt that are named."""
    return f"{reverse('workloads:log', args=[row.uid])}?{urlencode({'offset': offset} | _named(whose))}"


def _log_file_url(row: Workload, **whose: int | None) -> str:
    """Where the same output is had as a file."""
    return f"{reverse('workloads:log_file', args=[row.uid])}?{urlencode(_named(whose))}"


def _named(whose: Mapping[str, int | None]) -> dict[str, int]:
    return {name: number for name, number in whose.items() if number is not None}


def _outputs(request: TenantRequest, row: Workload, slices: Sequence[SliceRow]) -> dict[str, Any]:
    """Which outputs it has, and which of them is shown: unless another is asked for, that of the last attempt's first
    share."""
    parts = {(each.slice.share, each.slice.attempt) for each in slices}
    if not parts:
        return {"log_url": _log_url(row, 0), "log_file_url": _log_file_url(row)}
    asked = cleaned(LogForm(request.GET))
    share = asked["share"] if asked["share"] is not None else min(parts)[0]
    attempt = asked["attempt"] or max(attempt for _share, attempt in parts)
    return {
        "log_shares": sorted({share for share, _attempt in parts}),
        "log_attempts": sorted({attempt for _share, attempt in parts}),
        "log_share": share,
        "log_attempt": attempt,
        "log_url": _log_url(row, 0, share=share, attempt=attempt),
        "log_file_url": _log_file_url(row, share=share, attempt=attempt),
    }
