"""Masks: whole numbers whose bit n stands for the thing at place n."""

from __future__ import annotations

import numpy as np

# Below so many places, walking from bit to bit is quicker than unpacking them all at once.
_FEW = 16


def places(mask: int) -> list[int]:
    """The places of a mask's set bits, the first first."""
    if mask.bit_count() > _FEW:
        packed = np.frombuffer(mask.to_bytes((mask.bit_length() + 7) // 8, "little"), np.uint8)
        found: list[int] = np.flatnonzero(np.unpackbits(packed, bitorder="little")).tolist()
        return found
    few = []
    while mask:
        low = mask & -mask
        few.append(low.bit_length() - 1)
        mask ^= low
    return few
