"""Which class does which test: adding one is a file and a line."""

from importlib import import_module

from apps.conformance.cases.base import Case

_STANDARD = {f"12.{n}": f"t12_{n:02}" for n in range(1, 28)}
_OWN = {
    number: f"own_{number.replace('.', '_')}"
    for number in (
        "7.6c", "8.1a", "8.1b", "8.1c", "8.2a", "8.2b", "8.2c", "9.1", "9.2",
        "10.1", "10.2", "10.3", "10.4", "10.5", "10.6", "11a", "11c", "11d",
    )
}  # fmt: skip


def case_of(number: str) -> type[Case]:
    """The class of a test. Raises KeyError for a number that is not in the catalogue."""
    name = (_STANDARD | _OWN)[number]
    module = import_module(f"apps.conformance.cases.{name}")
    return next(kind for kind in Case.__subclasses__() if kind.__module__ == module.__name__)
