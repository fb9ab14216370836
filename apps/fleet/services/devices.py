"""What operators decide about devices."""

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.events import DeviceAccepted
from apps.fleet.models import OVERSUBSCRIBE_MAX_PERMILLE, Device
from apps.fleet.permissions import FleetPermission as P
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service


@service(P.MANAGE)
def device_enable(*, actor: Actor, device_uid: str) -> Device:
    """Let new slices be cut from it again."""
    return _change(device_uid, is_enabled=True)


@service(P.MANAGE)
def device_disable(*, actor: Actor, device_uid: str) -> Device:
    """Let no new slices be cut from it; those that run go on."""
    return _change(device_uid, is_enabled=False)


@service(P.MANAGE)
def device_oversubscribe(
    *, actor: Actor, device_uid: str, compute_permille: int, memory_permille: int = 1000
) -> Device:
    """How often each percent and MiB may be held, in permille: 1000 is once. Conflict while more is held."""
    fields = {
        name: _("1000 to %(most)s permille.") % {"most": OVERSUBSCRIBE_MAX_PERMILLE}
        for name, value in (("compute_permille", compute_permille), ("memory_permille", memory_permille))
        if not 1000 <= value <= OVERSUBSCRIBE_MAX_PERMILLE
    }
    if fields:
        raise InvalidInput(fields=fields)
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
    return Device.objects.select_related("node").get(uid=device_uid)
