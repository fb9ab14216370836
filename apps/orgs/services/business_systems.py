"""Business systems: two levels, one owning organization, people of any who take part."""

from collections.abc import Iterable

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db.models import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.identity.models import User
from apps.identity.rules.organizations import enabled_check, name_clean, tree_lock
from apps.identity.selectors import belongs
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.orgs.models import TAKE_PART, BusinessSystem, BusinessSystemUser, Organization
from apps.orgs.permissions import OrgsPermission as P
from apps.orgs.services.placing import placing_check, take_part_check
from apps.scheduling.selectors.workloads import is_any_work_of_system


@service(P.MANAGE)
def business_system_create(
    *, actor: Actor, name: str, number: str, organization: Organization, parent: BusinessSystem | None = None
) -> BusinessSystem:
    """A business system of one organization, at the first or second level (PLAT-TEN-21)."""
    name, number = name_clean(name), name_clean(number, "number", 48)
    enabled_check(organization)
    tree_lock(BusinessSystem)
    _level_check(None, parent)
    _once_check(None, name, number)
    row = BusinessSystem.objects.create(name=name, number=number, organization=organization, parent=parent)
    act_subject("business_system", row.uid, name=name)
    return row


def _level_check(row: BusinessSystem | None, parent: BusinessSystem | None) -> None:
    """InvalidInput for a third level."""
    if parent is None:
        return
    reason = ""
    if row is not None and row.pk == parent.pk:
        reason = _("A business system is no part of itself.")
    elif parent.parent_id is not None:
        reason = _("Business systems have two levels: %(name)s is already at the second.") % {
            "name": parent.name
        }
    elif row is not None and row.children.exists():
        reason = _("Business systems have two levels: %(name)s has parts of its own.") % {"name": row.name}
    if reason:
        raise InvalidInput(reason, fields={"parent": reason})


def _once_check(row: BusinessSystem | None, name: str, number: str) -> None:
    """InvalidInput for a name or number that another one has."""
    others = BusinessSystem.objects.exclude(pk=row.pk) if row else BusinessSystem.objects.all()
    for field, value in (("name", name), ("number", number)):
        if others.filter(**{field: value}).exists():
            reason = _("There is already a business system %(value)s.") % {"value": value}
            raise InvalidInput(reason, fields={field: reason})


@service(P.MANAGE)
def business_system_update(
    *,
    actor: Actor,
    business_system: BusinessSystem,
    name: str,
    number: str,
    organization: Organization,
    parent: BusinessSystem | None = None,
) -> BusinessSystem:
    """Rename a business system, or move it to another organization or below another one; what was done for it stays
    its own. Forbidden to move one from or to an organization beyond the actor's reach."""
    act_subject("business_system", business_system.uid, name=name)
    name, number = name_clean(name), name_clean(number, "number", 48)
    tree_lock(BusinessSystem)
    row = _locked(business_system)
    if row.organization_id != organization.pk:
        placing_check(actor, row.organization, organization)
        enabled_check(organization)
    _level_check(row, parent)
    _once_check(row, name, number)
    row.name, row.number, row.organization, row.parent = name, number, organization, parent
    row.save(update_fields=["name", "number", "organization", "parent", "updated_at"])
    return row


def _locked(business_system: BusinessSystem) -> BusinessSystem:
    """The row as it is now, locked; NotFound once it is deleted."""
    rows = BusinessSystem.objects.select_for_update(of=("self",)).select_related("organization")
    row = rows.filter(pk=business_system.pk).first()
    if row is None:
        raise NotFound()
    return row


@service(P.MANAGE)
def business_system_enable(*, actor: Actor, business_system: BusinessSystem) -> None:
    act_subject("business_system", business_system.uid)
    _switch(business_system, is_enabled=True)


@service(P.MANAGE)
def business_system_disable(*, actor: Actor, business_system: BusinessSystem) -> None:
    """Nothing new is asked for or sent for a disabled one; what runs and what it cost stay."""
    act_subject("business_system", business_system.uid)
    _switch(business_system, is_enabled=False)


def _switch(business_system: BusinessSystem, *, is_enabled: bool) -> None:
    rows = BusinessSystem.objects.filter(pk=business_system.pk)
    rows.update(is_enabled=is_enabled, updated_at=timezone.now())


@service(P.MANAGE)
def business_systems_delete(*, actor: Actor, business_systems: Iterable[BusinessSystem]) -> int:
    """Delete business systems that nothing was ever done for, those below before those above; all of them or none. How
    many. Raises Conflict for one with parts that stay, with work, or with applications, orders or tickets."""
    tree_lock(BusinessSystem)
    chosen = sorted(business_systems, key=lambda row: row.parent_id is None)
    for each in chosen:
        _delete(each)
    act_subject("tenant", current_schema(), business_systems=[row.name for row in chosen])
    return len(chosen)


def _delete(business_system: BusinessSystem) -> None:
    row = _locked(business_system)
    if is_any_work_of_system(current_tenant(), row.uid):
        raise _in_use(row)
    try:
        row.delete()
    except ProtectedError as error:
        raise _in_use(row) from error


def _in_use(row: BusinessSystem) -> Conflict:
    return Conflict(
        _("The business system %(name)s is named by parts, applications, orders, work or tickets.")
        % {"name": row.name},
        cure=_("Disable it: nothing new is done for it then, and its records stay."),
    )


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
