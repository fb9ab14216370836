"""Reads: the tree of organizations and who is in it."""

from uuid import UUID

from django.db.models import Count, Q, QuerySet

from apps.identity.rules.organizations import OrganizationRow, ids_below, paths_of, tree_of
from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.kernel.reach import Records
from apps.orgs.models import (
    Member,
    Organization,
)
from apps.orgs.permissions import OrgsPermission as P


def member_ids_within(name: str) -> set[int]:
    """Who is in the organizations that are called so, or in one below them."""
    places = {pk for row in Organization.objects.filter(name=name) for pk in organization_ids_below(row)}
    return set(Member.objects.filter(organization_id__in=places).values_list("user_id", flat=True))


def member_ids_reached(actor: Actor, records: Records) -> QuerySet[Member, int]:
    """Those in the organizations whose records the actor reaches, and himself."""
    place = "organization__uid"
    reached = actor.reaches(records, own=Q(user_id=actor.user_id), organization=place, system=place)
    return Member.objects.filter(reached).values_list("user_id", flat=True)


def organization_paths(*, actor: Actor) -> list[tuple[str, Organization]]:
    """Each organization in reading order, with its path from the top: `Upper / Lower`."""
    return paths_of(organization_tree(actor=actor))


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
