"""Workloads of the pool and what was metered of them, in the words of the unified interface."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.billing.models import UsageRecord as Metered
from apps.billing.selectors.charges import usages_of
from apps.centers.adapters.base import OVER, JobSeen, JobState, Quantities, UsageRecord
from apps.fleet.models import Slice
from apps.fleet.selectors import output_is_whole, slice_list
from apps.jointcloud.local.accelerators import kind_of
from apps.scheduling.models import Workload
from apps.scheduling.selectors.workloads import workload_reason
from apps.scheduling.states import WorkloadState

_STATES = {
    WorkloadState.PENDING: JobState.WAITING,
    WorkloadState.SUSPENDED: JobState.WAITING,
    WorkloadState.PLACED: JobState.WAITING,
    WorkloadState.RUNNING: JobState.RUNNING,
    WorkloadState.FAILED: JobState.FAILED,
    WorkloadState.LOST: JobState.FAILED,
}
# Work that has ended, but not because somebody asked for it.
_ENDED_BY_ITSELF = {"completed": JobState.SUCCEEDED, "run_timeout": JobState.FAILED}
_SIGNALLED = 128
# So long a node may take to send what work has printed before it ended.
_LOG_WAIT = timedelta(minutes=1)


def jobs_seen(rows: Iterable[Workload]) -> Iterator[JobSeen]:
    """Workloads as jobs, their slices read at once."""
    found = list(rows)
    slices = _slices([row.uid for row in found])
    return (_seen(row, slices[row.uid]) for row in found)


def _slices(uids: Sequence[UUID]) -> Mapping[UUID, list[Slice]]:
    read: dict[UUID, list[Slice]] = defaultdict(list)
    for part in slice_list(workload_uids=uids) if uids else ():
        read[part.workload_uid].append(part)
    return read


def _seen(row: Workload, slices: Sequence[Slice]) -> JobSeen:
    state = _state(row)
    if state in OVER and _still_tells(row, slices):
        state = JobState.RUNNING
    starts = [part.started_at for part in slices if part.started_at is not None]
    return JobSeen(
        key=row.client_key,
        native_id=str(row.uid),
        state=state,
        native_state=row.state,
        message=" ".join(workload_reason(row).split()),
        started_at=min(starts, default=None),
        ended_at=row.ended_at if state in OVER else None,
        exit_code=_exit_code(slices) if state in OVER else None,
    )


def _still_tells(row: Workload, slices: Sequence[Slice]) -> bool:
    """Whether its nodes may still send what it has printed: a job is over when its log is whole. A node that is lost is
    not waited for."""
    if row.state == WorkloadState.LOST or row.ended_at is None or timezone.now() > row.ended_at + _LOG_WAIT:
        return False
    return any(part.started_at is not None and not output_is_whole(part) for part in slices)


def _state(row: Workload) -> JobState:
    if row.state == WorkloadState.STOPPING:
        return JobState.WAITING if row.started_at is None else JobState.RUNNING
    if row.state == WorkloadState.FINISHED:
        return _ENDED_BY_ITSELF.get(row.reason_code, JobState.STOPPED)
    try:
        return _STATES[WorkloadState(row.state)]
    except (KeyError, ValueError):
        return JobState.UNKNOWN


def _exit_code(slices: Sequence[Slice]) -> int | None:
    """Of its last attempt: of its members the first that failed; as a shell tells it, of one that a signal ended 128
    and the signal."""
    last = max((part.attempt for part in slices), default=0)
    codes = [part.exit_code for part in slices if part.attempt == last and part.exit_code is not None]
    code = next((each for each in codes if each), 0 if codes else None)
    return _SIGNALLED - code if code is not None and code < 0 else code


def usage_records(rows: Iterable[Workload]) -> Iterator[UsageRecord]:
    """What work that has ended has used, by the reports of its nodes: one record for each that ran, once the reports of
    all its slices have come."""
    found = list(rows)
    uids = [row.uid for row in found]
    slices, metered = _slices(uids), usages_of(uids)
    for row in found:
        ran = [part for part in slices[row.uid] if part.started_at is not None]
        if ran and row.ended_at is not None and all(part.closed_at is not None for part in slices[row.uid]):
            yield _usage(row, row.ended_at, ran, metered.get(row.uid, ()))


def _usage(
    row: Workload, ended_at: datetime, slices: Sequence[Slice], metered: Sequence[Metered]
) -> UsageRecord:
    """Time between two attempts is not used: of work that was tried again the record is as long as all of them.

    What ran for less than a second has no metered line.
    """
    ran = _covered((part.started_at, part.ended_at or ended_at) for part in slices if part.started_at)
    kind = "" if row.is_on_host else kind_of(slices[0].device.vendor)
    amounts = {
        "cpu": row.shares * row.host_cpu_milli // 1000,
        "memory": row.shares * row.host_memory_mib,
        "storage": row.shares * row.scratch_disk_mib // 1024,
    }
    if kind:
        amounts[kind] = row.shares
    return UsageRecord(
        key=row.client_key,
        native_id=str(row.uid),
        started_at=ended_at - ran,
        ended_at=ended_at,
        quantities=Quantities(**amounts),
        raw=json.dumps(_evidence(row, metered), sort_keys=True),
    )


def _covered(spans: Iterable[tuple[datetime, datetime]]) -> timedelta:
    """How long the spans are together, what several of them cover counted once."""
    whole, until = timedelta(0), None
    for begin, end in sorted(spans):
        begin = begin if until is None else max(begin, until)
        if end > begin:
            whole, until = whole + (end - begin), end
    return whole


def _evidence(row: Workload, metered: Sequence[Metered]) -> dict[str, Any]:
    """What the nodes have reported, a line for each slice."""
    lines: dict[str, dict[str, Any]] = {}
    for record in metered:
        line = lines.setdefault(
            record.slice_uid,
            {
                "slice": record.slice_uid,
                "node": record.node_uid,
                "device": record.device_uid,
                "from": record.start_at.isoformat(),
                "seconds": 0,
                "reports": 0,
            },
        )
        line["until"] = record.end_at.isoformat()
        line["seconds"] += record.seconds
        line["reports"] += 1
        line["last_report"] = record.report_id
    return {
        "workload": str(row.uid),
        "number": row.no,
        "key": row.client_key,
        "metered": list(lines.values()),
    }
