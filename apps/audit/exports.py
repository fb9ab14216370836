"""The operation log as a spreadsheet's lines."""

from collections.abc import Iterator

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.audit.models import Record
from apps.audit.text.acts import act_text
from apps.audit.text.subjects import subject_name, subject_text
from apps.kernel.spreadsheet import csv_lines


def record_lines(records: QuerySet[Record]) -> Iterator[str]:
    """CSV with a head in the reader's language, one line an act; times in the zone that is set."""
    head = [
        _("Time"), _("Person"), _("Role"), _("Tenant"), _("Act"), _("Subject"), _("Name"), _("Identifier"),
        _("Request"),
    ]  # fmt: skip
    # Spreadsheets take a file for UTF-8 only with this mark.
    yield "\ufeff"
    yield from csv_lines([head])
    yield from csv_lines(_cells(row) for row in records.iterator(chunk_size=2000))


def _cells(row: Record) -> list[str]:
    at = timezone.localtime(row.at).isoformat(sep=" ", timespec="milliseconds")
    subject = subject_text(row.subject_kind) if row.subject_kind else ""
    name = subject_name(row.detail, row.subject_id)
    return [
        at, row.actor_name, row.role, row.schema, act_text(row.name), subject, name, row.subject_id, row.request_id,
    ]  # fmt: skip
