"""What Ray tells of jobs, nodes and resources, in the words of `base`. All of it raises CenterBroken for a shape that
is none of Ray's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.answers import group, number, text
from apps.centers.adapters.base import OVER, CenterBroken, JobSeen, JobState, Quantities
from apps.centers.adapters.ray.jobs import MIB

_STATES = {
    "PENDING": JobState.WAITING,
    "RUNNING": JobState.RUNNING,
    "SUCCEEDED": JobState.SUCCEEDED,
    "FAILED": JobState.FAILED,
    "STOPPED": JobState.STOPPED,
}
_AMOUNT_MAX = 10.0**18
# "0.0/8.0 CPU", "50.00MiB/3.73GiB memory", and of a placement group "1.0/8.0 CPU (1.0 used of 1.0 reserved …)".
_USED = re.compile(r"(?P<used>[0-9.]+)(?P<unit>B|[KMGT]iB)?/[0-9.]+(?:B|[KMGT]iB)? (?P<name>\S+)(?: .*)?")
_UNITS = {None: 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def job_seen(job: Mapping[str, Any]) -> JobSeen:
    """A job as Ray tells it. Of its begin Ray keeps the time of its submission alone: that is told once it runs."""
    word = text(job, "status")
    if not word:
        raise CenterBroken(_("The answer has a job without %(field)s.") % {"field": "status"})
    state = _STATES.get(word, JobState.UNKNOWN)
    key = text(job, "submission_id")
    # A node is named from the moment that a job begins.
    has_begun = bool(text(job, "driver_node_id"))
    return JobSeen(
        key=key,
        native_id=key,
        state=state,
        native_state=word[:64],
        # Of what succeeded Ray says that it finished successfully: nothing that the state does not say.
        message="" if state == JobState.SUCCEEDED else _message(text(job, "message")),
        started_at=_time(number(job, "start_time")) if has_begun else None,
        ended_at=_time(number(job, "end_time")) if state in OVER else None,
        exit_code=_exit_code(job) if state in OVER and has_begun else None,
    )


def is_submitted(job: Mapping[str, Any]) -> bool:
    """Whether a job came by the interface of jobs: others have no submission and cannot be stopped."""
    return text(job, "type") == "SUBMISSION"


def total(nodes: Iterable[Mapping[str, Any]], devices: Mapping[str, str]) -> Quantities:
    """What nodes have together."""
    sums: dict[str, float] = {}
    for node in nodes:
        for name in ("CPU", "memory", *devices.values()):
            sums[name] = sums.get(name, 0) + amount(group(node, "resources_total"), name)
    return _quantities(sums, devices, math.floor)


def used_of_status(status: Mapping[str, Any], devices: Mapping[str, str]) -> Quantities | None:
    """What is in use by the report of Ray's monitor; None where no such monitor reports."""
    report = group(group(status, "clusterStatus"), "loadMetricsReport")
    if "usage" not in report:
        return None
    usage = group(report, "usage")
    sums: dict[str, float] = {}
    for name in ("CPU", "memory", *devices.values()):
        pair = usage.get(_as_key(name), [0, 0])
        if not isinstance(pair, list) or len(pair) != 2:
            raise CenterBroken(_("%(field)s of the answer is no number.") % {"field": name})
        sums[name] = amount({name: pair[0]}, name)
    return _quantities(sums, devices, math.ceil)


def used_of_nodes(summary: Mapping[str, Any], devices: Mapping[str, str]) -> Quantities | None:
    """What is in use by the lines about each node, which clusters with Ray's second autoscaler have; None where there
    are none. Memory is rounded there to a hundredth of its unit."""
    lines = group(summary, "nodeLogicalResources")
    sums: dict[str, float] = {}
    for node in lines:
        for line in text(lines, node).splitlines():
            found = _USED.fullmatch(line.strip())
            if found is None:
                raise CenterBroken(_("This is no use of a resource: %(text)s") % {"text": line[:200]})
            count = _number(found["used"]) * _UNITS[found["unit"]]
            sums[found["name"]] = sums.get(found["name"], 0) + count
    return _quantities(sums, devices, math.ceil) if lines else None


def at_most(used: Quantities, held: Quantities) -> Quantities:
    """What is in use, of what there is: Ray's report may be of some seconds ago, before a node went."""
    return Quantities(
        **{each.name: min(getattr(used, each.name), getattr(held, each.name)) for each in fields(held)}
    )


def amount(resources: Mapping[str, Any], name: str) -> float:
    """An amount of a resource by its name, none below zero; 0 where there is none of it."""
    value = resources.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _AMOUNT_MAX:
        raise CenterBroken(_("%(field)s of the answer is no number.") % {"field": name})
    return float(value)


def _quantities(
    sums: Mapping[str, float], devices: Mapping[str, str], rounded: Callable[[float], int]
) -> Quantities:
    return Quantities(
        cpu=rounded(sums.get("CPU", 0)),
        memory=rounded(sums.get("memory", 0) / MIB),
        **{quantity: rounded(sums.get(name, 0)) for quantity, name in devices.items()},
    )


def _as_key(name: str) -> str:
    """A name as Ray's dashboard changes it where it is a key: "my_card" comes as "myCard"."""
    first, *others = name.split("_")
    return first + "".join(each.title() for each in others)


def _message(said: str) -> str:
    """Why a job is in its state; behind a failure's first line Ray repeats the job's output."""
    return (said.splitlines() or [""])[0].partition(", last available logs")[0][:500]


def _exit_code(job: Mapping[str, Any]) -> int | None:
    """128 and the signal where one ended it, as shells tell it."""
    code = job.get("driver_exit_code")
    if code is None:
        return None
    if isinstance(code, bool) or not isinstance(code, int) or not -128 < code < 256:
        raise CenterBroken(_("%(field)s of the answer is no number.") % {"field": "driver_exit_code"})
    return code if code >= 0 else 128 - code


def _time(milliseconds: int) -> datetime | None:
    if not milliseconds:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise CenterBroken(_("%(number)s in the answer is no time.") % {"number": milliseconds}) from error


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError as error:
        raise CenterBroken(_("This is no use of a resource: %(text)s") % {"text": written[:200]}) from error
