"""Values of a centre's answer, read by their shape; all of it raises CenterBroken for any other shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from apps.centers.adapters.base import CenterBroken, Quantities

_INT64 = 2**63 - 1


def number(record: Mapping[str, Any], name: str) -> int:
    """A whole number of a record, none below zero; 0 where it is left out or null."""
    value = record.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _INT64:
        raise CenterBroken(_("%(field)s of the answer is no number.") % {"field": name})
    return value


def text(record: Mapping[str, Any], name: str) -> str:
    """A text of a record; "" where it is left out or null."""
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise CenterBroken(_("%(field)s of the answer is no text.") % {"field": name})
    return value


def group(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A record within a record; empty where it is left out or null."""
    value = record.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CenterBroken(_("%(field)s of the answer is no record.") % {"field": name})
    return value


def records(answer: object, name: str) -> list[dict[str, Any]]:
    """The records of a list that an answer has to have."""
    found = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise CenterBroken(_("The answer has no list of %(name)s.") % {"name": name})
    return found


def summed(rows: Iterable[Mapping[str, int]]) -> Quantities:
    """All of it together."""
    total: dict[str, int] = {}
    for row in rows:
        for name, count in row.items():
            total[name] = total.get(name, 0) + count
    return Quantities(**total)
