"""A bill as a workbook: what it says of itself, and its lines with figures that a spreadsheet can reckon with."""

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _

from apps.billing.types import BillDocument, BillPart, Party
from apps.kernel.workbook import xlsx_pieces


def xlsx_of(document: BillDocument, parts: Iterable[BillPart]) -> bytes:
    """The bill as XLSX in the reader's language; amounts in its currency."""
    return b"".join(xlsx_pieces([(_("Bill"), _facts(document)), (_("Lines"), _lines(parts))]))


def _facts(document: BillDocument) -> Iterator[tuple[object, ...]]:
    yield _("Bill"), document.no
    yield _("State"), document.state_label
    yield from _party(_("Seller"), document.seller)
    yield from _party(_("Buyer"), document.buyer)
    yield _("Date"), f"{document.made_at:%Y-%m-%d %H:%M}"
    yield _("From"), f"{document.period_from:%Y-%m-%d %H:%M}"
    yield _("Until"), f"{document.period_until:%Y-%m-%d %H:%M}"
    yield _("Currency"), document.currency
    yield _("Sum, not rounded"), document.exact
    yield _("Rounding"), document.rounding
    yield _("Total"), document.total
    if document.covered:
        yield _("From the coupon"), document.covered, document.coupon_code
    if document.paid is not None:
        yield _("From the balance"), document.paid
    for booking in document.later:
        yield booking.kind, -booking.amount, booking.reference, booking.reason, f"{booking.at:%Y-%m-%d %H:%M}"


def _party(title: str, party: Party) -> Iterator[tuple[str, str]]:
    yield title, party.name
    named = (
        (_("Address"), party.address),
        (_("Tax number"), party.tax_number),
        (_("Bank account"), party.bank),
    )
    yield from ((f"{title}: {name}", value) for name, value in named if value)


def _lines(parts: Iterable[BillPart]) -> Iterator[tuple[object, ...]]:
    yield (
        _("Number"), _("Service or work"), _("Person"), _("Business system"), _("Component"), _("Quantity"), _("Unit"),
        _("Unit price"), _("per"), _("Billed seconds"), _("Exact"), _("Amount"),
    )  # fmt: skip
    for part in parts:
        for line in part.lines:
            yield (
                part.number, part.name, part.person, part.project, line.name, line.quantity, line.unit,
                line.unit_amount, line.price_unit, line.seconds, line.exact, line.amount,
            )  # fmt: skip
