"""The operation log on the operators' pages: who did what to what, in words; read, never written."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse, StreamingHttpResponse
from django.utils.http import urlencode

from apps.audit.exports import record_lines
from apps.audit.forms import RecordsForm
from apps.audit.models import Record
from apps.audit.selectors import record_get, record_list
from apps.audit.text.acts import act_text, acts_named
from apps.audit.text.subjects import SUBJECTS, subject_name, subject_text
from apps.identity.pages.access import cleaned, operator_page, show
from apps.identity.pages.keyset import KeysetPage
from apps.identity.pages.requests import PortalRequest
from apps.kernel.spreadsheet import CSV_TYPE
from apps.tenancy.selectors import tenant_list

VIEW = "audit.view"


@dataclass(frozen=True, slots=True)
class Described:
    """An act, and in the reader's language what it was and to what."""

    row: Record
    act: str
    subject: str
    name: str

    @classmethod
    def of(cls, row: Record) -> "Described":
        kind = subject_text(row.subject_kind) if row.subject_kind else ""
        return cls(row, act_text(row.name), kind, subject_name(row.detail, row.subject_id))


@operator_page(VIEW)
def records(request: PortalRequest) -> HttpResponse:
    """Acts of everybody, newest first."""
    chosen = _chosen(request)
    rows = KeysetPage(request, _found(chosen))
    context = {
        "rows": rows,
        "lines": [Described.of(row) for row in rows],
        "chosen": chosen,
        "tenants": tenant_list(),
        "kinds": sorted(((kind, subject_text(kind)) for kind in SUBJECTS), key=lambda pair: pair[1]),
        "export": urlencode({name: value for name, value in chosen.items() if value}),
        "is_narrowed": any(chosen.values()),
    }
    return show(request, "audit/records", context)


@operator_page(VIEW)
def export(request: PortalRequest) -> StreamingHttpResponse:
    """Exactly the acts that meet the present conditions, as CSV."""
    response = StreamingHttpResponse(record_lines(_found(_chosen(request))), content_type=CSV_TYPE)
    response["Content-Disposition"] = 'attachment; filename="weir-operation-log.csv"'
    response["X-Accel-Buffering"] = "no"
    return response


@operator_page(VIEW)
def record(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One act with all that is kept of it."""
    row = record_get(uid)
    detail = [(name.replace("_", " "), value) for name, value in row.detail.items()]
    return show(request, "audit/record", {"line": Described.of(row), "detail": detail})


def _chosen(request: PortalRequest) -> dict[str, Any]:
    chosen = cleaned(RecordsForm(request.GET))
    del chosen["before"]
    return chosen


def _found(chosen: dict[str, Any]) -> Any:
    names = acts_named(chosen["search"]) if chosen["search"] else []
    return record_list(**chosen, names=names)
