"""Bringing work to a stop: it says at once what it will become, and its slices get their notice."""

from collections.abc import Mapping
from typing import Any

from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.kernel.acts import Actor
from apps.scheduling.models import Workload
from apps.scheduling.states import FLOW, AfterStop, AllocationState, WorkloadState

STOPPED: Mapping[str, Any] = {"after_stop": "", "preempted_by": None, "preemption_cause": ""}
"""What every move away from stopping sets."""


def stop_begin(
    row: Workload, actor: Actor, after: AfterStop, reason_code: str, reason: str = "", **changes: Any
) -> None:
    """From now on it stops; `after`: what it becomes when its last slice has ended."""
    FLOW.move(
        row, WorkloadState.STOPPING, actor=actor, after_stop=after, reason_code=reason_code,
        reason={"text": reason}, **changes,
    )  # fmt: skip


def slices_stop(row: Workload, actor: Actor, reason: str, *, reason_code: str = "stopped") -> None:
    """Want all its slices stopped; those that no node was told of end at once, and with the last of them the work."""
    for allocation in row.allocations.filter(state=AllocationState.ACTIVE):
        slice_stop(actor=actor, slice_uid=allocation.slice_uid, reason=reason, reason_code=reason_code)
