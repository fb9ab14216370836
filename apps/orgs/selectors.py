"""Who is who in the current tenant, and which business systems a user sees."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centre.mail_address import MAIL_TRIES_MAX
from apps.identity.models import Membership, User
from apps.identity.rules.organizations import OrganizationRow, ids_below, paths_of, tree_of
from apps.identity.rules.people_file import RoleNames
from apps.identity.selectors import members_enabled, memberships_present
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.reach import DataPermission, Reach, Records, Scope
from apps.kernel.translatable import localized
from apps.orgs.models import (
    TAKE_PART,
    BusinessSystem,
    BusinessSystemUser,
    DefaultSystem,
    Invitation,
    InvitationMail,
    Member,
    Organization,
    Post,
    RoleBinding,
    TenantRole,
)
from apps.orgs.permissions import OrgsPermission as P


def role_list(search: str = "") -> QuerySet[TenantRole]:
    """The tenant's roles, with a part of the name; each with `holders`, how many hold it."""
    rows = TenantRole.objects.annotate(holders=Count("bindings")).order_by("-is_builtin", "name_en", "code")
    return rows.filter(Q(name_en__icontains=search) | Q(name_zh__icontains=search)) if search else rows


def role_get(code: str) -> TenantRole:
    row = role_list().filter(code=code).first()
    if row is None:
        raise NotFound()
    return row


def role_list_of(user_id: int) -> list[TenantRole]:
    """The roles a user holds in the current tenant, first bound first."""
    return [binding.role for binding in RoleBinding.objects.filter(user_id=user_id).select_related("role")]


class Standing(NamedTuple):
    """What somebody is in the current tenant: the roles he holds, first bound first, his organization, and his default
    business system; without a role the two are not asked for."""

    roles: list[TenantRole]
    organization: UUID | None
    default_system: UUID | None


def standing_of(user_id: int) -> Standing:
    place = Member.objects.filter(user_id=OuterRef("user_id")).values("organization__uid")
    default = DefaultSystem.objects.filter(user_id=OuterRef("user_id")).values("business_system__uid")
    bindings = RoleBinding.objects.filter(user_id=user_id).select_related("role")
    rows = list(bindings.annotate(place=Subquery(place), default=Subquery(default)))
    first = rows[0] if rows else None
    return Standing(
        [row.role for row in rows], first.place if first else None, first.default if first else None
    )


def reach_of(user_id: int, permission: DataPermission, organization: UUID | None) -> Reach:
    """Whose records a user reaches by a data permission: its organizations and business systems are looked up where it
    asks for them."""
    asked = {permission.of(records) for records in Records}
    below: frozenset[UUID] = frozenset()
    if Scope.BELOW in asked and organization is not None:
        below = frozenset(organization_uids_below(Organization.objects.get(uid=organization)))
    systems: frozenset[UUID] = frozenset()
    if Scope.SYSTEMS in asked:
        taking_part = BusinessSystemUser.objects.filter(user_id=user_id, permission__codename=TAKE_PART)
        systems = frozenset(taking_part.values_list("content_object__uid", flat=True))
    return Reach(permission, organization, below, systems)


def permissions_of(user_id: int, role_code: str) -> frozenset[str]:
    """What a role lets a user do; empty when the user does not hold it."""
    binding = RoleBinding.objects.filter(user_id=user_id, role__code=role_code).select_related("role").first()
    return frozenset(binding.role.permissions) if binding else frozenset()


def role_codes_of(user_id: int) -> frozenset[str]:
    return frozenset(RoleBinding.objects.filter(user_id=user_id).values_list("role__code", flat=True))


def role_title(code: str) -> str:
    """What the tenant's role is called in the reader's language; "" where there is none of that code."""
    row = TenantRole.objects.filter(code=code).first()
    return localized(row.name_zh, row.name_en) if row else ""


def users_with_role(role_code: str, organization: Organization | None = None) -> list[int]:
    """The enabled users who hold a role, of one organization and those below it if one is given."""
    inside = members_enabled(current_tenant())
    rows = RoleBinding.objects.filter(
        role__code=role_code, user__is_active=True, user_id__in=inside.values("user_id")
    )
    if organization is not None:
        members = Member.objects.filter(organization_id__in=organization_ids_below(organization))
        rows = rows.filter(user_id__in=members.values("user_id"))
    return list(rows.order_by("user_id").values_list("user_id", flat=True))


def members_who_may(permission: str, ids: Iterable[int]) -> set[int]:
    """Of these users those who may enter the current tenant and hold a role in it that allows `permission`."""
    rows = RoleBinding.objects.filter(
        user_id__in=list(ids),
        user__is_active=True,
        role__permissions__contains=[permission],
    ).filter(user_id__in=members_enabled(current_tenant()).values("user_id"))
    return set(rows.values_list("user_id", flat=True))


def role_codes_named(name: str) -> list[str]:
    """The codes of the tenant's roles that are called so, in either language or by their code."""
    named = Q(code=name) | Q(name_zh=name) | Q(name_en=name)
    return list(TenantRole.objects.filter(named).values_list("code", flat=True))


def member_ids() -> set[int]:
    """All who have a place in the tenant."""
    return set(Member.objects.values_list("user_id", flat=True))


def member_ids_of_post(name: str) -> set[int]:
    return set(Member.objects.filter(post__name=name).values_list("user_id", flat=True))


def post_list() -> QuerySet[Post]:
    """The tenant's posts, each with `held`, how many hold it."""
    return Post.objects.annotate(held=Count("holders")).order_by("name")


def member_ids_within(name: str) -> set[int]:
    """Who is in the organizations that are called so, or in one below them."""
    places = {pk for row in Organization.objects.filter(name=name) for pk in organization_ids_below(row)}
    return set(Member.objects.filter(organization_id__in=places).values_list("user_id", flat=True))


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


def member_ids_reached(actor: Actor, records: Records) -> QuerySet[Member, int]:
    """Those in the organizations whose records the actor reaches, and himself."""
    place = "organization__uid"
    reached = actor.reaches(records, own=Q(user_id=actor.user_id), organization=place, system=place)
    return Member.objects.filter(reached).values_list("user_id", flat=True)


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


def organization_paths(*, actor: Actor) -> list[tuple[str, Organization]]:
    """Each organization in reading order, with its path from the top: `Upper / Lower`."""
    return paths_of(organization_tree(actor=actor))


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


def roles_named(codes: Iterable[str]) -> list[TenantRole]:
    """The roles of these codes; InvalidInput for a code that is none."""
    wanted = list(dict.fromkeys(codes))
    found = {role.code: role for role in TenantRole.objects.filter(code__in=wanted)}
    missing = [code for code in wanted if code not in found]
    if missing:
        reason = _("There is no role %(code)s.") % {"code": missing[0][:48]}
        raise InvalidInput(reason, fields={"roles": reason})
    return [found[code] for code in wanted]


# --- organizations ---------------------------------------------------------------------------------------------


def organization_list(*, actor: Actor, search: str = "") -> QuerySet[Organization]:
    """Organizations of the tenant; a part of the name narrows (PLAT-TEN-16)."""
    actor.require(P.VIEW)
    rows = Organization.objects.select_related("parent")
    return rows.filter(name__icontains=search) if search else rows


def organization_get(*, actor: Actor, uid: UUID) -> Organization:
    row = organization_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def organization_tree(*, actor: Actor, name: str = "") -> list[OrganizationRow]:
    """The whole tree in reading order, each with its head count; with a part of the name those that have it
    (PLAT-TEN-15, PLAT-TEN-16)."""
    return tree_of(organization_list(actor=actor).annotate(own=Count("members")).order_by("name"), name)


def organization_ids_below(organization: Organization) -> set[int]:
    """The primary keys of an organization and of all below it."""
    return ids_below(Organization.objects.all(), organization.pk)


def organization_uids_below(organization: Organization) -> set[UUID]:
    """The uids of an organization and of all below it."""
    rows = Organization.objects.filter(pk__in=organization_ids_below(organization))
    return set(rows.values_list("uid", flat=True))


def organization_uids_above(uid: UUID | None) -> set[UUID]:
    """An organization and all above it; none for none."""
    found: set[UUID] = set()
    if uid is None:
        return found
    rows = {row["uid"]: row["parent__uid"] for row in Organization.objects.values("uid", "parent__uid")}
    while uid is not None and uid in rows and uid not in found:
        found.add(uid)
        uid = rows[uid]
    return found


def organization_of(user_id: int | None) -> Organization | None:
    """The organization a user belongs to."""
    member = Member.objects.filter(user_id=user_id).select_related("organization").first()
    return member.organization if member else None


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


# --- business systems ------------------------------------------------------------------------------------------


def business_system_list(*, actor: Actor) -> QuerySet[BusinessSystem]:
    """The business systems the actor takes part in, and others as far as the data permission goes (PLAT-TEN-20)."""
    actor.require(P.VIEW)
    taking_part = BusinessSystemUser.objects.filter(user_id=actor.user_id, permission__codename=TAKE_PART)
    reached = actor.reaches(
        Records.SYSTEMS,
        own=Q(pk__in=taking_part.values("content_object_id")),
        organization="organization__uid",
        system="uid",
    )
    return BusinessSystem.objects.select_related("organization", "parent").filter(reached)


def business_systems_of(*, actor: Actor, user_id: int) -> QuerySet[BusinessSystem]:
    """The business systems that somebody takes part in, of those the actor sees (PLAT-TEN-25)."""
    grants = BusinessSystemUser.objects.filter(user_id=user_id, permission__codename=TAKE_PART)
    return business_system_list(actor=actor).filter(pk__in=grants.values("content_object_id"))


def business_system_get(*, actor: Actor, uid: UUID) -> BusinessSystem:
    row = business_system_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def business_system_user_ids(business_system: BusinessSystem) -> list[int]:
    """Who takes part in a business system."""
    grants = business_system.user_grants.filter(permission__codename=TAKE_PART)
    return list(grants.order_by("user_id").values_list("user_id", flat=True))
