"""Volumes that orders deliver: made, resized and ended as their orders are, their files kept for a stated time.

Locks: volume before order before charge.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centre.storage_classes import storage_class_default
from apps.kernel.actor import SYSTEM, Actor, act_subject
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.events import emit
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.scheduling.selectors.workloads import workload_numbers_using, workloads_using
from apps.scheduling.services.quota.quotas import quota_release
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.storage.drivers.chosen import driver
from apps.storage.events import OrderedVolumeEnded, VolumeChanged
from apps.storage.models import Volume
from apps.storage.selectors import key_of, writable_check
from apps.storage.services.volumes import size_check, size_holds_check
from apps.storage.states import Owner


def ordered_volume_make(actor: Actor, *, order_uid: UUID, order_no: str, size_mib: int) -> Volume:
    """Within a service: the tenant's volume for an order, called by its number; its quota is the order's."""
    size_check(size_mib)
    name = order_no.lower()
    row = Volume(owner=Owner.TENANT, name=name, size_mib=size_mib, order_uid=order_uid, order_no=order_no)
    row.storage_class = storage_class_default()
    if Volume.objects.filter(owner=Owner.TENANT, name=name).exists():
        row.name = f"{name}-{row.uid.hex[:6]}"
    row.save()
    driver(row).volume_make(key_of(row.uid))
    driver(row).size_tell(key_of(row.uid), row.size_mib)
    return row


def ordered_volume_lock(uid: UUID) -> Volume:
    """The volume, locked before its order is; NotFound where there is none."""
    row = Volume.objects.select_for_update(no_key=True).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def ordered_volume_resize(actor: Actor, *, volume: Volume, size_mib: int) -> None:
    """Within a service: another size for a locked volume. Conflict where it holds more already."""
    size_check(size_mib)
    size_holds_check(volume, size_mib)
    volume.size_mib = size_mib
    volume.save(update_fields=["size_mib", "updated_at"])
    emit(VolumeChanged(current_schema(), str(volume.uid)), actor=actor)


@service()
def ordered_volume_end(
    *, actor: Actor, volume_uid: UUID, at: datetime, reason_code: str, reason: str = ""
) -> None:
    """The order of a volume ends: nothing more is written or mounted for writing, what may write is stopped after the
    commit (`ended_volume_free`), and its files are kept to be read for as long as the centre says. Again it changes
    nothing."""
    row = ordered_volume_lock(volume_uid)
    act_subject("volume", row.uid, name=row.name, reason=reason_code)
    if row.order_uid is None or row.kept_until is not None:
        return
    row.kept_until = timezone.now() + timedelta(days=settings.WEIR_ENDED_VOLUME_DAYS)
    row.save(update_fields=["kept_until", "updated_at"])
    emit(OrderedVolumeEnded(current_schema(), row.uid, row.order_uid, at, reason_code, reason), actor=actor)


def ended_volume_free(*, actor: Actor, volume_uid: UUID) -> None:
    """Stop the work that an ended volume is there for no more: what may write into it or is to leave its outputs there,
    and once its files are kept no longer all that mounts it. Each in its own transaction; again it changes nothing."""
    row = Volume.objects.filter(uid=volume_uid, kept_until__isnull=False).first()
    if row is None or row.kept_until is None:
        return
    tenant, is_kept = current_tenant(), row.kept_until > timezone.now()
    for uid in workloads_using(tenant, row.uid, key_of(row.uid), are_writers=is_kept):
        workload_stop(
            actor=actor, tenant=tenant, workload_uid=uid, reason=row.order_no, reason_code="volume_ended"
        )


@service()
def ended_volume_remove(*, actor: Actor, volume_uid: UUID) -> bool:
    """The time for which the files of an ended order were kept is over: they are removed; whether they were. Work that
    still mounts it is stopped (`ended_volume_free`), and they go once it has ended. Again it changes nothing."""
    row = Volume.objects.select_for_update(no_key=True).filter(uid=volume_uid).first()
    if row is None:
        return False
    act_subject("volume", row.uid, name=row.name, order=row.order_no)
    is_over = row.kept_until is not None and row.kept_until <= timezone.now()
    if not is_over or workload_numbers_using(current_tenant(), row.uid, key_of(row.uid)):
        return False
    quota_release(actor=SYSTEM, tenant=current_tenant(), holder_uid=row.uid)
    row.delete()
    emit(VolumeChanged(current_schema(), str(volume_uid)), actor=actor)
    return True


def mounted_lock(mounts: Sequence[Mapping[str, Any]]) -> dict[str, Volume]:
    """The volumes that work is to find in its place, by how its node knows them, locked: none of them ends while it is
    made. Those that are gone are left out. Before the order of the work."""
    keys = {str(one["key"]).rpartition("/")[2] for one in mounts}
    rows = Volume.objects.select_for_update(no_key=True).filter(uid__in=keys).order_by("pk")
    return {key_of(row.uid): row for row in rows}


def mounted_check(mounts: Sequence[Mapping[str, Any]], volumes: Mapping[str, Volume]) -> None:
    """Refuse work that is to find one of the volumes that is gone, or to write into one whose order has ended since
    that was allowed. Raises Conflict, VolumeEnded."""
    for one in mounts:
        row = volumes.get(one["key"])
        if row is None:
            raise Conflict(_("The volume for %(path)s is there no more.") % {"path": one["path"]})
        if not one["read_only"]:
            writable_check(row)


def ended_volumes() -> list[UUID]:
    """The volumes whose orders have ended, of which files are kept still."""
    return list(Volume.objects.filter(kept_until__isnull=False).order_by("pk").values_list("uid", flat=True))
