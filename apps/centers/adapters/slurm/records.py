"""What slurmrestd tells of nodes, jobs and accounts, in the words of `base`. All of it raises CenterBroken for a shape
that is none of Slurm's."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.answers import group, number, records, text
from apps.centers.adapters.base import OVER, CenterBroken, JobSeen, JobState, Quantities, UsageRecord

_STATES = {
    "PENDING": JobState.WAITING,
    "CONFIGURING": JobState.WAITING,
    "REQUEUED": JobState.WAITING,
    "REQUEUE_HOLD": JobState.WAITING,
    "REQUEUE_FED": JobState.WAITING,
    "RESV_DEL_HOLD": JobState.WAITING,
    "SPECIAL_EXIT": JobState.WAITING,
    "RUNNING": JobState.RUNNING,
    "SUSPENDED": JobState.RUNNING,
    "STOPPED": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "COMPLETED": JobState.SUCCEEDED,
    "FAILED": JobState.FAILED,
    "TIMEOUT": JobState.FAILED,
    "NODE_FAIL": JobState.FAILED,
    "OUT_OF_MEMORY": JobState.FAILED,
    "BOOT_FAIL": JobState.FAILED,
    "DEADLINE": JobState.FAILED,
    "PREEMPTED": JobState.FAILED,
    "CANCELLED": JobState.STOPPED,
    "REVOKED": JobState.STOPPED,
}
# A node in one of these gives nothing to jobs.
_AWAY_STATES = frozenset({"down", "error", "future", "unknown", "invalid"})
_AWAY_FLAGS = frozenset(
    {"DRAIN", "FAIL", "NOT_RESPONDING", "NO_RESPOND", "POWERED_DOWN", "INVALID_REG", "MAINTENANCE"}
)
_GRES = re.compile(
    r"(?P<name>[\w.-]+)(?::(?P<type>[\w.+-]+))??:(?P<count>\d+)(?P<unit>[KMG]?)(?:\([^)]*\))?(?:,|$)"
)
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def is_serving(node: Mapping[str, Any], partition: str) -> bool:
    """Whether a node gives something to jobs now, of this partition or, where it is "", of any."""
    flags = node.get("state_flags") or ()
    partitions = node.get("partitions") or ()
    if not isinstance(flags, (list, tuple)) or not isinstance(partitions, (list, tuple)):
        raise CenterBroken(_("The answer has no list of %(name)s.") % {"name": "state_flags"})
    if text(node, "state").lower() in _AWAY_STATES or not _AWAY_FLAGS.isdisjoint(map(str, flags)):
        return False
    return not partition or partition in partitions


def node_total(node: Mapping[str, Any], devices: Mapping[str, str]) -> dict[str, int]:
    """What a node has; `devices` says which of Slurm's generic resources counts as what."""
    return {
        "cpu": number(node, "cpus"),
        "memory": number(node, "real_memory"),
        "storage": number(node, "temporary_disk") // 1024,
        **_devices(gres_counts(text(node, "gres")), devices),
    }


def node_used(node: Mapping[str, Any], devices: Mapping[str, str]) -> dict[str, int]:
    """What of a node is given to jobs. Slurm does not count what jobs take of its disk."""
    return {
        "cpu": number(node, "alloc_cpus"),
        "memory": number(node, "alloc_memory"),
        **_devices(gres_counts(text(node, "gres_used")), devices),
    }


def gres_counts(listed: str) -> dict[str, int]:
    """Amounts by name of "gpu:a100:2(S:0-1),npu:4"; types of a name are added up."""
    counts: dict[str, int] = {}
    at = 0
    while at < len(listed) and listed not in ("(null)", "N/A"):
        found = _GRES.match(listed, at)
        if found is None:
            raise CenterBroken(_("This is no list of generic resources: %(text)s") % {"text": listed[:200]})
        counts[found["name"]] = counts.get(found["name"], 0) + int(found["count"]) * _UNITS[found["unit"]]
        at = found.end()
    return counts


def _devices(counts: Mapping[str, int], devices: Mapping[str, str]) -> dict[str, int]:
    return {quantity: counts.get(name, 0) for quantity, name in devices.items()}


def job_seen(job: Mapping[str, Any]) -> JobSeen:
    """A job as the controller tells it."""
    word = text(job, "job_state")
    state = _STATES.get(word, JobState.UNKNOWN)
    # Before its start the controller tells when it expects that, and before its end when its time is over.
    has_begun = state is not JobState.WAITING and bool(text(job, "nodes"))
    reason, words = text(job, "state_reason"), text(job, "state_description")
    return JobSeen(
        key=text(job, "name"),
        native_id=str(number(job, "job_id")),
        state=state,
        native_state=word[:64],
        message=": ".join(each for each in (reason.replace("None", ""), words) if each)[:500],
        started_at=_time(number(job, "start_time")) if has_begun else None,
        ended_at=_time(number(job, "end_time")) if state in OVER else None,
        exit_code=_exit_code(number(job, "exit_code")) if state in OVER and has_begun else None,
    )


def account_seen(job: Mapping[str, Any]) -> JobSeen:
    """A job as the accounts tell it, where the controller has forgotten it.

    slurmrestd 22.05 tells exit code 0 there of jobs that ended with another: it is said where it can be true.
    """
    told, times = group(job, "state"), group(job, "time")
    word = text(told, "current")
    state = _STATES.get(word, JobState.UNKNOWN)
    has_begun = state is not JobState.WAITING and has_nodes(job)
    reason = text(told, "reason")
    return JobSeen(
        key=text(job, "name"),
        native_id=str(number(job, "job_id")),
        state=state,
        native_state=word[:64],
        message="" if reason == "None" else reason[:500],
        started_at=_time(number(times, "start")) if has_begun else None,
        ended_at=_time(number(times, "end")) if state in OVER else None,
        exit_code=0 if state is JobState.SUCCEEDED else None,
    )


def has_nodes(job: Mapping[str, Any]) -> bool:
    """Whether the accounts say that a job was given nodes."""
    return text(job, "nodes") not in ("", "None assigned")


def usage_of(job: Mapping[str, Any], devices: Mapping[str, str]) -> UsageRecord | None:
    """What a job used by the accounts; None for one that is not over or never began."""
    seen = account_seen(job)
    if seen.state not in OVER or seen.started_at is None or seen.ended_at is None:
        return None
    if seen.ended_at < seen.started_at:
        raise CenterBroken(
            _("The accounts say that job %(id)s ended before it began.") % {"id": seen.native_id}
        )
    counts: dict[str, int] = {}
    for part in records(group(job, "tres"), "allocated"):
        kind, name = text(part, "type"), text(part, "name")
        whole = f"gres/{name}" if kind == "gres" else kind
        # "gpu:a100" is of those that "gpu" counts already.
        counts[whole] = number(part, "count")
    quantities = Quantities(
        cpu=counts.get("cpu", 0),
        memory=counts.get("mem", 0),
        **{quantity: counts.get(f"gres/{name}", 0) for quantity, name in devices.items()},
    )
    raw = json.dumps(job, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return UsageRecord(seen.key, seen.native_id, seen.started_at, seen.ended_at, quantities, raw)


def _time(seconds: int) -> datetime | None:
    if not seconds:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise CenterBroken(_("%(number)s in the answer is no time.") % {"number": seconds}) from error


def _exit_code(status: int) -> int:
    """Of what the kernel says of a process; 128 and the signal where one ended it, as shells tell it."""
    return 128 + (status & 0x7F) if status & 0x7F else status >> 8 & 0xFF
