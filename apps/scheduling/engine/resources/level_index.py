"""Places in lists of equal level: a list is a bit mask over the places, so that "the fullest with 30 % free" costs a
few operations on whole numbers, however many there are."""

from __future__ import annotations

from collections.abc import Iterator


class Levels:
    """Places by a whole number from 0: one bit mask of places a level, and one of the levels that have any."""

    __slots__ = ("masks", "present")

    def __init__(self, top: int) -> None:
        self.masks = [0] * (top + 1)
        self.present = 0

    def add(self, level: int, bit: int) -> None:
        """Put a place in."""
        if not self.masks[level]:
            self.present |= 1 << level
        self.masks[level] |= bit

    def move(self, old: int, new: int, bit: int) -> None:
        """A place goes from one level to another."""
        masks = self.masks
        masks[old] = left = masks[old] ^ bit
        if not left:
            self.present ^= 1 << old
        if not masks[new]:
            self.present |= 1 << new
        masks[new] |= bit

    def highest(self, mask: int) -> int:
        """The highest level at which a place of the mask stands; -1 where none does."""
        present = self.present
        while present:
            level = present.bit_length() - 1
            if self.masks[level] & mask:
                return level
            present ^= 1 << level
        return -1

    def rising(self, least: int = 0) -> Iterator[int]:
        """The masks from a level upwards, the empty ones left out."""
        present = self.present >> least << least
        while present:
            low = present & -present
            yield self.masks[low.bit_length() - 1]
            present ^= low

    def falling(self, least: int = 0) -> Iterator[int]:
        """The masks from the highest level down to `least`, the empty ones left out."""
        present = self.present >> least
        while present:
            level = present.bit_length() - 1
            yield self.masks[level + least]
            present ^= 1 << level
