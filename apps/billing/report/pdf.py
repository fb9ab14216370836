"""A bill as a PDF: seller and buyer, its parts with subtotals over as many pages as they need, and how it was paid.

Pages are drawn one after the other from parts that are read as they are drawn, so a bill of ten thousand lines costs no
more memory than one of ten. How many pages there are is counted first, by the lengths of its parts alone.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal

from django.utils.translation import gettext as _
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from apps.billing.types import BillDocument, BillPart, Party
from apps.kernel.money import ZERO

LATIN, BOLD, CHINESE = "Helvetica", "Helvetica-Bold", "STSong-Light"
INK, SOFT, LINE = colors.HexColor("#1b2434"), colors.HexColor("#5b6472"), colors.HexColor("#d5dae3")
WIDTH, HEIGHT = A4
LEFT, RIGHT, TOP, BOTTOM = 18 * mm, WIDTH - 18 * mm, HEIGHT - 18 * mm, 22 * mm
ROW = 5.2 * mm
# The right edges of the figures' columns; what a line is for stands left of the first.
_ENDS = (RIGHT - 92 * mm, RIGHT - 56 * mm, RIGHT - 26 * mm, RIGHT)
_PART_HEAD = 2 * ROW
_CUT = "…"

pdfmetrics.registerFont(UnicodeCIDFont(CHINESE))


def pdf_of(document: BillDocument, lengths: Sequence[int], parts: Iterable[BillPart]) -> bytes:
    """The bill as a PDF in the reader's language. `lengths`: how many lines each of `parts` has, in order."""
    counted = _Pen(document)
    _draw(counted, document, ((None, length) for length in lengths))
    held = io.BytesIO()
    canvas = Canvas(held, pagesize=A4, pageCompression=1, invariant=1)
    canvas.setTitle(_("Bill %(no)s") % {"no": document.no})
    canvas.setAuthor(document.seller.name)
    _draw(_Pen(document, canvas, counted.page), document, ((part, len(part.lines)) for part in parts))
    canvas.save()
    return held.getvalue()


class _Pen:
    """Where the next line goes. Without a canvas nothing is drawn: only the pages are counted."""

    def __init__(self, document: BillDocument, canvas: Canvas | None = None, pages: int = 0) -> None:
        self.document, self.canvas, self.pages = document, canvas, pages
        self.page, self.y = 1, TOP

    def room(self, height: float) -> None:
        """Go on on the next page where less than that is left of this one."""
        if self.y - height >= BOTTOM:
            return
        self.end()
        if self.canvas:
            self.canvas.showPage()
        self.page += 1
        self.y = TOP
        self.text(LEFT, _("Bill %(no)s") % {"no": self.document.no}, 8, colour=SOFT)
        self.text(
            RIGHT, f"{self.document.seller.name} → {self.document.buyer.name}", 8, colour=SOFT, right=True
        )
        self.y -= ROW
        _columns(self)

    def end(self) -> None:
        """The foot of a page."""
        words = {"page": self.page, "pages": self.pages}
        here, self.y = self.y, BOTTOM - 9 * mm
        self.text(RIGHT, _("Page %(page)s of %(pages)s") % words, 8, colour=SOFT, right=True)
        self.text(LEFT, self.document.no, 8, colour=SOFT)
        self.y = here

    def rule(self, gap: float = 1.6 * mm) -> None:
        if self.canvas:
            self.canvas.setStrokeColor(LINE)
            self.canvas.setLineWidth(0.5)
            self.canvas.line(LEFT, self.y - gap, RIGHT, self.y - gap)

    def text(
        self,
        x: float,
        text: str,
        size: float = 9,
        *,
        bold: bool = False,
        colour: colors.Color = INK,
        right: bool = False,
        most: float = 0,
    ) -> None:
        """One line of text at the pen, cut where it is wider than `most`."""
        if not self.canvas:
            return
        shown = _fitted(text, size, bold, most) if most else text
        self.canvas.setFillColor(colour)
        at = x - _wide(shown, size, bold) if right else x
        for run, font in _runs(shown, bold):
            self.canvas.setFont(font, size)
            self.canvas.drawString(at, self.y, run)
            at += pdfmetrics.stringWidth(run, font, size)


# --- text ------------------------------------------------------------------------------------------------------


def _runs(text: str, bold: bool) -> Iterator[tuple[str, str]]:
    """Latin in its own font, the rest in the Chinese one, which has no letters of a width of their own."""
    latin, kept, font = BOLD if bold else LATIN, "", ""
    if text.isascii() and text.isprintable():
        yield text, latin
        return
    for sign in text:
        wanted = latin if ord(sign) < 0x250 else CHINESE
        if wanted != font and kept:
            yield kept, font
            kept = ""
        font, kept = wanted, kept + (sign if sign >= " " else " ")
    if kept:
        yield kept, font


def _wide(text: str, size: float, bold: bool = False) -> float:
    return float(sum(pdfmetrics.stringWidth(run, font, size) for run, font in _runs(text, bold)))


def _fitted(text: str, size: float, bold: bool, most: float) -> str:
    if _wide(text, size, bold) <= most:
        return text
    while text and _wide(text + _CUT, size, bold) > most:
        text = text[:-1]
    return text + _CUT


def _wrapped(text: str, size: float, most: float) -> list[str]:
    """The text in lines that fit, broken between words, within one where there is no blank."""
    lines = []
    while text and _wide(text, size) > most:
        end = len(text)
        while end > 1 and _wide(text[:end], size) > most:
            end -= 1
        blank = text.rfind(" ", 1, end + 1)
        end = blank if blank > 0 else end
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [*lines, text] if text else lines


def money(amount: Decimal) -> str:
    """To two places, with a comma at the thousands."""
    return f"{amount:,.2f}"


def exact(amount: Decimal) -> str:
    """With all its places, at least two."""
    whole, _dot, places = f"{amount:,f}".partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}"


def clock(seconds: int) -> str:
    """Hours, minutes and seconds."""
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


# --- the document ----------------------------------------------------------------------------------------------


def _draw(pen: _Pen, document: BillDocument, parts: Iterable[tuple[BillPart | None, int]]) -> None:
    _head(pen, document)
    _columns(pen)
    for part, length in parts:
        _part(pen, part, length)
    _totals(pen, document)
    pen.end()


def _head(pen: _Pen, document: BillDocument) -> None:
    pen.y -= 4 * mm
    pen.text(LEFT, _("Bill"), 22, bold=True)
    pen.text(RIGHT, document.no, 12, bold=True, right=True)
    pen.y -= 6 * mm
    pen.text(RIGHT, document.state_label, 9, colour=SOFT, right=True)
    pen.y -= 6 * mm
    top, middle = pen.y, LEFT + (RIGHT - LEFT) / 2
    _party(pen, LEFT, _("Seller"), document.seller)
    low, pen.y = pen.y, top
    _party(pen, middle, _("Buyer"), document.buyer)
    pen.y = min(low, pen.y) - 3 * mm
    facts = [
        (_("Date"), _day(document.made_at)),
        (_("Period"), f"{_day(document.period_from)} – {_day(document.period_until)}"),
        (_("Currency"), document.currency),
    ]
    for name, value in facts:
        pen.text(LEFT, name, 8, colour=SOFT)
        pen.text(LEFT + 26 * mm, value)
        pen.y -= ROW
    pen.y -= 3 * mm


def _party(pen: _Pen, x: float, title: str, party: Party) -> None:
    most = (RIGHT - LEFT) / 2 - 6 * mm
    pen.text(x, title, 8, colour=SOFT)
    pen.y -= ROW
    pen.text(x, party.name or "–", 11, bold=True, most=most)
    pen.y -= ROW
    named = [party.address, _named(_("Tax number"), party.tax_number), _named(_("Bank account"), party.bank)]
    for text in filter(None, named):
        for line in _wrapped(text, 9, most):
            pen.text(x, line)
            pen.y -= 4.4 * mm


def _named(name: str, value: str) -> str:
    return f"{name}: {value}" if value else ""


def _columns(pen: _Pen) -> None:
    """The heads of the columns, on every page that has lines."""
    pen.text(LEFT, _("Order and component"), 8, colour=SOFT)
    heads = (_("Quantity"), _("Unit price"), _("Duration"), _("Amount"))
    for end, head in zip(_ENDS, heads, strict=True):
        pen.text(end, head, 8, colour=SOFT, right=True)
    pen.rule()
    pen.y -= ROW + 1.2 * mm


def _part(pen: _Pen, part: BillPart | None, length: int) -> None:
    # A part's head does not stand alone at the foot of a page.
    pen.room(_PART_HEAD + ROW)
    if part:
        pen.text(LEFT, f"{part.number}  {part.name}", 9.5, bold=True, most=RIGHT - LEFT - 4 * mm)
    pen.y -= ROW * 0.85
    if part:
        pen.text(
            LEFT, " · ".join(filter(None, (part.person, part.project))), 8, colour=SOFT, most=RIGHT - LEFT
        )
    pen.y -= ROW
    for place in range(length):
        pen.room(ROW)
        if part:
            _part_line(pen, part, place)
        pen.y -= ROW
    pen.room(ROW)
    if part:
        pen.text(_ENDS[2], _("Subtotal"), 8.5, colour=SOFT, right=True)
        pen.text(RIGHT, money(part.subtotal), 9, bold=True, right=True)
        pen.rule()
    pen.y -= ROW * 1.5


def _part_line(pen: _Pen, part: BillPart, place: int) -> None:
    line = part.lines[place]
    quantity = f"{line.quantity.normalize():f} {line.unit}"
    pen.text(LEFT + 3 * mm, line.name, most=_ENDS[0] - LEFT - 28 * mm)
    pen.text(_ENDS[0], quantity, right=True)
    pen.text(_ENDS[1], f"{exact(line.unit_amount)} / {line.price_unit}", right=True)
    pen.text(_ENDS[2], clock(line.seconds), right=True)
    pen.text(_ENDS[3], money(line.amount), right=True)


def _totals(pen: _Pen, document: BillDocument) -> None:
    rows = _sums(document)
    pen.room(ROW * (len(rows) + 1) + 6 * mm)
    pen.y -= 2 * mm
    for name, amount, is_total in rows:
        size = 11 if is_total else 9
        pen.text(_ENDS[2], name, size, bold=is_total, right=True)
        pen.text(RIGHT, f"¥{money(amount)}", size, bold=is_total, right=True)
        pen.y -= ROW * (1.3 if is_total else 1)
    for booking in document.later:
        pen.room(2 * ROW)
        what = " · ".join(filter(None, (booking.kind, _day(booking.at), booking.reference)))
        pen.text(LEFT, what, most=_ENDS[2] - LEFT)
        pen.text(RIGHT, f"−¥{money(booking.amount)}", right=True)
        pen.y -= ROW
        pen.text(LEFT, booking.reason, 8, colour=SOFT, most=RIGHT - LEFT)
        pen.y -= ROW


def _sums(document: BillDocument) -> list[tuple[str, Decimal, bool]]:
    rows = [
        (_("Sum, not rounded"), document.exact, False),
        (_("Rounding"), document.rounding, False),
        (_("Total"), document.total, True),
    ]
    if document.covered:
        rows.append((_("Paid by coupon %(code)s") % {"code": document.coupon_code}, document.covered, False))
    if document.paid is not None:
        at = _day(document.paid_at) if document.paid_at else ""
        rows.append((_("Paid from the balance, %(at)s") % {"at": at}, document.paid, False))
        rows.append((_("Still owed"), ZERO, False))
    return rows
