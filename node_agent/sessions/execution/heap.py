"""The heap of a worker: freed memory is kept for the next step instead of being given back and faulted in again."""

from __future__ import annotations

import contextlib
import ctypes

_MIB = 1 << 20
# glibc's names of what is set (malloc.h); the largest threshold it takes is 32 MiB.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_KEPT_BYTES = 512 * _MIB
_GROWTH_BYTES = 64 * _MIB
_MMAP_BYTES = 32 * _MIB


def heap_tune() -> bool:
    """Before the first tensor is made. False where the C library has no such settings.

    A step of training frees and allocates the same temporaries; without this every one of them is a system call
    and a page fault per 4 KiB. At most 512 MiB of freed memory stay with the process; larger tensors have
    mappings of their own, which go when they are freed.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        settings = ((_MMAP_THRESHOLD, _MMAP_BYTES), (_TRIM_THRESHOLD, _KEPT_BYTES), (_TOP_PAD, _GROWTH_BYTES))
        return all(mallopt(name, value) == 1 for name, value in settings)
    return False
