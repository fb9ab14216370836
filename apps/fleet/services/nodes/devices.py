"""What operators decide about devices."""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.errors import DeviceBusy
from apps.fleet.events import DeviceAccepted, DeviceLeft
from apps.fleet.locks import slices_lock
from apps.fleet.models import OVERSUBSCRIBE_MAX_PERMILLE, Device, Slice
from apps.fleet.permissions import FleetPermission as P
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service


@service(P.MANAGE)
def device_enable(*, actor: Actor, device_uid: str) -> Device:
    """Let new slices be cut from it again; one that was to leave stays, one that has left is back."""
    return _change(device_uid, is_enabled=True, is_leaving=False, left_at=None)


@service(P.MANAGE)
def device_disable(*, actor: Actor, device_uid: str) -> Device:
    """Let no new slices be cut from it; those that run go on."""
    return _change(device_uid, is_enabled=False)


@service(P.MANAGE)
def device_slicing_set(*, actor: Actor, device_uid: str, is_sliced: bool) -> Device:
    """Make it a virtual resource, cut into shares, or a physical card, given as a whole (POOL-12.15).

    Raises DeviceBusy while anything is held of it.
    """
    act_subject("device", device_uid, is_sliced=is_sliced)
    free = Q(held_percent=0, held_mib=0, whole_held=False) | Q(is_sliced=is_sliced)
    idle = Device.objects.filter(free, uid=device_uid)
    if not idle.update(is_sliced=is_sliced, updated_at=timezone.now()):
        device = _device(device_uid)
        raise DeviceBusy(
            _("%(percent)s %% and %(mib)s MiB of device %(device)s are held.")
            % {"percent": device.held_percent, "mib": device.held_mib, "device": device_uid}
        )
    return _device(device_uid)


@service(P.MANAGE)
def device_remove(*, actor: Actor, device_uid: str) -> Device:
    """Take a device out of the pool: at once when nothing runs on it, else when its last slice has ended; nothing
    new is put on it meanwhile (POOL-12.25). Enabling it takes that back."""
    act_subject("device", device_uid)
    device = _device(device_uid, lock=True)
    if device.left_at is None:
        device.is_leaving = True
        device.save(update_fields=["is_leaving", "updated_at"])
        devices_leave(Device.objects.filter(pk=device.pk), actor=actor, now=timezone.now())
    return _device(device_uid)


def devices_leave(rows: QuerySet[Device], *, actor: Actor, now: datetime) -> int:
    """Let those of the leaving devices go that have no slices any more; how many did."""
    busy = Slice.plain.filter(device=OuterRef("pk"), closed_at=None)
    due = rows.filter(~Exists(busy), is_leaving=True, left_at=None, held_percent=0, held_mib=0)
    gone = list(due.select_for_update(no_key=True, of=("self",)).select_related("node").order_by("pk"))
    Device.objects.filter(pk__in=[device.pk for device in gone]).update(left_at=now)
    for device in gone:
        by_operator = device.missing_at is None
        emit(DeviceLeft(device_uid=device.uid, node=device.node.name, by_operator=by_operator), actor=actor)
    return len(gone)


@service(P.MANAGE)
def device_oversubscribe(
    *, actor: Actor, device_uid: str, compute_permille: int, memory_permille: int = 1000
) -> Device:
    """How often each percent and MiB may be held, in permille: 1000 is once (POOL-12.5). Conflict while more is
    held. The node is told with the next sync of the slices that run there."""
    fields = {
        name: _("1000 to %(most)s permille.") % {"most": OVERSUBSCRIBE_MAX_PERMILLE}
        for name, value in (("compute_permille", compute_permille), ("memory_permille", memory_permille))
        if not 1000 <= value <= OVERSUBSCRIBE_MAX_PERMILLE
    }
    if fields:
        raise InvalidInput(fields=fields)
    # Slices before devices, as everywhere; a higher generation makes the node look at what it is told.
    told = [row.pk for row in slices_lock(Q(device__uid=device_uid, final_at=None))]
    Slice.plain.filter(pk__in=told).update(generation=F("generation") + 1)
    return _change(
        device_uid, oversubscribe_permille=compute_permille, memory_oversubscribe_permille=memory_permille
    )


@service(P.MANAGE)
def device_memory_accept(*, actor: Actor, device_uid: str) -> Device:
    """Take the memory that the device reports for true, after somebody has looked why it changed."""
    device = _change(device_uid, memory_mib=F("reported_mib"))
    emit(DeviceAccepted(device_uid=device_uid), actor=actor)
    return device


def _change(device_uid: str, **changes: object) -> Device:
    act_subject("device", device_uid, **changes)
    try:
        with transaction.atomic():
            rows = Device.objects.filter(uid=device_uid)
            if not rows.update(**changes, updated_at=timezone.now()):
                raise NotFound(_("There is no device %(device)s.") % {"device": device_uid})
    except IntegrityError as error:
        raise Conflict(
            _("More of the device is held than that would leave."), cure=_("Wait until slices have ended.")
        ) from error
    return _device(device_uid)


def _device(device_uid: str, *, lock: bool = False) -> Device:
    rows = Device.objects.select_related("node", "group").filter(uid=device_uid)
    device = (rows.select_for_update(no_key=True, of=("self",)) if lock else rows).first()
    if device is None:
        raise NotFound(_("There is no device %(device)s.") % {"device": device_uid})
    return device
