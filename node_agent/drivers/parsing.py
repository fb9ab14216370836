"""Facts out of what tools print: numbers with units, blocks of `key : value` lines, CSV, JSON. Pure.

Nothing here raises on nonsense: what cannot be read is None, missing or empty.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_MIB_PER = {
    "": 1.0,
    "mib": 1.0,
    "mb": 1.0,
    "gib": 1024.0,
    "gb": 1024.0,
    "kib": 1 / 1024,
    "kb": 1 / 1024,
    "b": 2**-20,
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]i?B|B)?\b", re.I)


def number(text: Any) -> float | None:
    """The first number in a text; None for `N/A` and the like."""
    match = _NUMBER.search(str(text)) if text is not None else None
    return float(match.group()) if match else None


def mib(text: Any, unit: str = "") -> int | None:
    """A size in whole MiB, by the unit in the text, else by `unit` (none: MiB)."""
    match = _SIZE.search(str(text)) if text is not None else None
    if match is None:
        return None
    factor = _MIB_PER.get((match.group(2) or unit).lower(), 1.0)
    return int(float(match.group(1)) * factor)


def blocks(text: str, header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Per block that begins with a line matching `header`: its group 1, and values by `section/key`.

    A section is the last line of less indentation that has no value; the bare key finds its first value.
    """
    pattern = re.compile(header)
    name = ""
    values: dict[str, str] = {}
    sections: list[tuple[int, str]] = []
    is_inside = False
    for line in text.splitlines():
        match = pattern.match(line.strip())
        if match:
            if is_inside:
                yield name, values
            name, values, sections, is_inside = match.group(1), {}, [], True
        elif is_inside and line.strip():
            _take(line, values, sections)
    if is_inside:
        yield name, values


def _take(line: str, values: dict[str, str], sections: list[tuple[int, str]]) -> None:
    indent = len(line) - len(line.lstrip())
    key, _, value = (part.strip() for part in line.partition(":"))
    while sections and sections[-1][0] >= indent:
        sections.pop()
    if not value:
        sections.append((indent, key))
        return
    section = sections[-1][1] if sections else ""
    values.setdefault(f"{section}/{key}", value)
    values.setdefault(key, value)


def csv_rows(text: str, names: tuple[str, ...]) -> list[dict[str, str]]:
    """Rows of a headless CSV as long as `names`; others (a header, a warning) are passed over."""
    rows = (row for row in csv.reader(text.splitlines(), skipinitialspace=True) if len(row) == len(names))
    found = (dict(zip(names, (cell.strip() for cell in row), strict=True)) for row in rows)
    return [row for row in found if row[names[0]].isdigit()]


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in a text, also behind a line of warning; empty where there is none."""
    start = text.find("{")
    try:
        value = json.loads(text[start:]) if start >= 0 else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def first(values: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first of these keys that is there, spelled in any case."""
    lower = {str(key).strip().lower(): value for key, value in values.items()}
    return next((lower[key.lower()] for key in keys if key.lower() in lower), None)


def child(values: Any, key: str) -> Mapping[str, Any]:
    """A nested object; empty where there is none."""
    found = first(values, key) if isinstance(values, Mapping) else None
    return found if isinstance(found, Mapping) else {}
