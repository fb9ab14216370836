"""What of the node's disk is kept for work that asks for scratch disk."""

from __future__ import annotations

import os
from pathlib import Path

from node_agent.files import read_json

_MIB, _GIB_MIB = 1024 * 1024, 1024


def scratch_disk_mib(home: Path, setting_mib: int | None) -> int:
    """What work may reserve together of the disk on which `home` lies, in MiB: what the operator says, never more than
    the disk is large; where he says nothing, half of what is free there and what running work keeps, in whole GiB.

    The other half is for work that reserved nothing, images and packages. 0 where the disk cannot be asked.
    """
    try:
        facts = os.statvfs(next(folder for folder in (home, *home.parents) if folder.is_dir()))
    except (OSError, StopIteration):
        return 0
    total_mib = facts.f_blocks * facts.f_frsize // _MIB
    if setting_mib is not None:
        return min(setting_mib, total_mib)
    free_mib = facts.f_bavail * facts.f_frsize // _MIB
    return (free_mib + _kept_mib(home)) // 2 // _GIB_MIB * _GIB_MIB


def _kept_mib(home: Path) -> int:
    """What work keeps that was there before this agent started: it would count as used by others."""
    states = (read_json(path) or {} for path in home.glob("slices/*/state.json"))
    used = (state.get("disk_used_mib") for state in states if state.get("state") == "running")
    return sum(mib for mib in used if isinstance(mib, int))
