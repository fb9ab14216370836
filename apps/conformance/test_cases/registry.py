"""Which module holds which test: adding one is a file and a line."""

from collections.abc import Iterator
from importlib import import_module

from apps.conformance.test_cases.base import TestCase

_STANDARD = {f"12.{n}": f"t12_{n:02}" for n in range(1, 28)}
_OWN = {
    "7.6c": "own_mounting",
    **dict.fromkeys(("8.1a", "8.1b", "11a"), "own_replicas"),
    **dict.fromkeys(("8.1c", "11d"), "own_faults"),
    **dict.fromkeys(("8.2a", "8.2b", "10.1"), "own_transports"),
    **dict.fromkeys(("9.1", "10.2", "10.3"), "own_inventory"),
    "10.6": "own_frameworks",
    "11c": "own_backup",
    **dict.fromkeys(("8.2c", "9.2", "10.4", "10.5"), "own_elsewhere"),
}


def case_of(number: str) -> type[TestCase]:
    """The class of a test. Raises KeyError for a number that is not in the catalogue."""
    import_module(f"apps.conformance.test_cases.{(_STANDARD | _OWN)[number]}")
    return next(kind for kind in _all(TestCase) if getattr(kind, "number", "") == number)


def _all(kind: type[TestCase]) -> Iterator[type[TestCase]]:
    for below in kind.__subclasses__():
        yield below
        yield from _all(below)
