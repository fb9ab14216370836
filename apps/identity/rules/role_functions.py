"""What roles are made of: functions that people know by name, each behind one permission (PLAT-TEN-32).

Which there are says the module that `settings.WEIR_ROLE_FUNCTIONS` names: they belong to apps above this one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils.functional import Promise
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from apps.kernel.actor import Actor
from apps.kernel.errors import Conflict, Forbidden, InvalidInput
from apps.kernel.reach import EVERYTHING, DataPermission, Records, Scope


class Side(StrEnum):
    """Whose roles: a tenant's people's, or the operators' (PLAT-TEN-34)."""

    TENANT = "tenant"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class RoleFunction:
    """One thing that a role can allow.

    Attributes:
        permission: what pages, API and services ask for.
        group: the heading under which a page lists it.
        label: what it lets somebody do, in the reader's language.
        sides: whose roles may have it.
        is_change: whether it changes anything; a read-only role has none that does.
        needs: permissions without which it is of no use; a role with it has them too.
    """

    permission: str
    group: Promise
    label: Promise
    sides: frozenset[Side]
    is_change: bool
    needs: tuple[str, ...] = ()


@cache
def _functions() -> tuple[RoleFunction, ...]:
    found: tuple[RoleFunction, ...] = import_string(settings.WEIR_ROLE_FUNCTIONS)
    return found


@dataclass(frozen=True, slots=True)
class RoleDraft:
    """What people say of a role of their own.

    Attributes:
        name: as people see it; one of a kind on its side.
        permissions: what it allows; what these need is added.
        description: for whom it is.
        is_read_only: it changes nothing; a function that changes something is refused.
        data: whose records of a tenant it reaches; operators' roles reach all of them.
    """

    name: str
    permissions: Sequence[str]
    description: str = ""
    is_read_only: bool = False
    data: DataPermission = field(default_factory=DataPermission)


def functions_of(side: Side) -> tuple[RoleFunction, ...]:
    """What the roles of one side can be made of, group by group."""
    return tuple(function for function in _functions() if side in function.sides)


def function_label(permission: str) -> str:
    """What a permission lets somebody do, in the reader's language; "" for one that no role has."""
    return next((str(row.label) for row in _functions() if row.permission == permission), "")


def functions_by_role(side: Side, roles: Iterable[Any]) -> list[tuple[RoleFunction, list[Any]]]:
    """Each function that some of these roles allow, with the roles that do: why somebody may do it."""
    held = list(roles)
    found = (
        (row, [role for role in held if row.permission in role.permissions]) for row in functions_of(side)
    )
    return [(row, by) for row, by in found if by]


def permissions_checked(actor: Actor, side: Side, draft: RoleDraft, *, grant: str) -> list[str]:
    """The permissions of a role with what they need, sorted.

    Args:
        actor: who makes the role: it may not do more than he may himself, unless he holds `grant`.
        side: whose role it is.
        draft: the role as it was asked for.
        grant: the permission to give every role.

    Raises:
        InvalidInput: none chosen, one that roles of this side cannot have, or one that changes in a read-only role.
        Forbidden: more than the actor may.
    """
    known = {function.permission: function for function in functions_of(side)}
    chosen = set(draft.permissions)
    unknown = sorted(chosen - set(known))
    if unknown:
        raise _refused(_("Roles of this side cannot have the function %(name)s.") % {"name": unknown[0][:64]})
    chosen |= {needed for permission in chosen for needed in known[permission].needs}
    if not chosen:
        raise _refused(_("Choose at least one function."))
    changing = [row.label for row in functions_of(side) if row.permission in chosen and row.is_change]
    if draft.is_read_only and changing:
        raise _refused(
            _("A read-only role changes nothing, yet “%(function)s” does.") % {"function": changing[0]}
        )
    beyond = [row.label for row in functions_of(side) if row.permission in chosen - actor.permissions]
    if beyond and not actor.may(grant):
        raise Forbidden(
            _("The role would do more than yours: “%(function)s”.") % {"function": beyond[0]},
            cure=_("Leave it out, or ask an administrator who may give every role."),
        )
    if (
        side is Side.TENANT
        and not actor.may(grant)
        and (wider := draft.data.beyond(data_permission_of(actor)))
    ):
        raise Forbidden(
            _("The role would reach more records than yours: “%(records)s”.")
            % {"records": RECORD_LABELS[wider]},
            cure=_("Choose a narrower data permission, or ask an administrator who may give every role."),
        )
    return sorted(chosen)


RECORD_LABELS = {
    Records.ORDERS: gettext_lazy("Applications, orders and tickets"),
    Records.RESOURCES: gettext_lazy("Jobs, sessions, environments and files"),
    Records.SYSTEMS: gettext_lazy("Business systems"),
    Records.COSTS: gettext_lazy("Costs, bills and the account"),
    Records.PEOPLE: gettext_lazy("People"),
}
# Of these a row is of no business system.
_WITHOUT_SYSTEMS = {Records.SYSTEMS, Records.PEOPLE}
_SCOPE_LABELS = {
    Scope.OWN: pgettext_lazy("records", "own"),
    Scope.ORGANIZATION: pgettext_lazy("records", "own organization"),
    Scope.BELOW: pgettext_lazy("records", "organization and all below"),
    Scope.SYSTEMS: pgettext_lazy("records", "business systems taken part in"),
    Scope.ALL: pgettext_lazy("records", "whole tenant"),
}


def scope_label(records: Records, scope: Scope) -> str:
    """How far a data permission goes for these records, in the reader's language."""
    if (records, scope) == (Records.SYSTEMS, Scope.OWN):
        return pgettext("records", "those taken part in")
    return str(_SCOPE_LABELS[scope])


def scopes_of(records: Records) -> list[Scope]:
    """What can be chosen for these records."""
    return [scope for scope in Scope if records not in _WITHOUT_SYSTEMS or scope is not Scope.SYSTEMS]


def data_permission_of(actor: Actor) -> DataPermission:
    """How far the actor reaches in the tenant: a user by the active role, everybody else everything."""
    return actor.reach.permission if actor.kind == "user" else EVERYTHING


def data_permission_lines(roles: Iterable[Any]) -> list[tuple[str, list[tuple[str, list[Any]]]]]:
    """For each kind of records how far some of these roles reach, each with the roles that do: why somebody sees
    what."""
    held = list(roles)
    lines = []
    for records in Records:
        by_scope = [
            (
                scope_label(records, scope),
                [role for role in held if role.data_permission.of(records) is scope],
            )
            for scope in reversed(Scope)
        ]
        lines.append((str(RECORD_LABELS[records]), [(label, by) for label, by in by_scope if by]))
    return lines


def own_role_fields(
    roles: QuerySet[Any], *, actor: Actor, side: Side, grant: str, code: str, draft: RoleDraft
) -> dict[str, Any]:
    """What the row of a role of people's own making says; no other of `roles` changes before the transaction ends.

    Raises:
        Conflict: another has the name.
        InvalidInput, Forbidden: see `permissions_checked`.
    """
    list(roles.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    others = roles.exclude(code=code)
    if others.filter(Q(name_en__iexact=draft.name) | Q(name_zh__iexact=draft.name)).exists():
        raise Conflict(
            _("There is a role %(name)s already.") % {"name": draft.name}, cure=_("Choose another name.")
        )
    return {
        "name_en": draft.name,
        "name_zh": draft.name,
        "permissions": permissions_checked(actor, side, draft, grant=grant),
        "description": draft.description,
        "is_read_only": draft.is_read_only,
    }


def own_role_check(role: Any) -> None:
    """Conflict where the role is built in."""
    if role.is_builtin:
        raise Conflict(
            _("Built-in roles stay as they are."), cure=_("Copy it to a role of your own and change that.")
        )


def unheld_check(holders: int) -> None:
    """Conflict where somebody holds the role."""
    if holders:
        raise Conflict(
            ngettext("%(count)d person holds this role.", "%(count)d people hold this role.", holders)
            % {"count": holders},
            cure=_("Give them another role first."),
        )


def _refused(reason: str) -> InvalidInput:
    return InvalidInput(reason, fields={"permissions": reason})
