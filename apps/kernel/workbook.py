"""XLSX written as its rows come, so that a table of any length takes as little memory as a short one.

Every text is a text: nothing that is written here is a formula, whatever it begins with.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from io import RawIOBase
from typing import Any
from xml.sax.saxutils import escape, quoteattr

# Excel's own bound, its first row being the head.
ROWS_MAX = 1_048_575
_CELL_MAX = 32_767
_TITLE_MAX = 31
_WIDTH_MOST = 60
_PIECE_BYTES = 64 * 1024
# What XML cannot hold at all.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_TITLE_UNFIT = re.compile(r"[\\/*?:\[\]]")
# Days are counted from here; Excel takes 1900 for a leap year.
_DAY_ZERO = date(1899, 12, 30).toordinal()
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# The looks of cells, by their place in the styles below.
_TEXT, _HEAD, _NUMBER, _INSTANT = range(4)
_STYLES = f"""{_XML}<styleSheet xmlns="{_MAIN}">
<numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/></numFmts>
<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>
<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>
<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>
<cellXfs count="4">
<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>
<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1" applyNumberFormat="1"/>
<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>
<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>
</cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>
</styleSheet>"""

XLSX_TYPE = f"{_KIND}.sheet"


def xlsx_pieces(sheets: Sequence[tuple[str, Iterable[Sequence[object]]]]) -> Iterator[bytes]:
    """A workbook, piece by piece, of sheets of a title and rows, the first of which is the head.

    Figures and times stay what they are (times as of the zone that they carry); all else is text. The head is bold and
    stays in sight.
    """
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive:
        for name, text in _frame([title for title, _rows in sheets]):
            archive.writestr(name, text)
        for number, (_title, rows) in enumerate(sheets, 1):
            with archive.open(f"xl/worksheets/sheet{number}.xml", "w") as part:
                for text in _sheet(iter(rows)):
                    part.write(text.encode())
                    if sink.size >= _PIECE_BYTES:
                        yield sink.taken()
    yield sink.taken()


class _Sink(RawIOBase):
    """Where the archive is written to: keeps what nobody has taken yet."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        self.size += len(data)
        return len(data)

    def taken(self) -> bytes:
        whole = b"".join(self._pieces)
        self._pieces, self.size = [], 0
        return whole


def _frame(titles: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The parts of a workbook beside its sheets."""
    numbers = range(1, len(titles) + 1)
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_KIND}.worksheet+xml"/>'
        for n in numbers
    )
    yield (
        "[Content_Types].xml",
        f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_KIND}.styles+xml"/>{overrides}</Types>',
    )
    yield "_rels/.rels", _links([("rId1", "officeDocument", "xl/workbook.xml")])
    names = "".join(
        f'<sheet name={quoteattr(_title(title))} sheetId="{n}" r:id="rId{n}"/>'
        for n, title in zip(numbers, titles, strict=True)
    )
    yield (
        "xl/workbook.xml",
        f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{names}</sheets></workbook>',
    )
    sheets = [(f"rId{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in numbers]
    yield "xl/_rels/workbook.xml.rels", _links([*sheets, (f"rId{len(titles) + 1}", "styles", "styles.xml")])
    yield "xl/styles.xml", _STYLES


def _links(links: Sequence[tuple[str, str, str]]) -> str:
    told = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>' for key, kind, target in links
    )
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{told}</Relationships>'


def _title(text: str) -> str:
    return _TITLE_UNFIT.sub(" ", _UNPRINTABLE.sub("", text))[:_TITLE_MAX] or "1"


def _sheet(rows: Iterator[Sequence[object]]) -> Iterator[str]:
    """One sheet, a text for each row; a column is as wide as its head, and as a time at least."""
    head = next(rows, ())
    widths = "".join(
        f'<col min="{n}" max="{n}" width="{min(max(20, _width(str(name)) + 2), _WIDTH_MOST)}" customWidth="1"/>'
        for n, name in enumerate(head, 1)
    )
    yield (
        f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
        f"{f'<cols>{widths}</cols>' if widths else ''}<sheetData>"
    )
    yield f"<row>{''.join(_text(name, _HEAD) for name in head)}</row>"
    for row in rows:
        yield f"<row>{''.join(map(_cell, row))}</row>"
    yield "</sheetData></worksheet>"


def _width(text: str) -> int:
    """In Latin letters, of which a Chinese sign takes two."""
    return sum(1 if ord(sign) < 0x2E80 else 2 for sign in text)


def _cell(value: object) -> str:
    if value is None or value == "":
        return "<c/>"
    # A truth is a whole number to Python.
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return f'<c s="{_NUMBER}"><v>{value}</v></c>'
    if isinstance(value, datetime):
        return f'<c s="{_INSTANT}"><v>{_days(value)}</v></c>'
    return _text(value.isoformat() if isinstance(value, date) else value, _TEXT)


def _days(instant: datetime) -> float:
    seconds = instant.hour * 3600 + instant.minute * 60 + instant.second
    return round(instant.toordinal() - _DAY_ZERO + seconds / 86400, 8)


def _text(value: object, look: int) -> str:
    text = escape(_UNPRINTABLE.sub("", str(value))[:_CELL_MAX])
    return f'<c t="inlineStr" s="{look}"><is><t xml:space="preserve">{text}</t></is></c>'
