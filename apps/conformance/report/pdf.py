"""The report as a PDF, for somebody who knows the standard: a summary, the matrix, a section for each test."""

import io
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, KeepTogether, PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

from apps.conformance.report.times import seconds_between

LATIN, LATIN_BOLD, CHINESE = "Helvetica", "Helvetica-Bold", "STSong-Light"
INK, SOFT, LINE = colors.HexColor("#1b2434"), colors.HexColor("#667085"), colors.HexColor("#d5dae3")
COLOURS = {
    "passed": colors.HexColor("#1a7f37"),
    "failed": colors.HexColor("#c0362c"),
    "not_run": colors.HexColor("#8a6d00"),
}
WORDS = {"passed": "Passed 通过", "failed": "Not passed 未通过", "not_run": "Not run 未执行"}
_WIDTH = A4[0] - 36 * mm

pdfmetrics.registerFont(UnicodeCIDFont(CHINESE))


def _style(size: float, *, font: str = LATIN, colour: Any = INK, **more: Any) -> ParagraphStyle:
    return ParagraphStyle(
        f"{font}-{size}",
        fontName=font,
        fontSize=size,
        leading=size * 1.4,
        textColor=colour,
        wordWrap="CJK",
        **more,
    )


TITLE, HEAD, BODY = _style(20, font=LATIN_BOLD), _style(12.5, font=LATIN_BOLD, spaceBefore=8), _style(9)
SMALL, MARK = _style(8, colour=SOFT), _style(8.5, alignment=TA_CENTER)


def pdf_of(document: dict[str, Any]) -> bytes:
    """The signed report as a PDF."""
    report, held = document["report"], io.BytesIO()
    story = [*_summary(document), PageBreak(), *_matrix(report), PageBreak(), *_inventory(report)]
    for test in report["tests"]:
        story += _test(test)
    SimpleDocTemplate(
        held,
        pagesize=A4,
        leftMargin=18 * mm,
        rightMargin=18 * mm,
        topMargin=16 * mm,
        bottomMargin=18 * mm,
        title="Weir conformance report",
        author="Weir",
        invariant=1,
    ).build(story, onFirstPage=_foot(document), onLaterPages=_foot(document))
    return held.getvalue()


def _mixed(text: str) -> str:
    """Latin in its own font, the rest in the Chinese one: the CID font's Latin letters are wide apart."""
    parts, is_open = [], False
    for sign in text:
        is_chinese = ord(sign) > 0x2E7F or sign in "“”‘’…—×÷≥≤→✔"
        if is_chinese != is_open:
            parts.append(f'<font name="{CHINESE}">' if is_chinese else "</font>")
            is_open = is_chinese
        parts.append(escape(sign) if sign >= " " else " ")
    return "".join(parts) + ("</font>" if is_open else "")


def _line(text: str, style: ParagraphStyle = BODY) -> Paragraph:
    return Paragraph(_mixed(text), style)


def _both(text: dict[str, str], style: ParagraphStyle = BODY) -> Paragraph:
    return _line(f"{text['en']}　{text['zh']}", style)


def _word(outcome: str, style: ParagraphStyle = BODY) -> Paragraph:
    colour = COLOURS.get(outcome, SOFT).hexval().replace("0x", "#")
    return Paragraph(f'<font color="{colour}"><b>{_mixed(WORDS.get(outcome, outcome))}</b></font>', style)


# --- the first pages ----------------------------------------------------------------------------------------------


def _summary(document: dict[str, Any]) -> list[Flowable]:
    report = document["report"]
    counts = report["counts"]
    reached = report["level_reached"]
    title = next((row["title"] for row in report["levels"] if row["level"] == reached), None)
    rows = [
        ("Standard 标准", f"{report['standard']['en']}　{report['standard']['zh']}"),
        ("Product 产品", f"{report['product']['name']} {report['product']['version']}"),
        ("Run 编号", f"{report['run']} ({report['started_by']})"),
        ("Time 时间", f"{report['started_at']} – {report['ended_at']}"),
        ("Tests 测试项", ", ".join(f"{count} {WORDS[name].lower()}" for name, count in counts.items())),
        ("Level 能力等级", f"{reached}: {title['en']}　{title['zh']}" if title else "none 未达到"),
        ("Hardware 硬件", f"{report['hardware']['text']['en']}　{report['hardware']['text']['zh']}"),
        ("Signed 签名", f"Ed25519, key {document['signature']['public_key']}"),
    ]
    story: list[Flowable] = [
        _line("Conformance report", TITLE),
        _line("算力池化功能测试报告", HEAD),
        Spacer(1, 6 * mm),
        _facts(rows),
        Spacer(1, 5 * mm),
        _levels(report),
    ]
    simulated = [row for row in report["inventory"].get("devices", []) if row["is_simulated"]]
    if simulated:
        names = ", ".join(f"{row['node']} / {row['model']}" for row in simulated)
        story += [Spacer(1, 4 * mm), _line(f"Simulated devices 模拟设备: {names}", BODY)]
    story += [_line(f"Left behind 未清理: {text}") for text in report["left_behind"]]
    return [*story, *([_line(report["note"])] if report["note"] else [])]


def _facts(rows: list[tuple[str, str]]) -> Table:
    table = Table(
        [[_line(name, SMALL), _line(text)] for name, text in rows], colWidths=[34 * mm, _WIDTH - 34 * mm]
    )
    table.setStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("LINEBELOW", (0, 0), (-1, -1), 0.4, LINE)])
    return table


def _levels(report: dict[str, Any]) -> Table:
    rows = [
        [
            _line(f"Level {row['level']} 级"),
            _both(row["title"]),
            _line(f"{len(row['passed'])} / {len(row['required'])}", MARK),
            _line("reached 达到" if row["is_reached"] else "–", MARK),
        ]
        for row in report["levels"]
    ]
    table = Table(rows, colWidths=[26 * mm, _WIDTH - 86 * mm, 30 * mm, 30 * mm])
    table.setStyle([("LINEBELOW", (0, 0), (-1, -1), 0.4, LINE), ("VALIGN", (0, 0), (-1, -1), "MIDDLE")])
    return table


def _matrix(report: dict[str, Any]) -> list[Flowable]:
    """Table A.1 with what came out."""
    head = [
        _line(text, SMALL)
        for text in ("Test 测试", "Function 功能", "L1", "L2", "L3", "L4", "L5", "Outcome 结果")
    ]
    rows = [
        [
            _line(test["number"]),
            _both(test["title"]),
            *(_line("Y" if 0 < test["level"] <= level else "–", MARK) for level in range(1, 6)),
            _word(test["outcome"]),
        ]
        for test in report["tests"]
    ]
    widths = [16 * mm, _WIDTH - 16 * mm - 50 * mm - 36 * mm, *[10 * mm] * 5, 36 * mm]
    table = Table([head, *rows], colWidths=widths, repeatRows=1)
    table.setStyle(
        [
            ("LINEBELOW", (0, 0), (-1, -1), 0.4, LINE),
            ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
            ("TOPPADDING", (0, 0), (-1, -1), 1.5),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 1.5),
        ]
    )
    return [_line("Capability levels (annex A) 能力分级（附录A）", HEAD), Spacer(1, 3 * mm), table]


def _inventory(report: dict[str, Any]) -> list[Flowable]:
    inventory = report["inventory"]
    head = [
        _line(text, SMALL)
        for text in ("Node 节点", "Device 设备", "Vendor 厂商", "Memory 显存", "Driver 驱动")
    ]
    rows = [
        [
            _line(row["node"]),
            _line(f"{row['model']}{' (simulated 模拟)' if row['is_simulated'] else ''}"),
            _line(row["vendor"]),
            _line(f"{row['memory_mib']} MiB"),
            _line(row.get("driver_version") or "–"),
        ]
        for row in inventory.get("devices", [])
    ]
    table = Table(
        [head, *rows], colWidths=[28 * mm, _WIDTH - 112 * mm, 26 * mm, 26 * mm, 32 * mm], repeatRows=1
    )
    table.setStyle([("LINEBELOW", (0, 0), (-1, -1), 0.4, LINE), ("VALIGN", (0, 0), (-1, -1), "TOP")])
    versions = ", ".join(f"{name} {text}" for name, text in inventory.get("versions", {}).items() if text)
    agents = ", ".join(f"{row['name']}: agent {row['agent_version']}" for row in inventory.get("nodes", []))
    return [
        _line("What was examined 被测资源", HEAD),
        _line(versions, SMALL),
        _line(agents, SMALL),
        Spacer(1, 3 * mm),
        table,
        Spacer(1, 6 * mm),
    ]


# --- one test -----------------------------------------------------------------------------------------------------


def _test(test: dict[str, Any]) -> list[Flowable]:
    seconds = seconds_between(test["started_at"], test["ended_at"])
    facts = [
        f"Clauses 条款: {', '.join(test['clauses'])}",
        f"Preconditions 预置条件: {'; '.join(text['en'] for text in test['preconditions'])}",
        f"{test['started_at'] or '–'}, {seconds:.0f} s",
        f"Hardware 硬件: {_devices(test['hardware'])}",
    ]
    head = [
        _line(f"{test['number']}　{test['title']['en']}　{test['title']['zh']}", HEAD),
        _word(test["outcome"]),
        *([_line(test["reason"])] if test["reason"] else []),
        *(_line(text, SMALL) for text in facts),
    ]
    story: list[Flowable] = [KeepTogether(head)]
    if any(step["notes"] for step in test["steps"]):
        story.append(_rows([row for step in test["steps"] for row in _step(step)]))
    if any(part["notes"] for part in test["expectations"]):
        story.append(_rows([_expectation(part) for part in test["expectations"]]))
    return [*story, Spacer(1, 4 * mm)]


def _devices(kinds: list[dict[str, Any]]) -> str:
    names = [
        f"{kind['vendor']} {kind['model']}{' (simulated 模拟)' if kind['is_simulated'] else ''}"
        for kind in kinds
    ]
    return ", ".join(names) or "–"


def _rows(rows: list[list[Any]]) -> Table:
    table = Table(rows, colWidths=[14 * mm, _WIDTH - 14 * mm])
    table.setStyle(
        [
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("LINEBELOW", (0, 0), (-1, -1), 0.3, LINE),
            ("TOPPADDING", (0, 0), (-1, -1), 2),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 2),
        ]
    )
    return table


def _step(step: dict[str, Any]) -> list[list[Any]]:
    rows: list[list[Any]] = [[_line(step["step"], SMALL), _both(step["text"])]]
    for note in step["notes"]:
        figures = ", ".join(f"{name} {value}" for name, value in note["figures"].items())
        text = f"{note['asked']} → {note['seen']}{f' ({figures})' if figures else ''}"
        rows.append(["", _line(text, SMALL)])
    return rows


def _expectation(part: dict[str, Any]) -> list[Any]:
    mark = _line("met" if part["is_met"] else "not met", SMALL)
    evidence = [_line(note["evidence"], SMALL) for note in part["notes"]]
    return [[_line(part["expectation"], SMALL), mark], [_both(part["text"]), *evidence]]


def _foot(document: dict[str, Any]) -> Any:
    def draw(canvas: Canvas, pages: Any) -> None:
        canvas.setFont(LATIN, 7.5)
        canvas.setFillColor(SOFT)
        canvas.drawString(18 * mm, 10 * mm, f"Weir conformance report {document['report']['run']}")
        canvas.drawRightString(A4[0] - 18 * mm, 10 * mm, str(pages.page))

    return draw
