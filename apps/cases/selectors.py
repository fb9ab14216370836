"""What operators see of all tenants: lists, one case, the inbox, and which tenants have open work."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db.models import Func, Q, QuerySet, TextField, Value
from django.utils.translation import gettext as _

from apps.cases.models import Case
from apps.cases.permissions import INBOX, TICKETS
from apps.cases.permissions import CasesPermission as P
from apps.cases.types import CaseData, CaseKind
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.planes import current_schema

_EXACT = {"kind": "kind", "state": "state", "tenant": "tenant__schema_name", "assignee": "assignee_id"}
_FUZZY = {
    "organization": "organization__icontains",
    "applicant": "applicant_name__icontains",
    "business_system": "business_system__icontains",
    "no": "no__icontains",
}
FILTERS = (*_EXACT, *_FUZZY, "category", "search", "is_open")
TICKET_TABS = ("open", "todo", "done", "submitted", "all")
TABS = ("todo", "done", "urged")
SHORTEST_WORD = 2
_PAIRS = ArrayField(TextField())


def _visible(actor: Actor, permissions: Sequence[str] = (P.VIEW,)) -> QuerySet[Case]:
    """All tenants' cases for an operator who holds one of `permissions`; nothing exists for anybody else."""
    if actor.kind not in ("operator", "system") or not actor.may_any(*permissions):
        return Case.plain.none()
    return Case.objects.across().select_related("tenant")


def case_list(*, actor: Actor, filters: Mapping[str, str] | None = None) -> QuerySet[Case]:
    """Cases of every tenant, newest first, narrowed by any of `FILTERS` (PLAT-OPS-17, PLAT-OPS-18)."""
    return _narrowed(_visible(actor), filters)


def _narrowed(rows: QuerySet[Case], filters: Mapping[str, str] | None) -> QuerySet[Case]:
    given = {name: value for name, value in (filters or {}).items() if value not in ("", None)}
    if "assignee" in given and not re.fullmatch(r"[0-9]{1,18}", str(given["assignee"])):
        raise InvalidInput(fields={"assignee": _("A whole number is wanted.")})
    for name, lookup in (_EXACT | _FUZZY).items():
        if name in given:
            rows = rows.filter(**{lookup: given[name]})
    if "is_open" in given:
        rows = rows.filter(is_open=str(given["is_open"]).lower() in ("1", "true", "yes"))
    if "category" in given:
        # With all that stand below it.
        path = given["category"]
        rows = rows.filter(Q(category=path) | Q(category__startswith=f"{path}/"))
    if "search" in given:
        text = given["search"]
        titles = Q(title_zh__icontains=text) | Q(title_en__icontains=text)
        rows = rows.filter(Q(no__icontains=text) | Q(applicant_name__icontains=text) | titles)
    return rows.order_by("-created_at", "-pk")


def case_matches(*, actor: Actor, words: Sequence[str]) -> QuerySet[Case]:
    """Cases whose number, title or applicant have all words, each anywhere in them, newest first.

    Of a word the pairs of its characters are looked up (index `case_pairs`), in any writing: a word of one character
    finds nothing.
    """
    if not words or any(len(word) < SHORTEST_WORD for word in words):
        return Case.plain.none()
    pairs = Func("no", "title_en", "title_zh", "applicant_name", function="case_pairs", output_field=_PAIRS)
    rows = _visible(actor).exclude(kind=CaseKind.TASK).annotate(pairs=pairs)
    for word in words:
        wanted = Func(Value(word), function="character_pairs", output_field=_PAIRS)
        titles = Q(title_zh__icontains=word) | Q(title_en__icontains=word)
        rows = rows.filter(Q(no__icontains=word) | Q(applicant_name__icontains=word) | titles)
        rows = rows.filter(pairs__contains=wanted)
    return rows.order_by("-created_at", "-pk")


def case_get(*, actor: Actor, kind: str, uid: UUID) -> Case:
    """One case, by the kind and identifier of the row it shows; NotFound when it is not for this actor."""
    permissions = {CaseKind.TASK: INBOX, CaseKind.TICKET: TICKETS}.get(CaseKind(kind), (P.VIEW,))
    row = _visible(actor, permissions).filter(kind=kind, uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def case_inbox(
    *, actor: Actor, tab: str = "todo", filters: Mapping[str, str] | None = None
) -> QuerySet[Case]:
    """An operator's approval tasks of all tenants: to do, done, urged (PLAT-TODO-1, PLAT-TODO-2); narrowed by any of
    `FILTERS`."""
    if tab not in TABS:
        raise InvalidInput(fields={"tab": ", ".join(TABS)})
    rows = _narrowed(_visible(actor, INBOX), filters).filter(kind=CaseKind.TASK, side="operator")
    if tab == "done":
        rows = rows.filter(worked_by_ids__contains=[actor.user_id])
    else:
        mine = Q(roles__contains=[actor.role]) | Q(candidate_ids__contains=[actor.user_id])
        rows = rows.filter(mine, is_open=True).exclude(worked_by_ids__contains=[actor.user_id])
    if tab == "urged":
        rows = rows.filter(urged_at__isnull=False)
    return rows.order_by("-created_at", "-pk")


def case_tickets(
    *, actor: Actor, tab: str = "open", filters: Mapping[str, str] | None = None
) -> QuerySet[Case]:
    """All tenants' tickets: open, for the operator to do, done by him, submitted by him, all (PLAT-TODO-9). Who does
    not see all cases finds in each tab those that are meant for him or that he opened."""
    if tab not in TICKET_TABS:
        raise InvalidInput(fields={"tab": ", ".join(TICKET_TABS)})
    rows = _narrowed(_visible(actor, TICKETS), {**(filters or {}), "kind": CaseKind.TICKET})
    mine = Q(assignee_id=actor.user_id)
    whole_side = Q(roles=[], candidate_ids=[])
    wanted = whole_side | Q(roles__contains=[actor.role]) | Q(candidate_ids__contains=[actor.user_id])
    waits = Q(assignee_id=None, state="waiting", side="operator") & wanted
    if not actor.may(P.VIEW):
        is_worker = actor.may("tickets.work")
        rows = rows.filter(mine | Q(applicant_id=actor.user_id) | (waits if is_worker else Q(pk__in=[])))
    if tab == "todo":
        return rows.filter(mine | waits, is_open=True)
    if tab == "done":
        return rows.filter(mine, is_open=False)
    if tab == "submitted":
        return rows.filter(applicant_id=actor.user_id)
    return rows.filter(is_open=True) if tab == "open" else rows


def schemas_with_open(kind: str) -> list[str]:
    """The schemas of tenants that have open cases of a kind: whom a sweep must visit."""
    open_rows = Case.objects.across().filter(kind=kind, is_open=True)
    return sorted(set(open_rows.values_list("tenant__schema_name", flat=True)))


def case_drift_list(shown: Iterable[CaseData]) -> list[tuple[str, UUID]]:
    """The kinds and identifiers whose case in the current tenant is missing or differs from `shown`, and the cases
    that no row stands behind. Empty while every writer keeps its case."""
    kept = {(row.kind, row.uid): row for row in Case.objects.of(current_schema())}
    wrong = []
    for data in shown:
        case = kept.pop((data.kind, data.uid), None)
        if case is None or not _equals(case, data):
            wrong.append((str(data.kind), data.uid))
    return wrong + sorted(kept)


def _equals(case: Case, data: CaseData) -> bool:
    for name, wanted in asdict(data).items():
        value = getattr(case, name)
        if (tuple(value) if isinstance(value, list) else value) != wanted:
            return False
    return True
