"""Rows as a file that is sent while it is read: CSV for spreadsheets, JSON lines for programs."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _

from apps.kernel.errors import InvalidInput
from apps.kernel.spreadsheet import CSV_TYPE, csv_lines

Row = Mapping[str, object]
TYPES = {"csv": CSV_TYPE, "jsonl": "application/x-ndjson; charset=utf-8"}


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
    yield from csv_lines([columns])
    yield from csv_lines([row.get(column) for column in columns] for row in rows)
