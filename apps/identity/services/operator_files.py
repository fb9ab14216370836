"""The centre's own people as a file, and from one: who is an operator is changed, others get an account."""

from collections.abc import Callable

from django.utils.translation import gettext as _

from apps.identity.models import OperatorOrganization, OperatorRole, User
from apps.identity.permissions import IdentityPermission as P
from apps.identity.rules.people_file import (
    Change,
    OrganizationNames,
    Outcome,
    PeopleFile,
    PeopleKnown,
    PersonRow,
    RoleNames,
    change_text,
    people_file,
    people_read,
    people_taken,
    people_tried,
)
from apps.identity.selectors import (
    OPERATOR_COLUMNS,
    operator_list,
    operator_organization_paths,
    operator_role_list,
    operator_rows,
    user_get,
)
from apps.identity.services.operator_organizations import operator_move
from apps.identity.services.operators import operator_edit, operator_make, operator_roles_set
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput
from apps.kernel.service import service

# An account's password takes a while to make, on purpose.
OPERATOR_ROWS_MAX = 100


@service(P.MANAGE)
def operators_export(
    *,
    actor: Actor,
    form: str,
    search: str = "",
    role: str = "",
    organization: OperatorOrganization | None = None,
) -> PeopleFile:
    """The operators that a search finds as a file, which an import takes back."""
    found = operator_list(actor=actor, search=search, role=role, organization=organization)
    rows = operator_rows(actor=actor, operators=found)
    act_subject("centre", "1", rows=len(rows), form=form)
    return people_file("operators", form, (*OPERATOR_COLUMNS, "state"), rows)


def operators_template(*, actor: Actor, form: str) -> PeopleFile:
    """A file to begin with; as a workbook it lists the organizations and roles that may stand in it."""
    actor.require(P.MANAGE)
    names = RoleNames(operator_role_list())
    paths = operator_organization_paths(actor=actor)
    lists = (
        (_("Organizations"), [path for path, row in paths if row.is_enabled]),
        (_("Roles"), [names.text([role]) for role in operator_role_list()]),
    )
    return people_file("operators-template", form, OPERATOR_COLUMNS, lists=lists)


@service(P.MANAGE, recorded=False)
def operators_import_try(*, actor: Actor, data: bytes) -> list[Outcome]:
    """What an import of this file would do, row by row; nothing of it is done."""
    return people_tried(people_read(data, OPERATOR_COLUMNS, OPERATOR_ROWS_MAX), _taker(actor))


@service(P.MANAGE)
def operators_import(*, actor: Actor, data: bytes, seen: str = "") -> list[Outcome]:
    """Take every row of the file or none (PLAT-TEN-37); new operators' first passwords are shown once.

    Args:
        seen: `outcomes_digest` of the preview that was confirmed.
    """
    outcomes = people_taken(people_read(data, OPERATOR_COLUMNS, OPERATOR_ROWS_MAX), _taker(actor), seen)
    act_subject("centre", "1", rows=len(outcomes))
    return outcomes


def _taker(actor: Actor) -> Callable[[PersonRow], Outcome]:
    """What is done to one row, with the operators and roles as they are now."""
    known, roles = PeopleKnown(operator_list(actor=actor)), RoleNames(operator_role_list())
    organizations = OrganizationNames(operator_organization_paths(actor=actor))

    def take(row: PersonRow) -> Outcome:
        user, given = known.meant(row), roles.find(row.roles)
        organization = organizations.find(row.organization) if row.organization else None
        if user is not None:
            return _change(actor, row, user, organization, given, roles)
        if not row.username:
            raise InvalidInput(
                _("No operator has this e-mail."), cure=_("Fill in the login account of the new operator.")
            )
        made, password = operator_make(
            actor=actor, username=row.username, display_name=row.display_name, email=row.email, roles=given
        )
        if organization is not None:
            operator_move(actor=actor, user=made, organization=organization)
        return Outcome(row, Change.NEW, secret=password)

    return take


def _change(
    actor: Actor,
    row: PersonRow,
    user: User,
    organization: OperatorOrganization | None,
    roles: list[OperatorRole],
    names: RoleNames[OperatorRole],
) -> Outcome:
    """Bring an operator to what the row says."""
    name, email = row.display_name or user.display_name, row.email or user.email
    changes = change_text("display_name", user.display_name, name) + change_text("email", user.email, email)
    if changes:
        # A copy: what a refused row changes in memory does not stay in the database.
        operator_edit(actor=actor, user=user_get(user.pk), display_name=name, email=email)
    if organization is not None and user.organization != organization:
        changes += change_text("organization", str(user.organization or ""), str(organization))
        operator_move(actor=actor, user=user, organization=organization)
    held = [binding.role for binding in user.operator_bindings.all()]
    if roles and {role.pk for role in roles} != {role.pk for role in held}:
        changes += change_text("roles", names.text(held), names.text(roles))
        operator_roles_set(actor=actor, user=user, roles=roles)
    return Outcome(row, Change.CHANGED if changes else Change.SAME, tuple(changes))
