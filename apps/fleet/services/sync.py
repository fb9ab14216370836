"""The one repeated exchange with a node: take what it observes, answer what is wanted (PLAT-OPS-22).

About a dozen queries however many slices there are. Rows are locked in the order node, slices, devices.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.errors import IdentityMismatch, IdentityTaken
from apps.fleet.events import (
    LogGrew,
    MetricsGrew,
    NodeClockOff,
    NodeDoubled,
    NodeMeasured,
    NodeReturned,
    ServiceObserved,
    SliceMeasured,
    SliceSaved,
    SliceSized,
    SliceStarted,
)
from apps.fleet.locks import node_slices_lock
from apps.fleet.models import LogChunk, Node, Slice
from apps.fleet.services.changed_rows import ChangedRows
from apps.fleet.services.clock_skew import clock_follow
from apps.fleet.services.device_capacity import Freed, hold_shrink, holds_release
from apps.fleet.services.nodes.discovery import MEASURE_EVERY, devices_observe
from apps.fleet.services.nodes.logs import events_take, logs_take
from apps.fleet.services.nodes.metrics import metrics_take
from apps.fleet.services.slices.desired_state import reply_make
from apps.fleet.services.slices.moves import move_follow
from apps.fleet.services.slices.observed_state import (
    MEASURE_FIELDS,
    STATE_FIELDS,
    slice_has_shrunk,
    slice_observe,
)
from apps.fleet.services.slices.slice_termination import ended_tell, slice_close, slice_shrunk
from apps.fleet.services.slices.usage import usage_take
from apps.fleet.services.work_folders import folders_follow
from apps.fleet.states import NODE, NodeState
from apps.kernel.actor import Actor
from apps.kernel.errors import Forbidden, Unauthenticated
from apps.kernel.events import Event, emit
from apps.kernel.service import service
from node_agent.protocol.fields import TERMINAL_STATES
from node_agent.protocol.sync import SyncReply, SyncRequest

_BOOTS_KEPT = 16
# How long an agent process may still be heard after another has taken over.
_FAREWELL = timedelta(seconds=30)


@dataclass(slots=True)
class _Turn:
    """What one sync changed, in memory, and what is to be told of it."""

    node: Node
    now: datetime
    is_fresh: bool
    rows: dict[str, Slice] = field(default_factory=dict)
    # The node, and what is measured of its slices, as they were read.
    news: ChangedRows[Node] = field(default_factory=lambda: ChangedRows((), ()))
    measures: ChangedRows[Slice] = field(default_factory=lambda: ChangedRows((), ()))
    # The other ends of moves that one of the rows is an end of.
    partners: list[Slice] = field(default_factory=list)
    changed: list[Slice] = field(default_factory=list)
    ended: list[Slice] = field(default_factory=list)
    begun: list[Slice] = field(default_factory=list)
    freed: list[Freed] = field(default_factory=list)
    closed: list[Slice] = field(default_factory=list)
    chunks: list[LogChunk] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


@service(recorded=False)
def node_sync(*, actor: Actor, request: SyncRequest) -> SyncReply:
    """Take in a node's message and answer with what is wanted of it.

    The same message twice changes nothing more. One that was overtaken (an earlier number, or from an agent
    process that a later one replaced) still delivers usage and output, but its observations are ignored.
    """
    if actor.kind != "agent" or not actor.node_uid:
        raise Forbidden()
    turn = _turn_open(actor, request)
    _take_reports(turn, request)
    _take_usage(turn, request)
    turn.chunks, grown = logs_take(request.logs, turn.rows)
    turn.events += [
        LogGrew(workload_uid=uid) for uid in sorted({str(turn.rows[s].workload_uid) for s in grown})
    ]
    grown_of = metrics_take(request.metrics, turn.rows, turn.now)
    turn.events += [MetricsGrew(workload_uid=str(uid)) for uid in sorted(grown_of)]
    turn.closed = [row for row in turn.rows.values() if slice_close(row, now=turn.now)]
    if request.boot_id == turn.node.boot_id:
        turn.events += events_take(turn.node, request.events, turn.rows, now=turn.now)
    _save(turn)
    _moves(turn, actor)
    folders_follow(turn.begun, actor)
    for event in turn.events:
        emit(event, actor=actor)
    ended_tell(turn.closed, actor=actor)
    holds_release(turn.ended, turn.freed)
    if turn.is_fresh:
        devices_observe(turn.node, request.devices, actor=actor, now=turn.now)
    return reply_make(
        turn.node,
        request,
        turn.rows,
        now=turn.now,
        is_fresh=turn.is_fresh,
        next_sync_s=settings.WEIR_AGENT_SYNC_S,
    )


@service(recorded=False)
def node_doubled(*, actor: Actor) -> None:
    """Note that a second agent process speaks with a node's credential, and was refused."""
    rows = Node.objects.select_for_update(no_key=True).filter(uid=actor.node_uid)
    node = rows.first()
    if node is None:
        return
    is_news = node.doubled_at is None
    rows.update(doubled_at=timezone.now())
    if is_news:
        emit(NodeDoubled(node_uid=node.uid, name=node.name, is_over=False), actor=actor)


def _turn_open(actor: Actor, request: SyncRequest) -> _Turn:
    rows = Node.objects.exclude(state=NodeState.REMOVED).select_for_update(no_key=True)
    node = rows.filter(uid=actor.node_uid).first()
    if node is None:
        raise Unauthenticated(_("This node was removed."), cure=_("Join it again."))
    if request.node.name != node.name:
        raise IdentityMismatch(
            _("This credential is node %(node)s's, not %(given)s's.")
            % {"node": node.name, "given": request.node.name}
        )
    turn = _Turn(node=node, now=timezone.now(), is_fresh=_is_fresh(node, request))
    turn.news = ChangedRows((node,), _NODE_FIELDS)
    _only_one_check(turn, request)
    if turn.is_fresh:
        _node_observe(turn, request, actor)
    turn.rows, turn.partners = _rows_locked(node, request)
    turn.measures = ChangedRows(turn.rows.values(), MEASURE_FIELDS)
    return turn


def _only_one_check(turn: _Turn, request: SyncRequest) -> None:
    """A process that was replaced may finish a sentence; one that goes on talking is a second agent."""
    node = turn.node
    if request.boot_id in node.boots_past and node.boot_at and turn.now - node.boot_at > _FAREWELL:
        raise IdentityTaken(
            _("Another agent has spoken for node %(node)s since %(at)s.")
            % {"node": node.name, "at": node.boot_at.isoformat(timespec="seconds")}
        )


def _is_fresh(node: Node, request: SyncRequest) -> bool:
    if request.boot_id == node.boot_id:
        return request.seq > node.sync_seq
    return request.boot_id not in node.boots_past


def _node_observe(turn: _Turn, request: SyncRequest, actor: Actor) -> None:
    node, info = turn.node, request.node
    if request.boot_id != node.boot_id:
        node.boots_past = [*node.boots_past, node.boot_id][-_BOOTS_KEPT:] if node.boot_id else []
        node.boot_id, node.boot_at, node.event_seq = request.boot_id, turn.now, 0
    if info.power_w is not None and _is_due(node, turn.now):
        turn.events.append(NodeMeasured(node.uid, turn.now, info.power_w, info.power_source))
    node.sync_seq, node.last_seen_at = request.seq, turn.now
    node.clock_offset_s = round((request.sent_at - turn.now).total_seconds(), 3)
    if clock_follow(node):
        turn.events.append(NodeClockOff(node.uid, node.name, node.clock_shift_s))
    node.info, node.agent_version = info.model_dump(mode="json"), info.agent_version
    node.address, node.components = info.address, dict(info.components)
    node.config_generation = info.config_generation
    node.power_w, node.power_source = info.power_w, info.power_source
    if node.state == NodeState.LOST:
        NODE.move(node, NodeState.DRAINED if node.is_drained else NodeState.READY, actor=actor, lost_at=None)
        turn.events.append(NodeReturned(node_uid=node.uid, name=node.name))


def _is_due(node: Node, now: datetime) -> bool:
    """Whether another span of a few seconds has begun since the node was heard."""
    span_s = MEASURE_EVERY.total_seconds()
    return node.last_seen_at.timestamp() // span_s != now.timestamp() // span_s


_NODE_FIELDS = [
    "boot_id", "boot_at", "boots_past", "sync_seq", "last_seen_at", "clock_offset_s", "clock_shift_s", "info",
    "agent_version", "address", "components", "config_generation", "power_w", "power_source", "event_seq",
]  # fmt: skip


def _named(request: SyncRequest) -> set[str]:
    spoken = (request.slices, request.usage, request.logs, request.events, request.metrics)
    return {report.slice_uid for reports in spoken for report in reports if report.slice_uid}


def _ours(uids: Iterable[str]) -> set[UUID]:
    """Those that can be a slice of ours."""
    return {uid for uid in map(_uid, uids) if uid is not None}


def _uid(text: str) -> UUID | None:
    try:
        uid = UUID(text)
    except ValueError:
        return None
    return uid if str(uid) == text else None


def _rows_locked(node: Node, request: SyncRequest) -> tuple[dict[str, Slice], list[Slice]]:
    """The node's slices that are open or spoken of, and the other ends of their moves. What another node says of a
    slice is never heard."""
    ended = _ours(report.slice_uid for report in request.slices if report.state in TERMINAL_STATES)
    locked = node_slices_lock(node, named=_ours(_named(request)), ended=ended)
    found = {str(row.uid): row for row in locked if row.node_id == node.pk}
    for row in found.values():
        row.node = node
    return found, [row for row in locked if row.node_id != node.pk]


def _moves(turn: _Turn, actor: Actor) -> None:
    """The next step of every move that one of the node's slices is an end of."""
    known = {row.uid: row for row in (*turn.rows.values(), *turn.partners)}
    for target in [row for row in known.values() if row.is_moving]:
        source = known.get(target.moves_from)
        if source is not None:
            move_follow(source, target, actor=actor, now=turn.now)


def _take_reports(turn: _Turn, request: SyncRequest) -> None:
    if not turn.is_fresh:
        return
    # In the order of workloads, as everywhere: who hears of this locks them.
    for report in sorted(request.slices, key=lambda report: _workload(turn, report.slice_uid)):
        row = turn.rows.get(report.slice_uid)
        if row is None or report.generation > row.generation:
            continue
        had_started, was_final, size_step = row.started_at is not None, row.is_final, row.size_step
        saved_at, served = row.checkpoint_at, row.service
        if slice_observe(row, report, now=turn.now):
            turn.changed.append(row)
        if not had_started and row.started_at is not None and row.moves_from is None:
            turn.events.append(_started(row))
            turn.begun.append(row)
        if row.checkpoint_at is not None and row.checkpoint_at != saved_at:
            turn.events.append(SliceSaved(str(row.uid), str(row.workload_uid), row.checkpoint_at))
        if row.service != served:
            turn.events.append(ServiceObserved(workload_uid=str(row.workload_uid)))
        if row.size_step != size_step:
            turn.events.append(SliceSized(slice_uid=str(row.uid), workload_uid=str(row.workload_uid)))
        if row.is_final and not was_final:
            turn.ended.append(row)
            turn.events += [slice_shrunk(row)] if row.holds_more else []
        elif slice_has_shrunk(row, report):
            turn.freed.append(hold_shrink(row))
            turn.events.append(slice_shrunk(row))
        if row.measured_at == turn.now and not row.is_moving:
            turn.events.append(_measured(row))


def _workload(turn: _Turn, slice_uid: str) -> str:
    row = turn.rows.get(slice_uid)
    return str(row.workload_uid) if row else ""


def _started(row: Slice) -> SliceStarted:
    assert row.started_at is not None
    return SliceStarted(slice_uid=str(row.uid), workload_uid=str(row.workload_uid), at=row.started_at)


def _measured(row: Slice) -> SliceMeasured:
    assert row.measured_at is not None
    return SliceMeasured(
        workload_uid=str(row.workload_uid),
        slice_uid=str(row.uid),
        at=row.measured_at,
        delivered_percent=row.delivered_percent,
        memory_used_mib=row.memory_used_mib,
    )


def _take_usage(turn: _Turn, request: SyncRequest) -> None:
    report_id = f"{request.boot_id}/{request.seq}"[:80]
    turn.events += usage_take(request.usage, turn.rows, report_id=report_id, now=turn.now)


def _save(turn: _Turn) -> None:
    """Before anything is told: who hears of it may change the same rows."""
    turn.node.save(update_fields=[*turn.news.names(), "updated_at"] if turn.is_fresh else ["event_seq"])
    stated = {row.pk: row for row in (*turn.changed, *turn.closed)}
    Slice.plain.bulk_update(stated.values(), STATE_FIELDS)
    turn.measures.save(Slice.plain)
    LogChunk.objects.bulk_create(turn.chunks)
