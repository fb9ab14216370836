"""The steps of a ticket: what they are called, which comes after one, and which came before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from apps.kernel.translatable import localized

Step = Mapping[str, Any]


def step_name(step: Step) -> str:
    """What a step is called in the language of the reader."""
    return localized(step["name_zh"], step["name_en"])


def step_called(steps: Iterable[Step], key: str | None) -> str:
    """What the step of that key is called; empty for none."""
    return next((step_name(step) for step in steps if step["key"] == key), "")


def step_after(steps: Sequence[Step], key: str, known: Iterable[str]) -> str | None:
    """The key of the next of a ticket's steps that its category still knows; None after the last."""
    return next(_beside(steps, key, known, is_forward=True), None)


def step_before(steps: Sequence[Step], key: str, known: Iterable[str]) -> str | None:
    """The key of the nearest earlier one of a ticket's steps that its category still knows; None at the first."""
    return next(_beside(steps, key, known, is_forward=False), None)


def _beside(steps: Sequence[Step], key: str, known: Iterable[str], *, is_forward: bool) -> Iterator[str]:
    keys = [str(step["key"]) for step in steps]
    place = keys.index(key) if key in keys else 0
    found = keys[place + 1 :] if is_forward else keys[:place][::-1]
    offered = set(known)
    return (one for one in found if one in offered)
