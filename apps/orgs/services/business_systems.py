"""Business systems: two levels, one owning organization, people of any who take part."""

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.identity.rules.organizations import enabled_check, name_clean
from apps.identity.selectors import belongs
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orgs.models import TAKE_PART, BusinessSystem, BusinessSystemUser, Organization
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.services.placing import take_part_check


@service(P.MANAGE)
def business_system_create(
    *, actor: Actor, name: str, number: str, organization: Organization, parent: BusinessSystem | None = None
) -> BusinessSystem:
    """A business system of one organization, at the first or second level (PLAT-TEN-21)."""
    name, number = name_clean(name), name_clean(number, "number", 48)
    enabled_check(organization)
    if parent is not None and parent.parent_id is not None:
        reason = _("Business systems have two levels: %(name)s is already at the second.") % {
            "name": parent.name
        }
        raise InvalidInput(reason, fields={"parent": reason})
    for field, value in (("name", name), ("number", number)):
        if BusinessSystem.objects.filter(**{field: value}).exists():
            reason = _("There is already a business system %(value)s.") % {"value": value}
            raise InvalidInput(reason, fields={field: reason})
    row = BusinessSystem.objects.create(name=name, number=number, organization=organization, parent=parent)
    act_subject("business_system", row.uid, name=name)
    return row


def _take_part() -> Permission:
    """The permission row of `take_part`, made where a database has none yet."""
    kind = ContentType.objects.get_for_model(BusinessSystem)
    return Permission.objects.get_or_create(
        content_type=kind, codename=TAKE_PART, defaults={"name": "Can take part in the business system"}
    )[0]


@service(P.MANAGE)
def business_system_member_add(
    *, actor: Actor, business_system: BusinessSystem, user: User
) -> BusinessSystemUser:
    """Let a user of this tenant, of any organization, take part (PLAT-TEN-22). Forbidden where the business system is
    beyond what the actor reaches."""
    act_subject("business_system", business_system.uid, user=user.username)
    if not belongs(user, current_tenant()):
        raise InvalidInput(_("%(user)s does not belong to this tenant.") % {"user": user})
    take_part_check(actor, business_system, user)
    return BusinessSystemUser.objects.assign_perm(_take_part(), user, business_system)


@service(P.MANAGE)
def business_system_member_remove(*, actor: Actor, business_system: BusinessSystem, user: User) -> None:
    """The user sees the business system no longer (PLAT-TEN-22)."""
    act_subject("business_system", business_system.uid, user=user.username)
    BusinessSystemUser.objects.remove_perm(_take_part(), user, business_system)
