"""Volumes: made, renamed, resized, deleted, measured."""

from contextlib import suppress
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.centre.models import StorageClass
from apps.centre.storage_classes import storage_class_default, storage_classes_open
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.orgs.models import Organization
from apps.orgs.selectors.organizations import organization_get, organization_of
from apps.scheduling.selectors.workloads import workload_numbers_using
from apps.scheduling.services.quota.quotas import quota_keep, quota_release
from apps.scheduling.states import QuotaItem
from apps.storage.drivers.chosen import driver, drivers
from apps.storage.errors import StorageAway
from apps.storage.events import VolumeChanged
from apps.storage.models import Volume, volume_name
from apps.storage.permissions import StoragePermission as P
from apps.storage.permissions import volumes_kept, volumes_seen
from apps.storage.selectors import key_of, volume_writable, writable_check
from apps.storage.states import Owner

SIZE_MAX_MIB = 2**40


@service(P.USE)
def volume_make(
    *,
    actor: Actor,
    name: str,
    size_mib: int,
    owner: str = Owner.PERSON,
    organization: UUID | None = None,
    storage_class: str = "",
) -> Volume:
    """Make an empty volume. One's own takes `storage.use`, an organization's or the tenant's `storage.manage`.
    `storage_class`: where it is kept, by its code; "" where the centre says.

    Raises:
        QuotaExceeded: the tenant, or an organization, has no quota of storage left for its size.
        Conflict: the owner has a volume of that name.
    """
    _name_check(name)
    size_check(size_mib)
    if owner not in Owner.values:
        raise InvalidInput(fields={"owner": _("one of %(names)s") % {"names": ", ".join(Owner.values)}})
    if owner != Owner.PERSON:
        actor.require(P.MANAGE)
    row = Volume(
        name=name,
        owner=owner,
        size_mib=size_mib,
        person_id=actor.user_id if owner == Owner.PERSON else None,
        organization=_organization(actor, organization) if owner == Owner.ORGANIZATION else None,
        storage_class=_class_read(storage_class),
    )
    _name_free_check(row)
    row.save()
    act_subject("volume", row.uid, name=name, owner=owner, size_mib=size_mib)
    _quota_keep(actor, row)
    driver(row).volume_make(key_of(row.uid))
    driver(row).size_tell(key_of(row.uid), row.size_mib)
    return row


@service(P.USE)
def volume_change(*, actor: Actor, uid: UUID, name: str | None = None, size_mib: int | None = None) -> Volume:
    """Rename a volume, or give it another size: never less than it holds, and not what an order holds or held."""
    row = volume_kept_lock(actor, uid)
    if name is not None and name != row.name:
        _name_check(name)
        row.name = name
        _name_free_check(row)
    if size_mib is not None and size_mib != row.size_mib:
        size_check(size_mib)
        _ordered_check(row)
        writable_check(row)
        size_holds_check(row, size_mib)
        row.size_mib = size_mib
        _quota_keep(actor, row)
        emit(VolumeChanged(current_schema(), str(uid)), actor=actor)
    row.save(update_fields=["name", "size_mib", "updated_at"])
    return row


@service(P.USE)
def volume_delete(*, actor: Actor, uid: UUID) -> None:
    """Delete a volume with all that is in it; its quota is free at once, its files go after the commit. Raises
    Conflict while work mounts it or is to leave its outputs there."""
    row = volume_kept_lock(actor, uid)
    _ordered_check(row)
    if users := workload_numbers_using(current_tenant(), row.uid, key_of(row.uid)):
        raise Conflict(
            _("%(name)s is used by work that has not ended: %(works)s.")
            % {"name": row.name, "works": ", ".join(users)},
            cure=_("Let it end first, or end it."),
        )
    quota_release(actor=actor, tenant=current_tenant(), holder_uid=row.uid)
    row.delete()
    emit(VolumeChanged(current_schema(), str(uid)), actor=actor)


@service(recorded=False)
def volume_measured(*, actor: Actor, uid: UUID, change_no: int, used_bytes: int) -> None:
    """Keep what a volume was measured to hold; not so if something was changed here meanwhile."""
    rows = Volume.objects.filter(uid=uid, change_no=change_no)
    rows.update(used_bytes=used_bytes, measured_at=timezone.now())


def volume_follow(*, actor: Actor, uid: UUID) -> None:
    """Give back the room of what was removed, and measure what a volume holds; of one that was deleted remove all.

    No transaction is open meanwhile: it may take minutes. A measurement that something overtook is left to the next.
    """
    row = Volume.objects.filter(uid=uid).first()
    if row is None:
        # Where it lay is not known any more.
        for each in drivers():
            each.volume_remove(key_of(uid))
        return
    volume_size_tell(actor=actor, uid=uid)
    driver(row).tidy(key_of(uid))
    used = driver(row).used_bytes(key_of(uid))
    volume_measured(actor=actor, uid=uid, change_no=row.change_no, used_bytes=used)


@service(recorded=False)
def volume_size_tell(*, actor: Actor, uid: UUID) -> None:
    """Tell the nodes how large a volume is. The row is locked meanwhile: of two sizes the later one is told last."""
    row = Volume.objects.select_for_update(no_key=True).filter(uid=uid).first()
    if row is not None:
        driver(row).size_tell(key_of(uid), row.size_mib)


def volumes_forgotten() -> list[UUID]:
    """What lies on disk of volumes of this tenant that are no more: their hint was lost."""
    here = []
    for each in drivers():
        # What is away is looked through when it is there again.
        with suppress(StorageAway):
            here += each.volumes_idle(current_schema())
    known = set(Volume.objects.filter(uid__in=here).values_list("uid", flat=True))
    return [uid for uid in here if uid not in known]


def volume_frozen_make(actor: Actor, size_bytes: int) -> Volume:
    """Within a service: a volume for a version of an asset, held of the quota of who publishes it. Raises
    QuotaExceeded."""
    size_mib = max(1, -(-size_bytes // 2**20))
    size_check(size_mib)
    uid = uuid4()
    row = Volume(
        uid=uid,
        name=f"asset-{uid.hex}",
        owner=Owner.PERSON,
        person_id=actor.user_id,
        size_mib=size_mib,
        is_asset=True,
    )
    row.save()
    _quota_keep(actor, row)
    driver(row).volume_make(key_of(row.uid))
    return row


def volume_frozen_remove(actor: Actor, row: Volume) -> None:
    """Within a service: the version is gone, and its files after the commit."""
    quota_release(actor=actor, tenant=current_tenant(), holder_uid=row.uid)
    uid = str(row.uid)
    row.delete()
    emit(VolumeChanged(current_schema(), uid), actor=actor)


def volume_lock(volume: Volume) -> Volume:
    """The volume, locked; NotFound where it was deleted meanwhile."""
    row = Volume.objects.select_for_update(no_key=True).filter(pk=volume.pk).first()
    if row is None:
        raise NotFound()
    return row


def volume_writable_lock(actor: Actor, uid: UUID) -> Volume:
    """The volume, locked, that the actor may change the files of. VolumeEnded where its order has ended."""
    row = volume_lock(volume_writable(actor=actor, uid=uid))
    # It may have ended before it was locked.
    writable_check(row)
    act_subject("volume", row.uid, name=row.name)
    return row


def volume_kept_lock(actor: Actor, uid: UUID) -> Volume:
    """The volume, locked, that the actor may rename, resize and delete. NotFound for one that he does not see."""
    rows = Volume.objects.select_for_update(of=("self",), no_key=True)
    row = rows.filter(volumes_seen(actor), uid=uid).first()
    if row is None:
        raise NotFound()
    act_subject("volume", row.uid, name=row.name)
    if not Volume.objects.filter(volumes_kept(actor), pk=row.pk).exists():
        raise Forbidden(_("The volume %(name)s is kept by who manages storage.") % {"name": row.name})
    return row


def _quota_keep(actor: Actor, row: Volume) -> None:
    holder = row.organization if row.owner == Owner.ORGANIZATION else organization_of(row.person_id)
    quota_keep(
        actor=actor,
        tenant=current_tenant(),
        holder_uid=row.uid,
        amounts={QuotaItem.STORAGE_MIB.value: row.size_mib},
        organization=holder.uid if holder else None,
    )


def _organization(actor: Actor, uid: UUID | None) -> Organization:
    try:
        if uid is not None:
            return organization_get(actor=actor, uid=uid)
    except NotFound:
        pass
    raise InvalidInput(fields={"organization": _("Choose one of the tenant's organizations.")})


def _class_read(code: str) -> StorageClass | None:
    """The class of a code that takes new volumes, or the default one; None for the centre's own folder."""
    if not code:
        return storage_class_default()
    found = next((row for row in storage_classes_open() if row.code == code), None)
    if found is None:
        raise InvalidInput(
            fields={
                "storage_class": _("There is no storage class %(code)s that takes volumes.") % {"code": code}
            }
        )
    return found


def _name_check(name: str) -> None:
    try:
        volume_name(name)
    except ValidationError as error:
        raise InvalidInput(fields={"name": " ".join(error.messages)}) from error


def _name_free_check(row: Volume) -> None:
    same = Volume.objects.filter(
        owner=row.owner, person_id=row.person_id, organization=row.organization, name=row.name
    )
    if same.exclude(pk=row.pk).exists():
        raise Conflict(
            _("There is a volume %(name)s of this owner already.") % {"name": row.name},
            cure=_("Choose another name."),
            fields={"name": _("taken")},
        )


def _ordered_check(row: Volume) -> None:
    """Conflict for a volume that an order holds: forms about that order resize and end it."""
    if row.is_ordered:
        raise Conflict(
            _("%(name)s was delivered by the order %(no)s, which says how large it is and when it ends.")
            % {"name": row.name, "no": row.order_no},
            cure=_("Apply for a change or for the end of that order."),
        )


def size_holds_check(row: Volume, size_mib: int) -> None:
    """Conflict where a volume holds more than it is to be large."""
    held = int(row.used_bytes) + int(row.upload_bytes)
    if size_mib * 2**20 < held:
        raise Conflict(
            _("%(name)s holds %(held)s MiB already.") % {"name": row.name, "held": -(-held // 2**20)},
            cure=_("Delete files first, or choose a larger size."),
        )


def size_check(size_mib: int) -> None:
    if not 1 <= size_mib <= SIZE_MAX_MIB:
        raise InvalidInput(
            fields={"size_mib": _("%(least)s to %(most)s") % {"least": 1, "most": SIZE_MAX_MIB}}
        )
