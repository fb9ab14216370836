"""Tables as files that spreadsheets open: CSV written and read, XLSX read (`workbook` writes it).

Nothing is run on either side. What is written begins no formula; a formula that is read is refused by its row. What
comes from outside is bounded before it is unpacked.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.kernel.control_characters import has_control
from apps.kernel.errors import InvalidInput, TooLarge

CSV_TYPE = "text/csv; charset=utf-8"
FILE_MAX_BYTES = 1024 * 1024
ROWS_MAX = 1000
_COLUMNS_MAX = 40
_CELL_MAX = 2000
# Blank rows count here alone: a sheet that has more is not read on.
_LINES_MAX = 20 * ROWS_MAX
_UNPACKED_MAX_BYTES = 4 * 1024 * 1024
# A part without rows, such as the styles: a spreadsheet writes little there, and each of its elements costs the reader
# many times its bytes.
_PART_MAX_BYTES = 256 * 1024
_PARTS_WITH_ROWS = re.compile(r"xl/(sharedStrings|worksheets/[^/]+)\.xml")
_PART_MAX_ELEMENTS = 16_000
_ELEMENTS_MAX = 200_000
_PARTS_MAX = 200
# What a spreadsheet would take for a formula and run.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ZIP = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table that was read: its number as a spreadsheet shows it, its cells, and why it cannot be taken."""

    number: int
    cells: tuple[str, ...]
    fault: str = ""


# --- writing ---------------------------------------------------------------------------------------------------


class _Written(io.TextIOBase):
    """What the CSV writer writes to: gives each line back instead of keeping it."""

    def write(self, text: str) -> str:  # type: ignore[override]
        return text


def csv_lines(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The rows as lines of CSV. What people and programs wrote stays text in a spreadsheet; figures stay figures."""
    writer: Any = csv.writer(_Written())
    return (writer.writerow([_csv_cell(value) for value in row]) for row in rows)


def csv_pieces(rows: Iterable[Sequence[object]]) -> Iterator[bytes]:
    """A whole file of CSV, piece by piece, that spreadsheets take for UTF-8."""
    # Without this mark they read it in their system's own encoding.
    yield "\ufeff".encode()
    for line in csv_lines(rows):
        yield line.encode()


def _csv_cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


# --- reading ---------------------------------------------------------------------------------------------------


def table_read(data: bytes, rows_max: int = ROWS_MAX) -> list[Line]:
    """The rows of a CSV file, or of the first sheet of an XLSX one, without those that are blank.

    Raises:
        TooLarge: more than `FILE_MAX_BYTES`, or than `rows_max` rows below the first.
        InvalidInput: neither the one nor the other.
    """
    if len(data) > FILE_MAX_BYTES:
        raise TooLarge(
            _("The file is larger than %(limit)s KiB.") % {"limit": FILE_MAX_BYTES // 1024},
            cure=_("Send it in parts."),
        )
    found = _xlsx_lines(data) if data.startswith(_ZIP) else _csv_read(data)
    lines = []
    for line in found:
        if not any(line.cells) and not line.fault:
            continue
        lines.append(line)
        if len(lines) > rows_max + 1:
            raise TooLarge(
                _("The file has more than %(limit)s rows.") % {"limit": rows_max}, cure=_("Send it in parts.")
            )
    return lines


def _line(number: int, cells: Sequence[str], fault: str = "") -> Line:
    texts = tuple(_plain(text) for text in cells)
    if len(texts) > _COLUMNS_MAX:
        fault = fault or _("It has more than %(most)s cells.") % {"most": _COLUMNS_MAX}
    if any(len(text) > _CELL_MAX for text in texts):
        fault = fault or _("A cell holds more than %(most)s characters.") % {"most": _CELL_MAX}
    if any(has_control(text) or _SURROGATE.search(text) for text in texts):
        fault = fault or _("A cell holds line breaks or characters that cannot be printed.")
    return Line(number, tuple(text[:_CELL_MAX] for text in texts[:_COLUMNS_MAX]), fault)


def _plain(text: str) -> str:
    """Without the mark that keeps a spreadsheet from running it."""
    text = text.strip()
    return text[1:] if text.startswith(tuple(f"'{mark}" for mark in _FORMULA)) else text


def _csv_read(data: bytes) -> Iterator[Line]:
    text = _decoded(data)
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    try:
        for number, cells in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), 1):
            yield _line(number, cells)
    except csv.Error as error:
        raise _unreadable() from error


def _decoded(data: bytes) -> str:
    """Spreadsheets in China save CSV in their system's own encoding."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text
    raise _unreadable()


def _xlsx_lines(data: bytes) -> Iterator[Line]:
    from openpyxl import load_workbook

    _parts_check(data)
    try:
        book = load_workbook(io.BytesIO(data), read_only=True, keep_links=False)
        for number, row in enumerate(book.worksheets[0].iter_rows(max_row=_LINES_MAX), 1):
            formula = next((cell.coordinate for cell in row if cell.data_type == "f"), "")
            fault = _("%(cell)s holds a formula.") % {"cell": formula} if formula else ""
            yield _line(number, [_xlsx_text(cell.value) for cell in row], fault)
    except Exception as error:
        # Of a broken workbook openpyxl raises whatever it stumbles over.
        raise _unreadable() from error


def _parts_check(data: bytes) -> None:
    """Refuse what unpacks to too much, and a document type, by which a reader could be made to build or fetch more."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            sizes = [(_has_rows(part), part.file_size) for part in parts]
            if len(parts) > _PARTS_MAX or _is_too_much(sizes, _PART_MAX_BYTES, _UNPACKED_MAX_BYTES):
                raise _too_much()
            # All of them: a workbook says itself which of its parts is what, whatever their names.
            texts = [(_has_rows(part), archive.read(part)) for part in parts]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise _unreadable() from error
    elements = [(has_rows, text.count(b"<")) for has_rows, text in texts]
    if _is_too_much(elements, _PART_MAX_ELEMENTS, _ELEMENTS_MAX):
        raise _too_much()
    # As UTF-16 the same words have a NUL between their letters.
    if any(b"<!DOCTYPE" in text.replace(b"\x00", b"").upper() for _has, text in texts):
        raise _unreadable()


def _has_rows(part: zipfile.ZipInfo) -> bool:
    return _PARTS_WITH_ROWS.fullmatch(part.filename) is not None


def _is_too_much(counts: list[tuple[bool, int]], most_without_rows: int, most: int) -> bool:
    """Whether all parts together are above `most`, or one that has no rows is above its own bound."""
    return sum(count for _has, count in counts) > most or any(
        count > most_without_rows for has_rows, count in counts if not has_rows
    )


def _too_much() -> TooLarge:
    return TooLarge(_("The workbook unpacks to too much."), cure=_("Send it as CSV."))


def _xlsx_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def _unreadable() -> InvalidInput:
    return InvalidInput(
        _("The file cannot be read as a table."),
        fields={"file": _("Neither CSV nor an XLSX workbook.")},
        cure=_("Begin with the template, and save it as CSV (UTF-8) or XLSX."),
    )
