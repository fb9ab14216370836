"""Usage reports of a node: each interval taken once and in order, doubted ones never passed on.

Internal to the app's services.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from apps.fleet.events import UsageDoubted, UsageObserved
from apps.fleet.models import Slice
from apps.fleet.services.clock_skew import clock_correct
from apps.fleet.states import MoveState
from apps.kernel.events import Event
from node_agent.protocol.slices import UsageReport

CLOCK_SKEW = timedelta(minutes=5)
INTERVAL_MAX = timedelta(days=1)


def usage_take(
    reports: Iterable[UsageReport], rows: Mapping[str, Slice], *, report_id: str, now: datetime
) -> list[Event]:
    """Take what continues each slice's usage, in memory; returns the events to emit once rows are saved.

    A number known already is a repeat; a number beyond a gap is not taken, the acknowledgement asks again. A
    report that cannot be true is counted and consumed, so that those behind it are not held up.
    """
    by_slice: dict[str, list[UsageReport]] = defaultdict(list)
    for report in reports:
        if report.slice_uid in rows:
            by_slice[report.slice_uid].append(report)
    events: list[Event] = []
    for uid, found in sorted(by_slice.items(), key=lambda item: str(rows[item[0]].workload_uid)):
        events += _take(rows[uid], sorted(found, key=lambda report: report.seq), report_id, now)
    return events


def _take(row: Slice, reports: list[UsageReport], report_id: str, now: datetime) -> list[Event]:
    taken: list[UsageReport] = []
    events: list[Event] = []
    for report in reports:
        if report.seq != row.usage_seq + 1:
            continue
        row.usage_seq = report.seq
        report = _by_our_clock(row, report)
        doubt = _doubt(row, report, now)
        if doubt:
            row.usage_doubted += 1
            events.append(_doubted(row, report, doubt))
            continue
        counted = _counted(row, report)
        if counted is not None:
            row.usage_until = counted.end_at
            taken.append(counted)
    return [*events, _observed(row, taken, report_id)] if taken else events


def _by_our_clock(row: Slice, report: UsageReport) -> UsageReport:
    if not row.node.clock_shift_s:
        return report
    start_at, end_at = clock_correct(row.node, report.start_at), clock_correct(row.node, report.end_at)
    return report.model_copy(update={"start_at": start_at, "end_at": end_at})


def _counted(row: Slice, report: UsageReport) -> UsageReport | None:
    """The whole seconds of it that count: of a session that moves those before it at the source and those after
    it at the target; none of a target before that."""
    if row.moves_from is not None and row.move_state != MoveState.DONE:
        return None
    skip_s = drop_s = 0
    if row.counted_from_at is not None:
        skip_s = max(0, math.ceil((row.counted_from_at - report.start_at).total_seconds()))
    if row.counted_until_at is not None:
        drop_s = max(0, math.ceil((report.end_at - row.counted_until_at).total_seconds()))
    if not skip_s and not drop_s:
        return report
    length_s = (report.end_at - report.start_at).total_seconds()
    left_s = length_s - skip_s - drop_s
    if left_s <= 0:
        return None
    return report.model_copy(
        update={
            "start_at": report.start_at + timedelta(seconds=skip_s),
            "end_at": report.end_at - timedelta(seconds=drop_s),
            "cpu_seconds": report.cpu_seconds * left_s / length_s,
        }
    )


def _doubt(row: Slice, report: UsageReport, now: datetime) -> str:
    """Why the interval cannot be true; empty when it can."""
    length = report.end_at - report.start_at
    if report.end_at > now + CLOCK_SKEW:
        return "it lies in the future"
    if length > INTERVAL_MAX:
        return "it is longer than a day"
    if report.start_at < row.created_at - CLOCK_SKEW:
        return "it begins before the slice was wanted"
    if row.usage_until is not None and report.start_at < row.usage_until:
        return "it overlaps the interval before it"
    most_percent, most_mib = max(row.compute_percent, row.peak_percent), max(row.memory_mib, row.peak_mib)
    if report.compute_percent > most_percent or report.memory_mib > most_mib:
        return "it claims more than the slice holds"
    if report.cpu_seconds > length.total_seconds() * _CPUS_MAX:
        return "it claims more CPU time than there is"
    return ""


_CPUS_MAX = 65_536


def _doubted(row: Slice, report: UsageReport, reason: str) -> UsageDoubted:
    return UsageDoubted(
        workload_uid=str(row.workload_uid),
        slice_uid=str(row.uid),
        node_uid=row.node.uid,
        seq=report.seq,
        reason=reason,
    )


def _observed(row: Slice, taken: list[UsageReport], report_id: str) -> UsageObserved:
    return UsageObserved(
        workload_uid=str(row.workload_uid),
        slice_uid=str(row.uid),
        node_uid=row.node.uid,
        device_uid=row.device.uid,
        report_id=report_id,
        reports=tuple(_plain(report) for report in taken),
    )


def _plain(report: UsageReport) -> dict[str, Any]:
    return report.model_dump(mode="json", exclude={"slice_uid"})
