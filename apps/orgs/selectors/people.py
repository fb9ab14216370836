"""Reads: the people of a tenant, their posts and invitations."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centre.mail_address import MAIL_TRIES_MAX
from apps.identity.models import Membership, User
from apps.identity.rules.people_file import RoleNames
from apps.identity.selectors import members_enabled, memberships_present
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.reach import Records
from apps.orgs.models import (
    Invitation,
    InvitationMail,
    Member,
    Organization,
    Post,
    RoleBinding,
    TenantRole,
)
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.selectors.organizations import member_ids_reached, organization_ids_below, organization_paths
from apps.orgs.selectors.roles import role_list


def member_ids() -> set[int]:
    """All who have a place in the tenant."""
    return set(Member.objects.values_list("user_id", flat=True))


def member_ids_of_post(name: str) -> set[int]:
    return set(Member.objects.filter(post__name=name).values_list("user_id", flat=True))


def post_list() -> QuerySet[Post]:
    """The tenant's posts, each with `held`, how many hold it."""
    return Post.objects.annotate(held=Count("holders")).order_by("name")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of the tenant: account, place in the tenant, organization (None: none yet) and roles."""

    user: User
    membership: Membership
    member: Member | None
    roles: tuple[TenantRole, ...]

    @property
    def state(self) -> str:
        """`active`, `disabled` here, or `locked` by the computing centre everywhere."""
        if not self.user.is_active:
            return "locked"
        return "active" if self.membership.is_active else "disabled"

    @property
    def state_text(self) -> str:
        """`state` in the reader's language."""
        texts = {"locked": _("Locked"), "active": _("Active"), "disabled": _("Disabled")}
        return texts[self.state]


def person_list(
    *, actor: Actor, search: str = "", organization: Organization | None = None, role: str = ""
) -> QuerySet[Membership]:
    """Who belongs to the tenant, disabled ones too; part of an account or name narrows (PLAT-TEN-25).

    `organization` narrows to it and all below, `role` to who holds it. `people_of` makes persons of a page of them.
    """
    actor.require(P.VIEW)
    rows = memberships_present(current_tenant()).filter(people_reached(actor))
    if search:
        rows = rows.filter(Q(user__username__icontains=search) | Q(user__display_name__icontains=search))
    if organization is not None:
        members = Member.objects.filter(organization_id__in=organization_ids_below(organization))
        rows = rows.filter(user_id__in=members.values("user_id"))
    if role:
        rows = rows.filter(user_id__in=RoleBinding.objects.filter(role__code=role).values("user_id"))
    return rows.order_by("user__username", "pk")


def people_reached(actor: Actor) -> Q:
    """Rows with a `user_id` whose person the actor reaches (PLAT-SEC-4)."""
    if actor.reaches_all(Records.PEOPLE):
        return Q()
    return Q(user_id=actor.user_id) | Q(user_id__in=member_ids_reached(actor, Records.PEOPLE))


def people_of(memberships: Iterable[Membership]) -> list[Person]:
    """Each with organization and roles, in two queries."""
    rows = list(memberships)
    ids = [row.user_id for row in rows]
    places = Member.objects.filter(user_id__in=ids).select_related("organization", "post")
    members = {member.user_id: member for member in places}
    roles: dict[int, list[TenantRole]] = {}
    for binding in RoleBinding.objects.filter(user_id__in=ids).select_related("role"):
        roles.setdefault(binding.user_id, []).append(binding.role)
    return [
        Person(row.user, row, members.get(row.user_id), tuple(roles.get(row.user_id, ()))) for row in rows
    ]


PEOPLE_COLUMNS = ("username", "display_name", "email", "organization", "roles")


def people_rows(*, actor: Actor, memberships: Iterable[Membership]) -> list[dict[str, str]]:
    """These people as the rows of a file, by `PEOPLE_COLUMNS` and their state."""
    paths = {organization.pk: path for path, organization in organization_paths(actor=actor)}
    roles = RoleNames(role_list())
    states = {
        "active": _("Enabled"),
        "disabled": _("Disabled"),
        "locked": _("Disabled by the computing centre"),
    }
    return [
        {
            "username": person.user.username,
            "display_name": person.user.display_name,
            "email": person.user.email,
            "organization": paths[person.member.organization_id] if person.member else "",
            "roles": roles.text(person.roles),
            "state": states[person.state],
        }
        for person in people_of(memberships)
    ]


def person_get(*, actor: Actor, uid: UUID) -> Person:
    """Somebody of the tenant by the account's uid; NotFound for anybody else."""
    rows = person_list(actor=actor).filter(user__uid=uid)[:1]
    if not rows:
        raise NotFound()
    return people_of(rows)[0]


def invitation_list(*, actor: Actor) -> QuerySet[Invitation]:
    """Invitations that nobody has used or withdrawn, newest first; those that are too old among them."""
    actor.require(P.MANAGE)
    place = "organization__uid"
    own = Q(made_by_id=actor.user_id)
    reached = actor.reaches(Records.PEOPLE, own=own, organization=place, system=place)
    rows = Invitation.objects.filter(reached, used_at=None, withdrawn_at=None)
    return rows.select_related("organization", "made_by", "mail").prefetch_related("roles")


def invitation_get(*, actor: Actor, uid: UUID) -> Invitation:
    row = invitation_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def invitations_open() -> QuerySet[Invitation]:
    """Invitations whose link lets somebody in."""
    return Invitation.objects.filter(used_at=None, withdrawn_at=None, expires_at__gt=timezone.now())


def invitation_mails_due() -> QuerySet[InvitationMail]:
    """Mails of open invitations that are to be sent now."""
    return InvitationMail.objects.filter(
        sent_at=None,
        tries__lt=MAIL_TRIES_MAX,
        next_try_at__lte=timezone.now(),
        invitation__in=invitations_open(),
    )


def member_list(
    *, actor: Actor, organization: Organization | None = None, search: str = ""
) -> QuerySet[Member]:
    """Members of the tenant, or of one organization; part of a login account narrows (PLAT-TEN-17, PLAT-TEN-25)."""
    actor.require(P.VIEW)
    rows = Member.objects.filter(people_reached(actor)).select_related("user", "organization", "post")
    if organization is not None:
        rows = rows.filter(organization=organization)
    return rows.filter(user__username__icontains=search) if search else rows


def member_get(*, actor: Actor, uid: UUID) -> Member:
    row = member_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def tenant_user_get(*, actor: Actor, username: str) -> User:
    """A user who belongs to the current tenant, by login account; NotFound for anybody else."""
    actor.require(P.VIEW)
    memberships = members_enabled(current_tenant()).filter(people_reached(actor))
    row = User.objects.filter(username__iexact=username, pk__in=memberships.values("user_id")).first()
    if row is None:
        raise NotFound()
    return row
