"""The tenant's people as a file, and from one: who is here already is changed, everybody else is invited."""

from collections.abc import Callable

from django.utils.translation import gettext as _

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
from apps.identity.selectors import memberships_present, user_get
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.orgs.models import Organization, TenantRole
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.organizations import organization_paths
from apps.orgs.selectors.people import (
    PEOPLE_COLUMNS,
    Person,
    invitation_list,
    people_of,
    people_reached,
    people_rows,
    person_list,
)
from apps.orgs.selectors.roles import role_list
from apps.orgs.services.invitation_mails import MailPortal, mail_check
from apps.orgs.services.invitations import invitation_make
from apps.orgs.services.people import person_edit, person_move, person_roles_set


@service(P.MANAGE)
def people_export(
    *, actor: Actor, form: str, search: str = "", organization: Organization | None = None, role: str = ""
) -> PeopleFile:
    """The people that a search finds as a file, which an import takes back."""
    found = person_list(actor=actor, search=search, organization=organization, role=role)
    rows = people_rows(actor=actor, memberships=found)
    act_subject("tenant", current_schema(), rows=len(rows), form=form)
    return people_file("people", form, (*PEOPLE_COLUMNS, "state"), rows)


def people_template(*, actor: Actor, form: str) -> PeopleFile:
    """A file to begin with; as a workbook it lists the organizations and roles that may stand in it."""
    actor.require(P.MANAGE)
    names = RoleNames(role_list())
    lists = (
        (_("Organizations"), [path for path, row in organization_paths(actor=actor) if row.is_enabled]),
        (_("Roles"), [names.text([role]) for role in role_list()]),
    )
    return people_file("people-template", form, PEOPLE_COLUMNS, lists=lists)


@service(P.MANAGE, recorded=False)
def people_import_try(
    *, actor: Actor, data: bytes, days: int, by_mail: MailPortal | None = None
) -> list[Outcome]:
    """What an import of this file would do, row by row; nothing of it is done."""
    rows = people_read(data, PEOPLE_COLUMNS)
    return people_tried(rows, _taker(actor, days, by_mail))


@service(P.MANAGE)
def people_import(
    *, actor: Actor, data: bytes, days: int, by_mail: MailPortal | None = None, seen: str = ""
) -> list[Outcome]:
    """Take every row of the file or none (PLAT-TEN-24); the links of new people's invitations are shown once, or
    sent by mail.

    Args:
        days: how long the invitations are valid.
        by_mail: where the links are asked for that are to be sent.
        seen: `outcomes_digest` of the preview that was confirmed.
    """
    outcomes = people_taken(people_read(data, PEOPLE_COLUMNS), _taker(actor, days, by_mail), seen)
    act_subject("tenant", current_schema(), rows=len(outcomes))
    return outcomes


def _taker(actor: Actor, days: int, by_mail: MailPortal | None) -> Callable[[PersonRow], Outcome]:
    """What is done to one row, with the people whom the actor reaches, organizations and roles as they are now."""
    if by_mail is not None:
        mail_check()
    reached = memberships_present(current_tenant()).filter(people_reached(actor))
    people = {person.user.pk: person for person in people_of(reached)}
    known = PeopleKnown(person.user for person in people.values())
    invited = {row.email.lower() for row in invitation_list(actor=actor) if row.state == "open" and row.email}
    organizations = OrganizationNames(organization_paths(actor=actor))
    roles = RoleNames(role_list())

    def take(row: PersonRow) -> Outcome:
        user = known.meant(row)
        organization = organizations.find(row.organization) if row.organization else None
        given = roles.find(row.roles)
        if user is not None:
            return _change(actor, row, people[user.pk], organization, given, roles)
        if row.username:
            raise InvalidInput(
                _("Nobody here has the login account %(name)s.") % {"name": row.username},
                cure=_("Leave the account empty: who is invited chooses it."),
            )
        if row.email.lower() in invited:
            return Outcome(row, Change.SAME, (_("Invited already"),))
        _invitation, secret = invitation_make(
            actor=actor,
            display_name=row.display_name,
            email=row.email,
            organization=organization,
            roles=given,
            days=days,
            by_mail=by_mail,
        )
        return Outcome(row, Change.NEW, secret=secret)

    return take


def _change(
    actor: Actor,
    row: PersonRow,
    person: Person,
    organization: Organization | None,
    roles: list[TenantRole],
    names: RoleNames[TenantRole],
) -> Outcome:
    """Bring somebody who is here to what the row says."""
    user = person.user
    name, email = row.display_name or user.display_name, row.email or user.email
    changes = change_text("display_name", user.display_name, name) + change_text("email", user.email, email)
    if changes:
        # A copy: what a refused row changes in memory does not stay in the database.
        person_edit(actor=actor, user=user_get(user.pk), display_name=name, email=email)
    before = person.member.organization if person.member else None
    if organization is not None and before != organization:
        changes += change_text("organization", str(before or ""), str(organization))
        person_move(actor=actor, user=user, organization=organization)
    if roles and {role.pk for role in roles} != {role.pk for role in person.roles}:
        changes += change_text("roles", names.text(person.roles), names.text(roles))
        person_roles_set(actor=actor, user=user, roles=roles)
    return Outcome(row, Change.CHANGED if changes else Change.SAME, tuple(changes))
