"""Random numbers that the cycle's seed and a request's place in line decide."""

from __future__ import annotations

MASK_64 = (1 << 64) - 1


class Draw:
    """Random numbers of one decision, by the cycle's seed and the request's place in line."""

    __slots__ = ("_first", "_state")

    def __init__(self) -> None:
        self._first = self._state = 0

    def begin(self, seed: int, seq: int) -> None:
        """Another decision."""
        self._first = self._state = (seed * 0x9E3779B97F4A7C15 + seq * 0xBF58476D1CE4E5B9 + 1) & MASK_64

    def again(self) -> None:
        """Start this decision's sequence of numbers over: the next one drawn is its first."""
        self._state = self._first

    def below(self, top: int) -> int:
        """A number from 0 to below `top` (splitmix64)."""
        self._state = z = (self._state + 0x9E3779B97F4A7C15) & MASK_64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK_64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK_64
        return (z ^ (z >> 31)) % top
