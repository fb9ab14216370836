"""Tables as files: nothing that is written or read is run, and what comes from outside is bounded first."""

import io
import time
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

from apps.kernel.errors import InvalidInput, TooLarge, WeirError
from apps.kernel.spreadsheet import FILE_MAX_BYTES, ROWS_MAX, csv_lines, table_read
from apps.kernel.workbook import xlsx_pieces
from tests.examples import examples

DANGEROUS = ("=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://x")', "=cmd|' /C calc'!A0")


def cells(data):
    return [line.cells for line in table_read(data)]


def xlsx_whole(sheets):
    return b"".join(xlsx_pieces(sheets))


def workbook(rows):
    book, written = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(written)
    return written.getvalue()


def repacked(data, name, change):
    """The workbook with one part changed."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            body = old.read(part)
            new.writestr(part.filename, change(body) if part.filename == name else body)
    return written.getvalue()


@pytest.mark.parametrize("text", DANGEROUS)
def test_what_begins_a_formula_is_written_as_text_and_read_back(text):
    line = "".join(csv_lines([[text, "plain", -5, None]]))
    assert line.lstrip('"').startswith("'"), "no spreadsheet takes it for a formula"
    assert line.rstrip().endswith("plain,-5,"), "figures stay figures"
    assert cells(f"{line}".encode())[0][0] == text
    data = xlsx_whole([("People", [["Name"], [text]])])
    cell = load_workbook(io.BytesIO(data)).active["A2"]
    assert (cell.data_type, cell.value) == ("s", text)
    assert cells(data) == [("Name",), (text,)]


# What a cell may hold: no control characters, none that XML cannot.
_LETTERS = st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp"), max_codepoint=0xFFFD)
WORDS = st.text(_LETTERS, max_size=20).map(str.strip)


@given(st.lists(st.lists(WORDS, min_size=2, max_size=2), min_size=1, max_size=5))
def test_what_is_written_is_read_back(rows):
    rows = [["Name", "Roles"], *(row for row in rows if any(row))]
    wanted = [tuple(row) for row in rows]
    if any(text.startswith("'") for row in wanted for text in row):
        return
    assert cells(xlsx_whole([("People", rows)])) == wanted
    assert cells("".join(csv_lines(rows)).encode()) == wanted


def test_a_formula_is_refused_by_its_cell_and_never_computed():
    lines = table_read(workbook([["Name"], ["=1+1"], ["Bob"], [3.0]]))
    assert lines[1].fault == "A2 holds a formula."
    assert [line.cells[0] for line in lines[2:]] == ["Bob", "3"]
    assert [line.number for line in lines] == [1, 2, 3, 4]


def test_csv_as_spreadsheets_of_several_countries_save_it():
    assert cells("\ufeff姓名;角色\r\n张三;管理员\r\n".encode()) == [("姓名", "角色"), ("张三", "管理员")]
    assert cells("姓名,角色\r\n张三,管理员\r\n".encode("gb18030")) == [("姓名", "角色"), ("张三", "管理员")]
    assert cells(b"Name\tRoles\nBob\tx\n") == [("Name", "Roles"), ("Bob", "x")]
    assert [line.number for line in table_read(b"Name\n\n\nBob\n")] == [1, 4], (
        "numbered as a spreadsheet does"
    )


def test_rows_that_hold_too_much_are_named():
    line = table_read(b"Name\n" + b"x" * 3000)[1]
    assert "2000" in line.fault
    assert table_read(b"Name\n" + b"," * 60)[1].fault
    assert table_read(b"Name\nBob\x07")[1].fault
    assert table_read(b'Name\n"Bob\nBcc: x"')[1].fault


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04",
        b"PK\x03\x04" + b"x" * 500,
        b"\xff\xfe\x00\x00\x00",
        b"\x00" * 20,
        b"\x89PNG\r\n\x1a\n\xff" * 9,
    ],
)
def test_what_is_no_table_is_said_to_be_none(data):
    with pytest.raises(InvalidInput, match="cannot be read"):
        table_read(data)


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_read_or_refused(data, is_zip):
    with suppress(WeirError):
        table_read(b"PK\x03\x04" * is_zip + data)


def test_too_many_rows_and_too_many_bytes_are_refused():
    assert len(table_read(b"Name\n" + b"Bob\n" * ROWS_MAX)) == ROWS_MAX + 1
    with pytest.raises(TooLarge, match=str(ROWS_MAX)):
        table_read(b"Name\n" + b"Bob\n" * (ROWS_MAX + 1))
    with pytest.raises(TooLarge, match="1024 KiB"):
        table_read(b"x" * (FILE_MAX_BYTES + 1))


def test_a_workbook_that_unpacks_to_too_much_is_refused_before_it_is():
    bomb = repacked(workbook([["Name"]]), "xl/worksheets/sheet1.xml", lambda body: body + b" " * 40_000_000)
    assert len(bomb) < FILE_MAX_BYTES
    began = time.monotonic()
    with pytest.raises(TooLarge, match="unpacks to too much"):
        table_read(bomb)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("part", "before", "more", "times"),
    [
        ("xl/styles.xml", b"</cellXfs>", b"<xf/>", 100_000),
        ("xl/styles.xml", b"</cellXfs>", b"<xf/>", 50_000),
        ("xl/workbook.xml", b"</sheets>", b'<sheet name="a"/>', 30_000),
        ("xl/worksheets/sheet1.xml", b"</row>", b"<c/>", 250_000),
        ("xl/worksheets/sheet1.xml", b"</sheetData>", b" ", 4_200_000),
    ],
)
def test_a_small_workbook_with_very_many_elements_is_refused_before_they_are_made(part, before, more, times):
    data = repacked(workbook([["Name"]]), part, lambda body: body.replace(before, more * times + before))
    assert len(data) < 16 * 1024
    with pytest.raises(TooLarge, match="unpacks to too much"):
        table_read(data)


def test_a_full_table_with_styles_is_read():
    rows = [[f"Column {number}" for number in range(12)]] + [["some words"] * 12] * ROWS_MAX
    assert len(cells(xlsx_whole([("People", rows), ("Roles", rows[:50])]))) == ROWS_MAX + 1


def test_a_document_type_in_a_part_of_any_name_is_refused():
    def renamed(body):
        return body.replace(b"/xl/workbook.xml", b"/xl/workbook.bin")

    data = repacked(workbook([["Name"]]), "[Content_Types].xml", renamed)
    added = io.BytesIO(data)
    with zipfile.ZipFile(added, "a") as archive:
        archive.writestr("xl/workbook.bin", '<!DOCTYPE x [<!ENTITY a "words">]><x>&a;</x>')
    with pytest.raises(InvalidInput, match="cannot be read") as refused:
        table_read(added.getvalue())
    assert refused.value.__cause__ is None, "refused before it is parsed"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused(encoding):
    entities = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'
    data = repacked(workbook([["Name"]]), "xl/workbook.xml", lambda _body: entities.encode(encoding))
    with pytest.raises(InvalidInput, match="cannot be read"):
        table_read(data)


def test_a_row_far_below_costs_nothing():
    far = workbook([["Name"], ["Bob"]])

    def moved(body):
        return body.replace(b'r="2"', b'r="999999999"').replace(b"A2", b"A999999999")

    data = repacked(far, "xl/worksheets/sheet1.xml", moved)
    began = time.monotonic()
    assert cells(data) == [("Name",)]
    assert time.monotonic() - began < 5


def test_a_workbook_keeps_figures_and_times_and_comes_in_pieces_however_long_it_is():
    made, last = 0, max(examples(20_000), 5_000)

    def rows():
        nonlocal made
        yield ["No", "Total (CNY)", "Made at", "Note"]
        for number in range(last):
            made += 1
            yield [
                f"B{number}-{uuid4()}",
                Decimal("12.50"),
                datetime(2026, 11, 27, 9, 30, 15, tzinfo=UTC),
                "\x00<&>一",
            ]

    pieces = xlsx_pieces([("Bills: all/of [them]", rows())])
    first = next(pieces)
    assert made < last, "the first piece is there before the last row was asked for"
    book = load_workbook(io.BytesIO(first + b"".join(pieces)), read_only=True)
    sheet = book.worksheets[0]
    found = list(sheet.iter_rows(values_only=True))
    assert found[0] == ("No", "Total (CNY)", "Made at", "Note")
    assert found[-1][0].startswith(f"B{last - 1}-")
    number, instant, note = found[-1][1:]
    assert (number, str(instant), note) == (12.5, "2026-11-27 09:30:15", "<&>一")
    assert len(found) == last + 1
