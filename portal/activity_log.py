"""What happens, as lines of the pool's log (POOL-12.18): one sentence for each event and each operator's act.

The words are English like those of every other component's log; who reads filters by level, task, node and time.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from django.utils import translation

from apps.centers import events as centers
from apps.fleet import events as fleet
from apps.fleet.models import Node
from apps.kernel.actor import Act, Actor
from apps.kernel.events import Event
from apps.kernel.translatable import message_text
from apps.rollouts import events as rollouts
from apps.scheduling import events as scheduling
from apps.scheduling.models import Workload
from apps.telemetry import events as telemetry
from apps.telemetry.selectors import alarm_get
from apps.telemetry.services.logs import logs_add
from apps.telemetry.types import LogLine

# Acts on these are the pool's own affairs; all others are in the operation log only.
_KINDS = {
    "node", "device", "workload", "environment", "queue", "scheduling_policy", "resource_group", "spec", "rollout",
    "release", "release_key", "alarm_rule", "alarm_route", "center", "resource_spec",
}  # fmt: skip
# Told by an event of their own, or by each share of many in every cycle.
_TOLD = {
    "workload_submit", "workload_request", "queue_ensure", "device_hold", "device_release", "slice_started",
    "slice_ended",
}  # fmt: skip
_ALARM_LEVELS = {"critical": "critical", "major": "error", "minor": "warning", "notice": "info"}


def keep(event: Event, actor: Actor) -> None:
    """Write an event down in the same transaction."""
    logs_add(actor=actor, lines=LINES[type(event)](event))


def act_keep(act: Act) -> None:
    """Write down what somebody did to the pool, and where a share was placed."""
    if act.name == "slice_desire":
        detail = act.detail
        line = _task(
            detail.get("workload", ""), f"share {act.subject_id} placed on {detail.get('device', '')}"
        )
    elif act.subject_kind in _KINDS and act.name not in _TOLD:
        text = f"{act.name} {act.subject_kind} {act.subject_id}{_figures(act.detail)} by {act.actor.name}"
        is_task = act.subject_kind == "workload"
        node = str(act.detail.get("name", "")) if act.subject_kind == "node" else ""
        line = _task(act.subject_id, text) if is_task else LogLine(text, component="portal", node=node)
    else:
        return
    logs_add(actor=act.actor, lines=[line])


def _figures(detail: Mapping[str, Any]) -> str:
    told = ", ".join(f"{name}={value}" for name, value in detail.items() if value not in (None, ""))
    return f" ({told})" if told else ""


def _task(uid: object, text: str, level: str = "info", component: str = "scheduling", **more: Any) -> LogLine:
    """A line about a workload, with its tenant and priority."""
    rows = Workload.objects.across().filter(uid=_uuid(uid)).order_by()
    no, tenant, priority = rows.values_list("no", "tenant__schema_name", "priority").first() or ("", "", None)
    known = {"tenant": tenant, "priority": priority} if no else {}
    name = f"{no}: " if no else ""
    return LogLine(f"{name}{text}", level, component, task=str(uid), **known | more)


def _uuid(text: object) -> UUID | None:
    try:
        return UUID(str(text))
    except ValueError:
        return None


def _node(name: str, text: str, level: str = "info") -> list[LogLine]:
    return [LogLine(text, level, "fleet", node=name)]


def _node_removed(event: fleet.NodeRemoved) -> list[LogLine]:
    name = Node.objects.filter(uid=event.node_uid).values_list("name", flat=True).first() or event.node_uid
    return _node(name, f"node {name} has left the pool")


def _said(event: fleet.NodeSaid) -> list[LogLine]:
    """What an agent says, about one of its slices or about itself."""
    if event.workload_uid:
        line = _task(
            event.workload_uid, event.text, event.level, event.component, node=event.node, at=event.at
        )
        return [line]
    return [LogLine(event.text, event.level, event.component, node=event.node, at=event.at)]


def _submitted(event: scheduling.WorkloadSubmitted) -> list[LogLine]:
    told = {"task": str(event.workload_uid), "tenant": event.schema, "priority": event.priority}
    return [LogLine(f"{event.no}: submitted", "info", "scheduling", **told)]


def _ended(event: scheduling.WorkloadEnded) -> list[LogLine]:
    how = "failed" if event.failed else "ended"
    why = f": {event.reason}" if event.reason else ""
    level = "warning" if event.failed else "info"
    return [_task(event.workload_uid, f"{how} ({event.reason_code or 'completed'}){why}", level)]


def _alarm(event: Any, level: str, what: str) -> list[LogLine]:
    with translation.override("en"):
        alarm = alarm_get(event.alarm_uid)
        text = f"alarm {what}: {alarm.title}"
    node = alarm.params.get("name", "") if alarm.subject_kind == "node" else alarm.params.get("node", "")
    return [LogLine(text, level, "alarms", node=str(node))]


def _center(event: centers.CenterStatusChanged) -> list[LogLine]:
    what, level = {0: ("unavailable", "error"), 1: ("available", "info")}.get(
        event.status, ("unknown", "warning")
    )
    why = f": {event.why}" if event.why else ""
    return [LogLine(f"AI computing centre {event.name} is {what}{why}", level, "centers")]


def _moved(event: fleet.SliceMoved) -> list[LogLine]:
    pause = "" if event.pause_ms is None else f" with a pause of {event.pause_ms:.0f} ms"
    return [_task(event.workload_uid, f"session moved from {event.source_uid} to {event.target_uid}{pause}")]


LINES: Mapping[type[Event], Callable[[Any], Iterable[LogLine]]] = {
    fleet.NodeLost: lambda e: _node(e.name, f"node {e.name} does not answer", "error"),
    fleet.NodeReturned: lambda e: _node(e.name, f"node {e.name} answers again"),
    fleet.NodeRemoved: _node_removed,
    fleet.NodeDoubled: lambda e: _node(
        e.name, f"{'no longer ' if e.is_over else ''}two agents speak for node {e.name}", "error"
    ),
    fleet.NodeClockOff: lambda e: _node(
        e.name, f"clock of node {e.name} is off by {e.offset_s} s", "warning"
    ),
    fleet.NodeSaid: _said,
    fleet.DeviceFound: lambda e: _node(e.node, f"device {e.device_uid} found"),
    fleet.DeviceMissing: lambda e: _node(e.node, f"device {e.device_uid} is missing", "error"),
    fleet.DeviceReturned: lambda e: _node(e.node, f"device {e.device_uid} is back"),
    fleet.DeviceLeft: lambda e: _node(e.node, f"device {e.device_uid} has left the pool"),
    fleet.DeviceMismatch: lambda e: _node(
        e.node, f"device {e.device_uid} reports {e.new_mib} MiB instead of {e.old_mib} MiB", "warning"
    ),
    fleet.SliceResized: lambda e: [
        _task(e.workload_uid, f"share {e.slice_uid} holds {e.compute_percent} % and {e.memory_mib} MiB now")
    ],
    fleet.SliceMoveBegun: lambda e: [_task(e.workload_uid, f"session moves to device {e.device_uid}")],
    fleet.SliceMoved: _moved,
    fleet.SliceMoveFailed: lambda e: [_task(e.workload_uid, f"session stays: {e.reason}", "warning")],
    fleet.SliceLost: lambda e: [_task(e.workload_uid, f"share {e.slice_uid} lost with its node", "error")],
    scheduling.WorkloadSubmitted: _submitted,
    scheduling.WorkloadStarted: lambda e: [_task(e.workload_uid, "started")],
    scheduling.WorkloadEnded: _ended,
    centers.CenterStatusChanged: _center,
    telemetry.AlarmFired: lambda e: _alarm(e, _ALARM_LEVELS[e.level], "raised"),
    telemetry.AlarmResolved: lambda e: _alarm(e, "info", "ended"),
    rollouts.RolloutFailed: lambda e: [
        LogLine(
            f"roll-out {e.rollout_uid} goes back at {e.target}: {message_text(e.why)}", "error", "rollouts"
        )
    ],
    rollouts.RolloutDone: lambda e: [LogLine(f"roll-out {e.rollout_uid} is done", "info", "rollouts")],
}
