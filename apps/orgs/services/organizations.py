"""Organizations, posts, and each member's one place among them."""

from collections.abc import Iterable, Mapping

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.identity.rules.organizations import (
    attributes_clean,
    enabled_check,
    lower_first,
    name_clean,
    place_check,
    sibling_check,
    tree_lock,
)
from apps.identity.selectors import belongs
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.orgs.models import Member, Organization, Post
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.services.placing import placing_check
from apps.scheduling.services.quota.organizations import (
    organization_drop,
    organization_put,
    organization_quotas_put,
)

# --- organizations ---------------------------------------------------------------------------------------------


@service(P.MANAGE)
def organization_create(
    *,
    actor: Actor,
    name: str,
    parent: Organization | None = None,
    description: str = "",
    attributes: Mapping[str, str] | None = None,
) -> Organization:
    """An organization at the top or below another; names are unique below one parent (PLAT-TEN-14)."""
    name = name_clean(name)
    # Of two at the same time with one name the second sees the first.
    tree_lock(Organization)
    sibling_check(Organization.objects.all(), name, parent, None)
    row = Organization.objects.create(
        name=name, parent=parent, description=description[:500], attributes=attributes_clean(attributes or {})
    )
    _quotas_tell(row)
    act_subject("organization", row.uid, name=name)
    return row


def _quotas_tell(row: Organization) -> None:
    """The quotas of organizations know its name and place."""
    parent = row.parent.uid if row.parent else None
    organization_put(tenant=current_tenant(), uid=row.uid, name=row.name, parent=parent)


@service(P.MANAGE)
def organization_update(
    *,
    actor: Actor,
    organization: Organization,
    name: str,
    parent: Organization | None = None,
    description: str = "",
    attributes: Mapping[str, str] | None = None,
) -> Organization:
    """Rename or move an organization, or say more of it; without `attributes` those that it has stay.

    It cannot move below itself, nor below one that has less left to give than it has for a quota. Forbidden to move one
    that is, or goes below one that is, beyond the actor's reach.
    """
    act_subject("organization", organization.uid)
    tree_lock(Organization)
    name = name_clean(name)
    if parent != organization.parent:
        placing_check(actor, organization, parent)
    place_check(Organization.objects.all(), organization.pk, parent)
    sibling_check(Organization.objects.all(), name, parent, organization.pk)
    organization.name, organization.parent, organization.description = name, parent, description[:500]
    if attributes is not None:
        organization.attributes = attributes_clean(attributes)
    organization.save(update_fields=["name", "parent", "description", "attributes", "updated_at"])
    _quotas_tell(organization)
    return organization


@service(P.MANAGE)
def organization_enable(*, actor: Actor, organization: Organization) -> None:
    act_subject("organization", organization.uid)
    Organization.objects.filter(pk=organization.pk).update(is_enabled=True, updated_at=timezone.now())


@service(P.MANAGE)
def organization_disable(*, actor: Actor, organization: Organization) -> None:
    """A disabled organization takes no new members and business systems; those it has stay."""
    act_subject("organization", organization.uid)
    Organization.objects.filter(pk=organization.pk).update(is_enabled=False, updated_at=timezone.now())


@service(P.MANAGE)
def organization_delete(*, actor: Actor, organization: Organization) -> None:
    """Delete an empty organization. Raises Conflict while it holds members, business systems or organizations."""
    act_subject("organization", organization.uid, name=organization.name)
    # The row lock makes a member that is being added right now either visible here or fail there.
    row = Organization.objects.select_for_update().filter(pk=organization.pk).first()
    if row is None:
        raise Conflict(_("The organization is already deleted."))
    if row.members.exists() or row.business_systems.exists() or row.children.exists():
        raise Conflict(
            _("The organization %(name)s is not empty.") % {"name": row.name},
            cure=_("Move its members, business systems and lower organizations elsewhere first."),
        )
    organization_drop(tenant=current_tenant(), uid=row.uid)
    row.delete()


@service(P.MANAGE)
def organization_quotas_set(
    *, actor: Actor, organization: Organization, totals: Mapping[str, int | None]
) -> None:
    """Set what the organization and all below it may hold of each item that is named (PLAT-TEN-18); None: no quota of
    its own. Raises what `organization_quotas_put` raises, and then nothing has changed."""
    act_subject("organization", organization.uid, name=organization.name, totals=dict(totals))
    organization_quotas_put(tenant=current_tenant(), uid=organization.uid, totals=totals)


@service(P.MANAGE)
def organizations_delete(*, actor: Actor, organizations: Iterable[Organization]) -> int:
    """Delete several organizations, the lower before the upper; all of them or none. How many (PLAT-TEN-14)."""
    chosen = {row.pk: row for row in organizations}
    tree_lock(Organization)
    for pk in lower_first(Organization.objects.all(), chosen):
        organization_delete(actor=actor, organization=chosen[pk])
    act_subject("tenant", current_schema(), organizations=[row.name for row in chosen.values()])
    return len(chosen)


# --- members ---------------------------------------------------------------------------------------------------


@service(P.MANAGE)
def member_add(*, actor: Actor, user: User, organization: Organization, post: Post | None = None) -> Member:
    """Give a user of this tenant his one organization (PLAT-TEN-29). Raises Conflict when he has one, and Forbidden as
    `person_move` does."""
    act_subject("user", user.uid, organization=organization.name)
    if not belongs(user, current_tenant()):
        raise InvalidInput(_("%(user)s does not belong to this tenant.") % {"user": user})
    placing_check(actor, organization, user=user)
    enabled_check(organization)
    row, made = Member.objects.get_or_create(user=user, defaults={"organization": organization, "post": post})
    if not made:
        raise Conflict(
            _("%(user)s already belongs to %(name)s.") % {"user": user, "name": row.organization},
            cure=_("Move the member instead."),
        )
    return row


@service(P.MANAGE)
def member_move(
    *, actor: Actor, member: Member, organization: Organization, post: Post | None = None
) -> Member:
    """Moving replaces the first organization (PLAT-TEN-29). Forbidden as `person_move` is."""
    act_subject("user", member.user.uid, organization=organization.name)
    placing_check(actor, member.organization, organization, user=member.user)
    enabled_check(organization)
    member.organization, member.post = organization, post
    member.save(update_fields=["organization", "post"])
    return member


@service(P.MANAGE)
def member_remove(*, actor: Actor, member: Member) -> None:
    """Take a user out of his organization; roles and account stay (PLAT-TEN-17). Forbidden as `person_move` is."""
    act_subject("user", member.user.uid, organization=member.organization.name)
    placing_check(actor, member.organization, user=member.user)
    Member.objects.filter(pk=member.pk).delete()
