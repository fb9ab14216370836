"""What slices hold of devices: taken and given back in single updates that the database guards."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Case, F, Q, Value, When
from django.db.models.expressions import Combinable
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.errors import DeviceUnavailable
from apps.fleet.models import Device, Node, Slice
from apps.fleet.states import Health, NodeState
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.service import service

_ROOM_PERCENT = F("oversubscribe_permille") / 10
_ROOM_MIB = F("memory_mib") * F("memory_oversubscribe_permille") / 1000


@service(recorded=False)
def device_hold(
    *, actor: Actor, device_uid: str, compute_percent: int, memory_mib: int, exclusive: bool = False
) -> None:
    """Hold a share of a device: one compare-and-set, so that of many who ask for the last share one wins.

    `exclusive` wants a device that nobody else holds anything of, and keeps it so. Raises DeviceUnavailable
    (a Conflict) when there is no room any more, the device is off or ill, or its node is not ready.
    """
    amounts_check(compute_percent, memory_mib)
    ready = Node.objects.filter(state=NodeState.READY).values("pk")
    rows = Device.objects.filter(
        uid=device_uid,
        is_enabled=True,
        health=Health.OK,
        node_id__in=ready,
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
        _refuse(device_uid, compute_percent, memory_mib, exclusive)
    act_subject("device", device_uid, compute_percent=compute_percent, memory_mib=memory_mib)


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
class _Held:
    compute_percent: int = 0
    memory_mib: int = 0
    whole: bool = False


def holds_release(slices: Iterable[Slice]) -> None:
    """Give back the holds of slices that have just become final, in one update.

    Only called with rows that this transaction has locked and moved to a final state: thus once for each.
    """
    sums: dict[int, _Held] = defaultdict(_Held)
    for row in slices:
        held = sums[row.device_id]
        held.compute_percent += row.compute_percent
        held.memory_mib += row.memory_mib
        held.whole |= row.is_exclusive
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


def _refuse(device_uid: str, compute_percent: int, memory_mib: int, exclusive: bool) -> None:
    device = Device.objects.select_related("node").filter(uid=device_uid).first()
    if device is None:
        raise NotFound(_("There is no device %(device)s.") % {"device": device_uid})
    raise DeviceUnavailable(_why_not(device, compute_percent, memory_mib, exclusive))


def _why_not(device: Device, compute_percent: int, memory_mib: int, exclusive: bool) -> str:
    name = {"device": device.uid}
    if not device.is_enabled:
        return _("Device %(device)s is disabled.") % name
    if device.health != Health.OK:
        return _("Device %(device)s is not healthy: %(reason)s") % {**name, "reason": device.health_reason}
    if not device.node.is_ready:
        return _("The node of device %(device)s is not ready.") % name
    if device.whole_held or exclusive:
        return _("Device %(device)s is not free as a whole.") % name
    text = _(
        "Device %(device)s has %(free_percent)s %% and %(free_mib)s MiB left, "
        "%(percent)s %% and %(mib)s MiB are asked."
    )
    free = {"free_percent": device.free_percent, "free_mib": device.free_mib}
    return text % {**name, **free, "percent": compute_percent, "mib": memory_mib}
