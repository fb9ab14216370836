"""Limits beside a session's own books: for clients that lie about what their operators allocate."""

from __future__ import annotations

import contextlib
import resource

import torch

_MIB = 1 << 20
# What PyTorch, its threads, replies under way and the cache of uploads take beside the tensors.
_HEADROOM = 2 << 30


def limits_set(device: torch.device, quota_mib: int) -> None:
    """Hold this process near its quota: its data memory, or on a card its allocator's share of it."""
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        # The allocator keeps blocks in reserve; the books hold the quota itself.
        wanted = 1.25 * quota_mib * _MIB + 256 * _MIB
        torch.cuda.set_per_process_memory_fraction(min(1.0, wanted / total), device)
        return
    _soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = 3 * quota_mib * _MIB + _HEADROOM
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))
