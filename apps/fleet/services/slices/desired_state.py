"""What a node is told: its desired slices, what was stored, what it may forget. Internal to the app's services."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q

from apps.fleet.models import GangSize, Node, Slice
from apps.fleet.services.container_saves import container_saves_wanted
from apps.fleet.services.secrets import secrets_unsealed
from apps.fleet.services.work_folders import desired_folders, folder_comes, folders_over, folders_send
from apps.fleet.session_keys import unseal
from apps.fleet.states import GOES_ON, Desired, MoveState, NodeState, SliceKind
from node_agent.protocol.fields import (
    HOST_DRIVER,
    LOG_CHUNK_BYTES,
    LOGS_PER_SYNC,
    PROTOCOL_VERSION,
    SLICES_PER_NODE,
    TERMINAL_STATES,
)
from node_agent.protocol.folders import DesiredFolder
from node_agent.protocol.metrics import METRICS_PER_SYNC
from node_agent.protocol.slices import (
    DesiredSession,
    DesiredSize,
    DesiredSlice,
    MoveTarget,
    SliceReport,
    WorkSpec,
)
from node_agent.protocol.sync import AgentConfig, DesiredRelease, SyncReply, SyncRequest

# An agent that sends this much at once may hold back output for the next time.
_LOG_BYTES_FULL = 1024 * 1024 - LOG_CHUNK_BYTES


def reply_make(
    node: Node,
    request: SyncRequest,
    taken: Mapping[str, Slice],
    *,
    now: datetime,
    is_fresh: bool,
    next_sync_s: float,
) -> SyncReply:
    """The answer, from the rows as they stand after everything that was told has been acted on."""
    running = {report.slice_uid for report in request.slices if report.state not in TERMINAL_STATES}
    rows = _rows(node, taken, running, now)
    if request.boot_id != node.boot_id:
        # A process that was replaced may go on with what it holds, but it starts nothing: its heir does.
        rows = []
    acked = [*taken.values(), *(row for row in rows if str(row.uid) not in taken)]
    return SyncReply(
        protocol=PROTOCOL_VERSION,
        server_time=now,
        next_sync_s=next_sync_s,
        desired=_desired_slices(
            rows, knows_folders=request.folders is not None, knows_networks=bool(request.node.network)
        ),
        usage_acks={str(row.uid): row.usage_seq for row in acked[:SLICES_PER_NODE]},
        log_acks={str(row.uid): row.log_next for row in acked[:SLICES_PER_NODE]},
        metric_acks={
            batch.slice_uid: batch.seq for batch in sorted(request.metrics, key=lambda one: one.seq)
        },
        forget=tuple(_forgettable(request, taken, now)) if is_fresh else (),
        unknown=tuple(report.slice_uid for report in request.slices if report.slice_uid not in taken),
        event_ack=node.event_seq if request.boot_id == node.boot_id else 0,
        config=_config(node, request),
        release=_release(node, request),
        folders_over=folders_over(node, request),
        folders_send=folders_send(node, request),
        containers_save=container_saves_wanted(node, request),
    )


def _config(node: Node, request: SyncRequest) -> AgentConfig | None:
    wanted = node.wanted_config
    if wanted is None or request.boot_id != node.boot_id or node.config_generation >= wanted["generation"]:
        return None
    return AgentConfig.model_validate(wanted)


def _release(node: Node, request: SyncRequest) -> DesiredRelease | None:
    wanted = node.wanted_release
    if wanted is None or request.boot_id != node.boot_id or wanted["version"] == node.agent_version:
        return None
    return DesiredRelease.model_validate(wanted)


def _rows(node: Node, taken: Mapping[str, Slice], running: set[str], now: datetime) -> list[Slice]:
    """The slices to speak of: those not final, and final ones that the node still runs (it is to stop them)."""
    if not taken:
        # What was made for it since its slices were locked is told next time.
        return []
    is_untold = any(row.told_at is None and row.final_at is None for row in taken.values())
    if is_untold and node.state in (NodeState.READY, NodeState.DRAINED):
        # Marked before they are read: one that is released meanwhile was never told.
        untold = Slice.plain.filter(~folder_comes(), node=node, told_at=None, final_at=None)
        untold.filter(desired=Desired.RUNNING).update(told_at=now)
    late = [taken[uid].pk for uid in running if uid in taken and taken[uid].is_final]
    rows = Slice.plain.filter(Q(final_at=None, told_at__isnull=False) | Q(pk__in=late), node=node)
    return list(rows.select_related("device").order_by("pk"))


def _desired_slices(
    rows: list[Slice], *, knows_folders: bool, knows_networks: bool
) -> tuple[DesiredSlice, ...]:
    if not rows:
        return ()
    sessions = [row.uid for row in rows if row.kind == SliceKind.SESSION]
    sending = (
        Slice.plain.filter(moves_from__in=sessions, move_state=MoveState.SENDING)
        if sessions
        else Slice.plain.none()
    )
    targets = {target.moves_from: target for target in sending.select_related("node")}
    places = _places(rows, has_gangs=knows_networks)
    folders = desired_folders(rows) if knows_folders else {}
    return tuple(
        _desired_slice(row, targets.get(row.uid), places.get(str(row.uid)), folders.get(row.pk))
        for row in rows[:SLICES_PER_NODE]
    )


def _places(rows: list[Slice], *, has_gangs: bool) -> dict[str, Any]:
    """By slice, of programs that are told: which of how many shares it is (ELA-906, ELA-505); `has_gangs`: and which
    gang it is of."""
    uids = {row.workload_uid for row in rows if row.kind == SliceKind.PROGRAM}
    found: dict[str, Any] = {}
    if uids:
        told = GangSize.objects.filter(workload_uid__in=uids).values_list("workload_uid", "places")
        for workload_uid, places in told:
            gang = {"gang": str(workload_uid)} if has_gangs else {}
            found |= {slice_uid: place | gang for slice_uid, place in places.items()}
    return found


def _desired_slice(
    row: Slice, target: Slice | None, place: Mapping[str, int] | None, folder: DesiredFolder | None
) -> DesiredSlice:
    is_stopped = row.is_final or row.desired == Desired.STOPPED
    limits = {"run_timeout_s": row.run_timeout_s, "idle_timeout_s": row.idle_timeout_s}
    return DesiredSlice(
        slice_uid=str(row.uid),
        # A slice that ended here while the node was away must outrank what the node last heard.
        generation=row.generation + (1 if row.is_final else 0),
        device_uid=row.device.uid,
        compute_percent=row.compute_percent,
        memory_mib=row.memory_mib,
        state=Desired.STOPPED.value if is_stopped else Desired.RUNNING.value,
        work=WorkSpec.model_validate({**row.work, **limits, "kind": row.kind}),
        session=_session(row, target),
        driver=row.driver,
        device_percent=row.device.room_percent,
        device_memory_mib=row.device.room_mib,
        size=DesiredSize.model_validate(place) if place else None,
        saves=is_stopped and row.stop_code in GOES_ON,
        **_host(row),
        secrets={} if is_stopped else _secrets(row),
        folder=folder,
    )


def _secrets(row: Slice) -> dict[str, str]:
    """What its program is given; told until its node says that it runs, and never after."""
    if not row.secrets or row.started_at is not None:
        return {}
    return secrets_unsealed(row.tenant_id, row.secrets)


def _host(row: Slice) -> dict[str, int]:
    """What it may use of the host; an agent of a release that knows nothing of that is told none."""
    if HOST_DRIVER not in row.device.slice_drivers:
        return {}
    told = {"host_cpu_milli": row.host_cpu_milli, "host_memory_mib": row.host_memory_mib}
    # Asked for only of nodes that say what they offer of it.
    return told | ({"scratch_disk_mib": row.scratch_disk_mib} if row.scratch_disk_mib else {})


def _session(row: Slice, target: Slice | None) -> DesiredSession | None:
    token = unseal(row.session_key) if row.kind == SliceKind.SESSION else ""
    if not token:
        return None
    ticket = unseal(row.ticket) if row.is_moving else ""
    return DesiredSession(token=token, ticket=ticket or None, move_to=_move_to(target))


def _move_to(target: Slice | None) -> MoveTarget | None:
    if target is None:
        return None
    return MoveTarget(
        slice_uid=str(target.uid),
        host=target.session.get("host") or target.node.address,
        port=target.session["port"],
        fingerprint=target.session["fingerprint"],
        ticket=unseal(target.ticket),
    )


def _forgettable(request: SyncRequest, taken: Mapping[str, Slice], now: datetime) -> Iterable[str]:
    """Slices that ended, of which the node has nothing left to tell."""
    is_full = len(request.logs) >= LOGS_PER_SYNC
    is_full |= sum(len(chunk.text.encode()) for chunk in request.logs) >= _LOG_BYTES_FULL
    is_full |= len(request.metrics) >= METRICS_PER_SYNC
    loud = {chunk.slice_uid for chunk in request.logs} | {batch.slice_uid for batch in request.metrics}
    for report in request.slices:
        row = taken.get(report.slice_uid)
        if row is None or report.state not in TERMINAL_STATES or report.slice_uid in loud or is_full:
            continue
        if _is_settled(row, report, now):
            yield report.slice_uid


def _is_settled(row: Slice, report: SliceReport, now: datetime) -> bool:
    if row.final_at is None:
        return False
    is_waited_for = now - row.final_at < timedelta(seconds=settings.WEIR_SLICE_LOST_AFTER_S)
    return row.usage_seq >= report.last_usage_seq or not is_waited_for
