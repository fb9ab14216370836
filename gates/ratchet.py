"""Ratchets: what a rule does not forgive in new code, counted where it still stands in old code.

A ratchet is a file of lines `<count> <offence>` in gates/ratchets/. An offence that is not in it, or more often than
it says, is refused; one that has gone is taken out by `make ratchets`, and nothing ever adds a line. Offences are
named without the file they stand in where that is possible, so that moving code changes nothing. A rule without a
file forgives nothing.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "ratchets"


def allowed(name: str) -> Counter[str]:
    """What the ratchet of this name still forgives, and how often."""
    file = FOLDER / f"{name}.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    pairs = (line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    return Counter({offence: int(count) for count, offence in pairs})


def beyond(name: str, found: Iterable[str]) -> list[str]:
    """The offences that the ratchet does not forgive, sorted."""
    return sorted((Counter(found) - allowed(name)).elements())


def mended(name: str, found: Iterable[str]) -> list[str]:
    """What the ratchet forgives and nobody does any more, sorted."""
    return sorted((allowed(name) - Counter(found)).elements())


def shrink(name: str, found: Iterable[str]) -> None:
    """Take out what is mended; what is new is not added."""
    left = allowed(name) & Counter(found)
    file = FOLDER / f"{name}.txt"
    if not file.exists():
        return
    comments = [line for line in file.read_text().splitlines() if line.startswith("#")]
    file.write_text("\n".join([*comments, *(f"{left[offence]} {offence}" for offence in sorted(left)), ""]))
