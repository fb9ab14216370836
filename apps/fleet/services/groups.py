"""Resource groups: which devices are set apart, and for whom (POOL-12.13)."""

from collections.abc import Collection, Sequence

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from apps.fleet.events import GroupMade, GroupRemoved
from apps.fleet.models import Device, GroupGrant, ResourceGroup
from apps.fleet.permissions import FleetPermission as P
from apps.fleet.selectors import group_get
from apps.fleet.services.name_checks import code_check, name_check
from apps.identity.models import User
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.tenancy.models import Tenant


@service(P.MANAGE)
def group_make(*, actor: Actor, code: str, name_en: str, name_zh: str = "") -> ResourceGroup:
    """A group without devices yet, and its queue. Raises Conflict for a code in use, by a queue too."""
    code_check(code)
    name_check(name_en, name_zh)
    act_subject("resource_group", code, name=name_en)
    try:
        with transaction.atomic():
            row = ResourceGroup.objects.create(code=code, name_en=name_en, name_zh=name_zh or name_en)
    except IntegrityError as error:
        raise Conflict(_("There is a resource group %(code)s already.") % {"code": code}) from error
    emit(GroupMade(code=row.code, name_en=row.name_en, name_zh=row.name_zh), actor=actor)
    return row


@service(P.MANAGE)
def group_remove(*, actor: Actor, code: str) -> None:
    """End a group: its devices are everybody's again. Conflict while something is held of them, or work waits for
    them."""
    group = _group_locked(code)
    held = Q(held_percent__gt=0) | Q(held_mib__gt=0)
    if group.devices.filter(held).exists():
        raise Conflict(
            _("Devices of the group are in use."), cure=_("Wait until the slices on them have ended.")
        )
    group.delete()
    emit(GroupRemoved(code=code), actor=actor)


@service(P.MANAGE)
def group_devices_set(*, actor: Actor, code: str, devices: Sequence[str]) -> ResourceGroup:
    """Make these the group's devices (uids); those left out are everybody's again. What runs goes on.

    Raises InvalidInput for a device that does not exist, Conflict for one in another group (ELA-303).
    """
    group = _group_locked(code)
    act_subject("resource_group", code, devices=list(devices))
    wanted = set(devices)
    rows = list(
        Device.objects.select_for_update(no_key=True, of=("self",))
        .select_related("group")
        .filter(Q(uid__in=wanted) | Q(group=group))
        .order_by("pk")
    )
    unknown = wanted - {row.uid for row in rows}
    if unknown:
        text = _("There is no device %(device)s.") % {"device": ", ".join(sorted(unknown))}
        raise InvalidInput(text, fields={"devices": text})
    for row in rows:
        if row.uid in wanted and row.group_id not in (None, group.pk):
            raise Conflict(
                _("Device %(device)s is in resource group %(group)s.")
                % {"device": row.uid, "group": row.group},
                cure=_("Take it out of that group first: a device is in one group at most."),
            )
    Device.objects.filter(group=group).exclude(uid__in=wanted).update(group=None)
    Device.objects.filter(uid__in=wanted).update(group=group)
    return group


@service(P.MANAGE)
def group_grant(
    *, actor: Actor, code: str, tenant: Tenant, members: Collection[str] | None = None
) -> GroupGrant:
    """Let a tenant use a group: all its members (None), or those with these login accounts. Granting again
    replaces what was granted. Raises InvalidInput for people who do not belong to the tenant."""
    group = _group_locked(code)
    who = None if members is None else sorted(set(members))
    act_subject("resource_group", code, tenant=tenant.schema_name, members=who)
    users = [] if members is None else _members(tenant, set(members))
    grant, _is_new = GroupGrant.plain.update_or_create(
        group=group, tenant=tenant, defaults={"is_open": members is None}
    )
    grant.clients.set(users)
    return grant


def _members(tenant: Tenant, names: set[str]) -> list[User]:
    if not names:
        raise InvalidInput(fields={"members": _("Name at least one, or grant it to all members.")})
    users = User.objects.filter(
        username__in=names, memberships__tenant=tenant, memberships__is_active=True, is_active=True
    )
    found = {user.username: user for user in users}
    if names - set(found):
        text = _("Not members of %(tenant)s: %(names)s.") % {
            "tenant": tenant.schema_name,
            "names": ", ".join(sorted(names - set(found))),
        }
        raise InvalidInput(text, fields={"members": text})
    return list(found.values())


@service(P.MANAGE)
def group_revoke(*, actor: Actor, code: str, tenant: Tenant) -> None:
    """Take a grant back: what runs goes on, nothing new starts."""
    group = _group_locked(code)
    act_subject("resource_group", code, tenant=tenant.schema_name)
    gone, _by_model = GroupGrant.plain.filter(group=group, tenant=tenant).delete()
    if not gone:
        raise NotFound(_("The group is not granted to %(tenant)s.") % {"tenant": tenant.schema_name})


def _group_locked(code: str) -> ResourceGroup:
    act_subject("resource_group", code)
    group = group_get(code)
    return ResourceGroup.objects.select_for_update().get(pk=group.pk)
