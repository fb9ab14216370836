"""A bill as a document: who sells to whom, what each order put on it, how it was paid and what was booked later."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Count, Sum
from django.utils.translation import ngettext

from apps.billing.models import Bill, BillLine, BillPayment, Charge, LedgerTransaction
from apps.billing.selectors.accounts import transaction_list
from apps.billing.selectors.bills import bill_lines
from apps.billing.types import BillDocument, BillPart, LaterBooking, PartLine, Party
from apps.centre.selectors import centre_find
from apps.kernel.actor import Actor
from apps.kernel.money import CURRENCY, ZERO
from apps.kernel.translatable import localized
from apps.tenancy.models import Tenant

_CHUNK = 500
_LATER = (LedgerTransaction.Kind.CORRECTION, LedgerTransaction.Kind.WRITE_OFF)


def seller_now() -> Party:
    """What a bill that is made now says of its seller: the centre's legal name, else what it is called."""
    centre = centre_find()
    if centre is None:
        return Party("")
    return Party(centre.legal_name or str(centre), centre.address, centre.tax_number, centre.bank)


def buyer_now(tenant: Tenant) -> Party:
    """What a bill that is made now says of its buyer: the tenant's legal name, else what it is called."""
    return Party(tenant.legal_name or tenant.name, tenant.address, tenant.tax_number)


def seller_of(bill: Bill) -> Party:
    """Who sold, as the bill says; one that was made before bills said so names what the centre is called."""
    return Party(**bill.seller) if bill.seller else Party(str(centre_find() or ""))


def buyer_of(bill: Bill) -> Party:
    """Who bought, as the bill says; one that was made before bills said so names what the tenant is called."""
    return Party(**bill.buyer) if bill.buyer else Party(bill.tenant.name)


def bill_document(bill: Bill, actor: Actor) -> BillDocument:
    """The bill as its reader may see it, its times in the tenant's zone; settlement and later bookings for who reaches
    all of it alone."""
    zone = ZoneInfo(bill.tenant.timezone)
    sums = bill_lines(bill, actor).order_by().aggregate(exact=Sum("exact"), amount=Sum("amount"))
    payment = BillPayment.plain.filter(bill=bill).first() if bill.is_whole else None
    return BillDocument(
        no=bill.no,
        state=bill.state,
        state_label=bill.get_state_display(),
        seller=seller_of(bill),
        buyer=buyer_of(bill),
        made_at=bill.made_at.astimezone(zone),
        period_from=bill.period_from.astimezone(zone),
        period_until=bill.period_until.astimezone(zone),
        currency=CURRENCY,
        total=bill.shown_total,
        rounding=(sums["amount"] or ZERO) - (sums["exact"] or ZERO),
        is_whole=bill.is_whole,
        covered=payment.coupon_amount if payment else None,
        coupon_code=payment.coupon_code if payment else "",
        paid=payment.balance_amount if payment else None,
        paid_at=bill.paid_at.astimezone(zone) if bill.paid_at else None,
        later=_later(bill, zone) if bill.is_whole else (),
    )


def _later(bill: Bill, zone: ZoneInfo) -> tuple[LaterBooking, ...]:
    rows = transaction_list(tenant=bill.tenant).filter(reference=bill.no, kind__in=_LATER)
    return tuple(_booking(row, zone) for row in rows.order_by("created_at", "pk"))


def _booking(row: Any, zone: ZoneInfo) -> LaterBooking:
    """One of `transaction_list`, whose rows have a `total`."""
    at = row.created_at.astimezone(zone)
    return LaterBooking(at, row.get_kind_display(), _reference(row), row.reason, row.total)


def _reference(row: LedgerTransaction) -> str:
    """The number by which a correction was booked; a write-off has none."""
    return row.idempotency_key.rpartition(":")[2] if row.kind == LedgerTransaction.Kind.CORRECTION else ""


def bill_parts(bill: Bill, actor: Actor) -> Iterator[BillPart]:
    """The parts of a bill that its reader reaches, in the order of its lines, read in pieces however long it is."""
    rows = bill_lines(bill, actor).order_by("charge_id", "pk").iterator(chunk_size=_CHUNK)
    return parts_of(rows)


def parts_of(rows: Iterable[BillLine]) -> Iterator[BillPart]:
    """Lines that follow one another by charge, put together."""
    for _charge, lines in groupby(rows, key=lambda line: line.charge_id):
        found = list(lines)
        yield _part(found[0].charge, found)


def _part(charge: Charge, rows: list[BillLine]) -> BillPart:
    return BillPart(
        number=charge.order_no,
        name=charge.work_name or charge.commodity_name,
        person=charge.person,
        project=charge.business_system,
        order_uid=charge.order_uid,
        workload_uid=charge.workload_uid,
        lines=tuple(map(_line, rows)),
        subtotal=sum((row.amount for row in rows), ZERO),
        job_id=charge.job_id,
    )


def _line(row: BillLine) -> PartLine:
    component = row.price_line.component
    return PartLine(
        uid=row.uid,
        name=localized(component.name_zh, component.name_en),
        quantity=row.quantity,
        unit=ngettext("core", "cores", int(row.quantity)) if component.unit == "core" else component.unit,
        unit_amount=row.unit_amount,
        price_unit=str(row.price_line.get_unit_display()).lower(),
        seconds=row.share_seconds,
        exact=row.exact,
        amount=row.amount,
    )


def part_lengths(bill: Bill, actor: Actor) -> list[int]:
    """How many lines each part has, in order: what the pages of a document are counted by."""
    rows = bill_lines(bill, actor).order_by("charge_id").values("charge_id").annotate(count=Count("pk"))
    return [row["count"] for row in rows]


def parts_page(bill: Bill, actor: Actor, lines: Sequence[BillLine]) -> list[BillPart]:
    """Some of a bill's lines, as one page of it shows them: each part with its whole subtotal."""
    keys = {line.charge.workload_uid for line in lines}
    rows = bill_lines(bill, actor).filter(charge__workload_uid__in=keys).order_by()
    sums = dict(rows.values_list("charge__workload_uid").annotate(sum=Sum("amount")))
    return [replace(part, subtotal=sums[part.workload_uid]) for part in parts_of(lines)]
