"""Categories with their forms and rules, who answers to a rule among the operators, and the working calendar."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.centre.selectors import centre_zone
from apps.identity.selectors import (
    operator_ids_of_post,
    operator_ids_within,
    operator_organization_find,
    operator_post_title,
    operator_role_title,
    operators_who_may,
    user_ids_named,
    users_enabled,
)
from apps.kernel.errors import NotFound
from apps.ticketing.models import RoutingRule, SpecialDay, TicketCategory, WorkingHours
from apps.ticketing.permissions import TicketingPermission as P
from apps.ticketing.states import Builtin, ReceiverKind, Side
from apps.ticketing.working_time import Calendar


def category_list() -> QuerySet[TicketCategory]:
    """All categories in the order of the tree, each with its rules."""
    return TicketCategory.objects.select_related("parent").prefetch_related("rules")


def category_get(uid: UUID) -> TicketCategory:
    row = category_list().filter(uid=uid).first()
    if row is None:
        raise NotFound(_("There is no such ticket category."))
    return row


def category_builtin(code: Builtin) -> TicketCategory:
    return TicketCategory.objects.get(builtin=code)


def categories_offered() -> list[TicketCategory]:
    """The categories in which people open tickets: those with a rule, and none that stands below a disabled one.
    Tickets of the service catalogue are made of orders alone."""
    rows = list(category_list())
    off = [row.path for row in rows if not row.is_enabled]
    return [
        row
        for row in rows
        if row.builtin != Builtin.SERVICE
        and list(row.rules.all())
        and not any(row.path == path or row.path.startswith(f"{path}/") for path in off)
    ]


def path_names(rows: Iterable[TicketCategory]) -> list[tuple[str, TicketCategory]]:
    """Each category with its names from the top: `O&M ticket / Repair`."""
    names = {row.path: row.name for row in TicketCategory.objects.all()}

    def whole(path: str) -> str:
        parts = path.split("/")
        return " / ".join(names["/".join(parts[: count + 1])] for count in range(len(parts)))

    return [(whole(row.path), row) for row in rows]


# --- rules -----------------------------------------------------------------------------------------------------


def steps_of(category: TicketCategory) -> list[dict[str, Any]]:
    """The steps that a category's tickets go through: its own, else those of the nearest one above that has some."""
    place: TicketCategory | None = category
    while place is not None:
        if place.steps:
            return list(place.steps)
        place = place.parent
    return []


def rule_of(category: TicketCategory, values: Mapping[str, Any], step: str = "") -> RoutingRule | None:
    """The first rule of a category for a step that fits what a form holds; without any, that of the nearest one above.

    Args:
        step: the step's key; empty for the first, whose rules may stand without a key.
    """
    steps = steps_of(category)
    first = steps[0]["key"] if steps else ""
    keys = {"", first} if step in ("", first) else {step}
    place: TicketCategory | None = category
    while place is not None:
        for rule in place.rules.all():
            if rule.step in keys and (not rule.field or str(values.get(rule.field, "")) == rule.value):
                return rule
        place = place.parent
    return None


def operators_answering(rule: RoutingRule) -> tuple[list[str], list[int]]:
    """The roles and the people of the centre who can take what a rule sends; both empty where nobody can."""
    match rule.kind:
        case ReceiverKind.ROLE:
            found = operators_who_may(P.WORK, roles=[rule.receiver])
            return ([rule.receiver] if found else []), []
        case ReceiverKind.USER:
            return [], sorted(operators_who_may(P.WORK, ids=user_ids_named(rule.receiver)))
        case ReceiverKind.ORGANIZATION:
            place = operator_organization_find(rule.receiver)
            ids = operator_ids_within(place) if place else []
            return [], sorted(operators_who_may(P.WORK, ids=ids))
        case _:
            return [], sorted(operators_who_may(P.WORK, ids=operator_ids_of_post(rule.receiver)))


def receiver_text(rule: RoutingRule) -> str:
    """To whom a rule sends, in words."""
    if rule.side == Side.TENANT:
        return rule.receiver
    match rule.kind:
        case ReceiverKind.ROLE:
            return operator_role_title(rule.receiver) or rule.receiver
        case ReceiverKind.USER:
            found = users_enabled(user_ids_named(rule.receiver))
            return str(found[0]) if found else rule.receiver
        case ReceiverKind.POST:
            return operator_post_title(rule.receiver) or _("a post that is gone")
        case _:
            place = operator_organization_find(rule.receiver)
            return str(place) if place else _("an organization that is gone")


# --- working time ------------------------------------------------------------------------------------------------


def calendar_now() -> Calendar:
    """The centre's working hours and special days, in its zone."""
    week: dict[int, tuple[Any, ...]] = {}
    for row in WorkingHours.objects.all():
        week[row.weekday] = (*week.get(row.weekday, ()), (row.opens, row.closes))
    return Calendar(centre_zone(), week, dict(SpecialDay.objects.values_list("day", "weekday")))


def working_hours_list() -> QuerySet[WorkingHours]:
    return WorkingHours.objects.all()


def special_day_list() -> QuerySet[SpecialDay]:
    return SpecialDay.objects.all()
