"""The operation log on the operators' pages: who did what to what, in words; read, never written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.utils.translation import gettext_lazy as _

from apps.audit.forms import RecordsForm
from apps.audit.models import Record
from apps.audit.selectors import record_get, record_list
from apps.audit.text.acts import act_text, acts_named
from apps.audit.text.subjects import SUBJECTS, subject_name, subject_text
from apps.identity.pages.access import cleaned, operator_page, show
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest
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


RECORDS = PageList(
    Column("time", _("Time"), value="at"),
    Column("person", _("Person"), value="actor_name"),
    Column("role", _("Role"), value="role", is_extra=True),
    Column("act", _("Act"), value="described.act"),
    Column("subject", _("Subject"), value="described.subject"),
    Column("name", _("Name"), value="described.name"),
    Column("tenant", _("Tenant"), value="schema"),
    Column("identifier", _("Identifier"), value="subject_id", is_extra=True),
    Column("request", _("Request"), value="request_id", is_extra=True),
    keyset="at",
)
_PER_PAGE = 50


@operator_page(VIEW)
def records(request: PortalRequest) -> HttpResponseBase:
    """Acts of everybody, newest first."""
    chosen = _chosen(request)
    context = {
        "chosen": chosen,
        "tenants": tenant_list(),
        "kinds": sorted(((kind, subject_text(kind)) for kind in SUBJECTS), key=lambda pair: pair[1]),
    }
    return show_list(
        request, "audit/records", RECORDS, _found(chosen), context, per_page=_PER_PAGE, prepare=_describe
    )


def _describe(rows: Sequence[Record]) -> None:
    for row in rows:
        row.described = Described.of(row)  # type: ignore[attr-defined]


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
