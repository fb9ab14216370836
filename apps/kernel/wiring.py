"""The table of upward edges, filled by the module that `settings.WEIR_WIRING` names (`portal/wiring.py`)."""

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from django.conf import settings

from apps.kernel.actor import Act, Actor

Within = Callable[[Any, Actor], object]
After = Callable[[Any], object]
_within: dict[type, list[Within]] = defaultdict(list)
_after: dict[type, list[After]] = defaultdict(list)
_recorders: list[Callable[[Act], object]] = []


def within(event: type, handler: Within) -> None:
    """Run `handler(event, actor)` in the transaction that emits the event; its failure undoes the whole."""
    _within[event].append(handler)


def after(event: type, handler: After) -> None:
    """Run `handler(event)` once the transaction has committed. A hint only: a sweep must find what it lost."""
    _after[event].append(handler)


def recorder(record: Callable[[Act], object]) -> None:
    """Keep every act through `record(act)`, in the act's own transaction."""
    _recorders.append(record)


@cache
def _load() -> None:
    import_module(settings.WEIR_WIRING)


def handlers_within(event: type) -> list[Within]:
    _load()
    return _within[event]


def handlers_after(event: type) -> list[After]:
    _load()
    return _after[event]


def recorders() -> list[Callable[[Act], object]]:
    _load()
    return _recorders
