"""Rows as a file that is sent while it is read: CSV for spreadsheets, JSON lines for programs."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _

from apps.kernel.errors import InvalidInput

Row = Mapping[str, object]
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}
# What a spreadsheet would take for a formula and run.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Line(io.TextIOBase):
    """What the CSV writer writes to: gives each line back instead of keeping it."""

    def write(self, text: str) -> str:  # type: ignore[override]
        return text


def exported(rows: Iterable[Row], columns: Sequence[str], *, form: str, name: str) -> StreamingHttpResponse:
    """`rows` as a download `weir-<name>.<form>`. InvalidInput for a form that is none."""
    if form not in TYPES:
        raise InvalidInput(fields={"format": _("One of %(forms)s.") % {"forms": ", ".join(TYPES)}})
    lines = _csv(rows, columns) if form == "csv" else _jsonl(rows)
    response = StreamingHttpResponse(lines, content_type=TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="weir-{name}.{form}"'
    response["X-Accel-Buffering"] = "no"
    return response


def _jsonl(rows: Iterable[Row]) -> Iterator[str]:
    return (json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)


def _csv(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[str]:
    writer: Any = csv.writer(_Line())
    yield writer.writerow(columns)
    yield from (writer.writerow([_cell(row.get(column)) for column in columns]) for row in rows)


def _cell(value: object) -> object:
    """What people and programs wrote stays text in a spreadsheet; figures stay figures."""
    if value is None:
        return ""
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value
