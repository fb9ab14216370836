"""Bills as the lines of a spreadsheet."""

from collections.abc import Iterator

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.models import Bill
from apps.kernel.spreadsheet import csv_lines


def bill_rows(bills: QuerySet[Bill]) -> Iterator[str]:
    """CSV with a head in the reader's language, one line a bill; amounts in CNY, times in the zone that is set."""
    head = [
        _("Number"), _("Tenant"), _("From"), _("Until"), _("Total (CNY)"), _("State"), _("Made"), _("Confirmed"),
        _("Paid"), _("Written off"),
    ]  # fmt: skip
    # Spreadsheets take a file for UTF-8 only with this mark.
    yield "\ufeff"
    yield from csv_lines([head])
    yield from csv_lines(_cells(row) for row in bills.iterator())


def _cells(row: Bill) -> list[str]:
    times = (
        row.period_from,
        row.period_until,
        row.made_at,
        row.confirmed_at,
        row.paid_at,
        row.written_off_at,
    )
    told = [timezone.localtime(time).isoformat(sep=" ", timespec="seconds") if time else "" for time in times]
    total = f"{row.total:.2f}"
    return [row.no, row.tenant.name, *told[:2], total, row.get_state_display(), *told[2:]]
