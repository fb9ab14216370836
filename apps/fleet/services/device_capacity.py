"""What slices hold of devices: taken and given back in single updates that the database guards."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.errors import DeviceUnavailable
from apps.fleet.models import Device, Node, ResourceGroup, Slice
from apps.fleet.states import Health, NodeState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service

_ROOM_PERCENT = F("oversubscribe_permille") / 10
_ROOM_MIB = F("memory_mib") * F("memory_oversubscribe_permille") / 1000


@service(recorded=False)
def device_hold(
    *,
    actor: Actor,
    device_uid: str,
    compute_percent: int,
    memory_mib: int,
    exclusive: bool = False,
    resource_group: str = "",
) -> None:
    """Hold a share of a device: one compare-and-set, so that of many who ask for the last share one wins.

    `exclusive` wants a physical card that nobody else holds anything of, and keeps it so; a share is cut from a
    virtualised one only (POOL-12.15). A device of a resource group is held by those who name it (POOL-12.13), and
    theirs are devices of it. Raises DeviceUnavailable (a Conflict) when there is no room any more, the device is
    off, ill or leaving, or its node is not ready.
    """
    amounts_check(compute_percent, memory_mib)
    rows = _open_devices(device_uid, resource_group).filter(
        is_sliced=not exclusive,
        whole_held=False,
        held_percent__lte=_ROOM_PERCENT - compute_percent,
        held_mib__lte=_ROOM_MIB - memory_mib,
    )
    if exclusive:
        rows = rows.filter(held_percent=0, held_mib=0)
    held = rows.update(
        held_percent=F("held_percent") + compute_percent,
        held_mib=F("held_mib") + memory_mib,
        whole_held=exclusive,
        updated_at=timezone.now(),
    )
    if not held:
        _refuse(device_uid, compute_percent, memory_mib, exclusive, resource_group)
    act_subject("device", device_uid, compute_percent=compute_percent, memory_mib=memory_mib)


def _open_devices(device_uid: str, resource_group: str) -> QuerySet[Device]:
    """The device, if anything may be held of it now."""
    ready = Node.objects.filter(state=NodeState.READY, is_leaving=False).values("pk")
    of_group = Q(group__isnull=True)
    if resource_group:
        of_group = Q(group_id__in=ResourceGroup.objects.filter(code=resource_group).values("pk"))
    return Device.objects.filter(
        of_group, uid=device_uid, is_enabled=True, is_leaving=False, health=Health.OK, node_id__in=ready
    )


def hold_resize(row: Slice, compute_percent: int, memory_mib: int) -> None:
    """Hold for a slice what it is to have, in one update: what grows must find room, what shrinks stays held until
    its node has done it. One that no node was told of gives it up at once.

    Raises DeviceUnavailable with the figures when there is no room.
    """
    amounts_check(compute_percent, memory_mib)
    held = (row.compute_percent + row.surplus_percent, row.memory_mib + row.surplus_mib)
    kept = held if row.told_at is not None else (0, 0)
    percent, mib = max(compute_percent, kept[0]), max(memory_mib, kept[1])
    more_percent, more_mib = percent - held[0], mib - held[1]
    rows = Device.objects.filter(pk=row.device_id)
    if more_percent > 0 or more_mib > 0:
        rows = _open_devices(row.device.uid, row.group_code)
    if more_percent > 0:
        rows = rows.filter(held_percent__lte=_ROOM_PERCENT - more_percent)
    if more_mib > 0:
        rows = rows.filter(held_mib__lte=_ROOM_MIB - more_mib)
    found = rows.update(
        held_percent=F("held_percent") + more_percent,
        held_mib=F("held_mib") + more_mib,
        updated_at=timezone.now(),
    )
    if not found:
        _refuse(row.device.uid, max(more_percent, 0), max(more_mib, 0), False, row.group_code)
    row.surplus_percent, row.surplus_mib = percent - compute_percent, mib - memory_mib


@service(recorded=False)
def device_release(
    *, actor: Actor, device_uid: str, compute_percent: int, memory_mib: int, exclusive: bool = False
) -> None:
    """Give back what was held, whatever state the device is in. Conflict if it was not held."""
    rows = Device.objects.filter(
        uid=device_uid, held_percent__gte=compute_percent, held_mib__gte=memory_mib, whole_held=exclusive
    )
    given = rows.update(
        held_percent=F("held_percent") - compute_percent,
        held_mib=F("held_mib") - memory_mib,
        whole_held=False,
        updated_at=timezone.now(),
    )
    if not given:
        raise Conflict(_("That share of %(device)s is not held.") % {"device": device_uid})
    act_subject("device", device_uid, compute_percent=compute_percent, memory_mib=memory_mib)


def amounts_check(compute_percent: int, memory_mib: int) -> None:
    """InvalidInput unless 1 to 100 percent and at least 1 MiB are meant."""
    fields: dict[str, object] = {}
    if not 1 <= compute_percent <= 100:
        fields["compute_percent"] = _("1 to 100 percent of one device.")
    if not 1 <= memory_mib <= 2**40:
        fields["memory_mib"] = _("At least 1 MiB.")
    if fields:
        raise InvalidInput(_("This share cannot be cut from a device."), fields=fields)


@dataclass(slots=True)
class _Allocated:
    compute_percent: int = 0
    memory_mib: int = 0
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Freed:
    """What of a device (by key) is to be given back."""

    device_id: int
    compute_percent: int
    memory_mib: int
    whole: bool = False


def hold_shrink(row: Slice) -> Freed:
    """Let a slice hold no more than its share, in memory; what is to be given back of its device."""
    freed = Freed(row.device_id, row.surplus_percent, row.surplus_mib)
    row.surplus_percent = row.surplus_mib = 0
    return freed


def holds_release(ended: Iterable[Slice], freed: Iterable[Freed] = ()) -> None:
    """Give back, in one update, all that slices hold that have just become final, and what others gave up.

    Only called with rows that this transaction has locked and changed so: thus once for each.
    """
    whole = (
        Freed(
            row.device_id,
            row.compute_percent + row.surplus_percent,
            row.memory_mib + row.surplus_mib,
            row.is_exclusive,
        )
        for row in ended
    )
    sums: dict[int, _Allocated] = defaultdict(_Allocated)
    for part in (*whole, *freed):
        held = sums[part.device_id]
        held.compute_percent += part.compute_percent
        held.memory_mib += part.memory_mib
        held.whole |= part.whole
    if not sums:
        return
    percents = {pk: F("held_percent") - held.compute_percent for pk, held in sums.items()}
    mibs = {pk: F("held_mib") - held.memory_mib for pk, held in sums.items()}
    wholes = [pk for pk, held in sums.items() if held.whole]
    # In key order, as a scheduling cycle takes them: one update alone would lock them in any order.
    list(Device.objects.select_for_update(no_key=True).filter(pk__in=sums).order_by("pk").values_list("pk"))
    Device.objects.filter(pk__in=sums).update(
        held_percent=_by_pk(percents),
        held_mib=_by_pk(mibs),
        whole_held=Case(When(pk__in=wholes, then=Value(False)), default=F("whole_held")),
        updated_at=timezone.now(),
    )


def _by_pk(values: dict[int, Combinable]) -> Case:
    return Case(*[When(Q(pk=pk), then=value) for pk, value in values.items()])


def _refuse(
    device_uid: str, compute_percent: int, memory_mib: int, exclusive: bool, resource_group: str
) -> None:
    rows = Device.objects.select_related("node", "group").filter(uid=device_uid)
    device = rows.first()
    if device is None:
        raise NotFound(_("There is no device %(device)s.") % {"device": device_uid})
    why = device_why_not(device, resource_group) or _no_room(device, compute_percent, memory_mib, exclusive)
    raise DeviceUnavailable(why)


def device_why_not(device: Device, resource_group: str = "") -> str:
    """Why nothing may be held of a device, whatever the amount; empty when something may."""
    name = {"device": device.uid}
    if device.left_at is not None or device.is_leaving:
        return _("Device %(device)s is leaving the pool.") % name
    if not device.is_enabled:
        return _("Device %(device)s is disabled.") % name
    if device.health != Health.OK:
        return _("Device %(device)s is not healthy: %(reason)s") % {**name, "reason": device.health_reason}
    if not device.node.is_ready:
        return _("The node of device %(device)s is not ready.") % name
    if device.group is not None and device.group.code != resource_group:
        return _("Device %(device)s belongs to resource group %(group)s.") % {**name, "group": device.group}
    if device.group is None and resource_group:
        return _("Device %(device)s is not in resource group %(group)s.") % {**name, "group": resource_group}
    return ""


def _no_room(device: Device, compute_percent: int, memory_mib: int, exclusive: bool) -> str:
    name = {"device": device.uid}
    if exclusive and device.is_sliced:
        return _("Device %(device)s is virtualised: only shares of it are given.") % name
    if not exclusive and not device.is_sliced:
        return _("Device %(device)s is a physical card: it is given as a whole only.") % name
    if device.whole_held or exclusive:
        return _("Device %(device)s is not free as a whole.") % name
    text = _(
        "Device %(device)s has %(free_percent)s %% and %(free_mib)s MiB left, "
        "%(percent)s %% and %(mib)s MiB are asked."
    )
    free = {"free_percent": device.free_percent, "free_mib": device.free_mib}
    return text % {**name, **free, "percent": compute_percent, "mib": memory_mib}
