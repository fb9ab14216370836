"""A whole list as a file for spreadsheets.

It is written within the request, by the tenant, the language and the zone of who asked, and kept on disk beyond its
first megabyte: however long the list, it takes no more memory, and a fault is told as one and not as half a file.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from itertools import islice
from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.pages.lists.declared import Column
from apps.kernel.errors import TooLarge
from apps.kernel.spreadsheet import CSV_TYPE, csv_pieces
from apps.kernel.workbook import XLSX_TYPE, xlsx_pieces

FORMS = {"csv": CSV_TYPE, "xlsx": XLSX_TYPE}
# More takes longer to write than a browser waits.
ROWS_MAX = 500_000
_AT_ONCE = 2000
Prepare = Callable[[Sequence[Any]], Sequence[Any] | None]
_IN_MEMORY_BYTES = 2**20


def prepared(rows: list[Any], prepare: Prepare | None) -> list[Any]:
    """The rows, or what `prepare` (see `show_list`) says stands for them."""
    found = prepare(rows) if prepare is not None else None
    return rows if found is None else list(found)


def list_file(
    name: str,
    form: str,
    columns: Sequence[Column],
    rows: QuerySet[Any],
    *,
    prepare: Prepare | None = None,
) -> FileResponse:
    """All rows as a download `weir-<name>-<day>.<form>`, with a head in the reader's language.

    Args:
        form: one of `FORMS`.
        prepare: see `show_list`.

    Raises:
        TooLarge: more than `ROWS_MAX` rows.
    """
    written = [column for column in columns if column.value is not None]
    lines = _lines(written, rows, prepare)
    pieces = csv_pieces(lines) if form == "csv" else xlsx_pieces([(_("List"), lines)])
    # Closed by the answer, once it is sent.
    file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115
    try:
        for piece in pieces:
            file.write(piece)
    except BaseException:
        file.close()
        raise
    size = file.tell()
    file.seek(0)
    answer = FileResponse(
        file,
        as_attachment=True,
        filename=f"weir-{name.replace('_', '-')}-{timezone.localdate().isoformat()}.{form}",
        content_type=FORMS[form],
    )
    answer["Content-Length"] = str(size)
    return answer


def _lines(columns: Sequence[Column], rows: QuerySet[Any], prepare: Prepare | None) -> Iterator[list[object]]:
    yield [column.heading for column in columns]
    found, count = rows.iterator(chunk_size=_AT_ONCE), 0
    while some := list(islice(found, _AT_ONCE)):
        count += len(some)
        if count > ROWS_MAX:
            raise TooLarge(
                _("The list has more than %(limit)s rows.") % {"limit": ROWS_MAX},
                cure=_("Narrow it, and export it in parts."),
            )
        for row in prepared(some, prepare):
            yield [_plain(column.value_of(row)) for column in columns]


def _plain(value: object) -> object:
    """A value as a spreadsheet is given it: instants by the clock of the zone that is set, truths in words."""
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, datetime):
        return timezone.localtime(value)
    if isinstance(value, date):
        return value.isoformat()
    # A choice has a label beside its value, a figure is one.
    return (
        value if value is None or isinstance(value, int | float) or hasattr(value, "as_tuple") else str(value)
    )
