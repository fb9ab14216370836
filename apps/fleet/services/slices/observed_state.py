"""What a node reports of a slice, brought into our row. Internal to the app's services."""

from datetime import datetime, timedelta

from apps.fleet.models import Slice
from apps.fleet.services.clock_skew import clock_correct
from apps.fleet.services.slices.slice_termination import END_FIELDS, USE_FIELDS, slice_end
from apps.fleet.services.slices.usage import CLOCK_SKEW
from apps.fleet.states import SLICE, SliceState
from node_agent.protocol.fields import TERMINAL_STATES
from node_agent.protocol.slices import SliceReport

MEASURE_EVERY = timedelta(seconds=5)
STATE_FIELDS = [
    *(name for name in END_FIELDS if name not in USE_FIELDS),
    "exit_code",
    "started_at",
    "checkpoint_at",
    "memory_enforced_by",
    "compute_enforced_by",
]
MEASURE_FIELDS = [
    "usage_seq",
    "usage_last_seq",
    "usage_until",
    "usage_doubted",
    "log_next",
    *USE_FIELDS,
    "disk_used_mib",
    "disk_limit_mib",
    "measured_at",
    "driver_enforced",
    "is_mounted",
    "session",
    "service",
    "size_step",
    "host_enforced_by",
    "surplus_percent",
    "surplus_mib",
]
_STATES = {
    "starting": SliceState.STARTING,
    "running": SliceState.RUNNING,
    "stopping": SliceState.STOPPING,
    "exited": SliceState.EXITED,
    "failed": SliceState.FAILED,
    "refused": SliceState.FAILED,
}


def slice_observe(row: Slice, report: SliceReport, *, now: datetime) -> bool:
    """Take in a report, in memory; whether more than measurements changed. Life never goes backwards: a report
    that would is ignored, and what is final stays as it is."""
    row.usage_last_seq = max(row.usage_last_seq, report.last_usage_seq)
    if row.is_final:
        return False
    before = _shown(row)
    if row.started_at is None and report.started_at is not None:
        # Not before it was wanted: a clock that is years behind would leave instants that no page can show.
        at = clock_correct(row.node, report.started_at)
        row.started_at = max(min(at, now), row.created_at - CLOCK_SKEW)
    row.memory_enforced_by = report.memory_enforced_by or row.memory_enforced_by
    row.compute_enforced_by = report.compute_enforced_by or row.compute_enforced_by
    row.host_enforced_by = report.host_enforced_by or row.host_enforced_by
    row.driver_enforced, row.is_mounted = report.driver or row.driver_enforced, report.mounted
    row.size_step = max(row.size_step, report.size_step)
    _session_observe(row, report)
    if report.service is not None:
        row.service = report.service.model_dump(mode="json")
    _checkpoint_observe(row, report, now)
    _measure(row, report, now)
    _move(row, report, now)
    return _shown(row) != before


def slice_has_shrunk(row: Slice, report: SliceReport) -> bool:
    """Whether more is held for a slice than its node gives it and is to give it."""
    if row.is_final or report.generation < row.generation:
        return False
    share = (row.compute_percent, row.memory_mib)
    return row.holds_more and share == (report.compute_percent, report.memory_mib)


def _session_observe(row: Slice, report: SliceReport) -> None:
    if report.session is not None:
        row.session = report.session.model_dump(mode="json") | {"generation": report.generation}


def _shown(row: Slice) -> tuple[object, ...]:
    return tuple(getattr(row, name) for name in STATE_FIELDS)


def _checkpoint_observe(row: Slice, report: SliceReport, now: datetime) -> None:
    """When its work last said that it was saved. A work that says so all the time is heard now and then, and when it
    ends."""
    if report.checkpoint_at is None:
        return
    at = min(clock_correct(row.node, report.checkpoint_at), now)
    known = row.checkpoint_at or row.started_at or row.created_at
    is_ending = report.state == "stopping" or report.state in TERMINAL_STATES
    if at > known and (is_ending or row.checkpoint_at is None or at - known >= MEASURE_EVERY):
        row.checkpoint_at = at


def _measure(row: Slice, report: SliceReport, now: datetime) -> None:
    if report.state != "running":
        return
    for name in USE_FIELDS:
        setattr(row, name, getattr(report, name))
    row.disk_used_mib, row.disk_limit_mib = report.disk_used_mib, report.disk_limit_mib
    if row.measured_at is None or now - row.measured_at >= MEASURE_EVERY:
        row.measured_at = now


def _move(row: Slice, report: SliceReport, now: datetime) -> None:
    to = _STATES[report.state]
    if report.state in TERMINAL_STATES:
        row.exit_code = report.exit_code
        code: str = report.reason_code or ("completed" if to == SliceState.EXITED else "crashed")
        is_ours = code == "stopped" and row.stop_reason
        reason, code = (row.stop_reason, row.stop_code or code) if is_ours else (report.reason, code)
        at = clock_correct(row.node, report.ended_at) if report.ended_at else row.usage_until or now
        slice_end(row, to, now=now, at=at, reason_code=code, reason=reason)
        return
    row.reason = report.reason
    if to in SLICE.targets(row.state):
        row.state = to
