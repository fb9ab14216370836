"""Reads: where a share of a workload runs."""

from apps.fleet.selectors import slice_list
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.states import AllocationState


def share_place(row: Workload, share: int) -> tuple[str, str]:
    """The slice and the node of a workload's share; both empty while it has no place to run."""
    held = Allocation.objects.filter(
        workload=row, share=share, is_beside=False, state=AllocationState.ACTIVE
    ).first()
    part = slice_list(workload_uids=[row.uid]).filter(uid=held.slice_uid).first() if held else None
    return (str(part.uid), str(part.node.uid)) if part is not None else ("", "")
