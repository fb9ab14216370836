"""Parts of the pool that are kept for a tenant or a queue from one instant to another (ELA-305)."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.selectors import device_list
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.events import ReservationChanged
from apps.scheduling.models import Queue, Reservation
from apps.scheduling.permissions import SchedulingPermission as P
from apps.tenancy.models import Tenant

_LOCK = 0x57656976


@service(P.MANAGE)
def reservation_make(
    *,
    actor: Actor,
    name: str,
    from_at: datetime,
    to_at: datetime,
    tenant: Tenant | None = None,
    queue: Queue | None = None,
    device_uids: Sequence[str] = (),
    count: int = 0,
    compute_percent: int = 100,
    memory_mib: int = 0,
    model: str = "",
) -> Reservation:
    """Keep these devices whole, or so much of `count` devices, for a tenant or a queue, from then to before `to_at`.

    What runs there already is not stopped; nothing new of others runs across its beginning. Raises InvalidInput for
    what has no meaning, Conflict where others have reserved so much for that time that this is not left.
    """
    act_subject("reservation", name, tenant=tenant and tenant.schema_name, queue=queue and queue.code)
    row = Reservation(
        name=name, from_at=from_at, to_at=to_at, tenant=tenant, queue=queue, device_uids=list(device_uids),
        count=count, compute_percent=compute_percent, memory_mib=memory_mib, model=model, made_by_id=actor.user_id,
    )  # fmt: skip
    _meaning_check(row)
    with connection.cursor() as cursor:
        # One after the other: two may not both find the last card free.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    _room_check(row)
    row.save()
    emit(ReservationChanged(uid=row.uid), actor=actor)
    return row


def _meaning_check(row: Reservation) -> None:
    wrong: dict[str, object] = {}
    if row.to_at <= max(row.from_at, timezone.now()):
        wrong["to_at"] = _("It must end after it begins, and later than now.")
    if row.tenant is None and row.queue is None:
        wrong["tenant"] = _("Name a tenant or a queue.")
    if bool(row.device_uids) == bool(row.count):
        wrong["count"] = _("Name devices, or how many.")
    if not 1 <= row.compute_percent <= 100:
        wrong["compute_percent"] = _("1 to 100")
    if not row.name.strip():
        wrong["name"] = _("Give it a name.")
    if wrong:
        raise InvalidInput(fields=wrong)


def _room_check(row: Reservation) -> None:
    devices = {
        uid: model for uid, model in device_list().values_list("uid", "model") if row.model in ("", model)
    }
    unknown = [uid for uid in row.device_uids if uid not in devices]
    if unknown:
        raise InvalidInput(
            _("The pool has no device %(device)s.") % {"device": unknown[0]}, fields={"device_uids": unknown}
        )
    others = list(_meanwhile(row))
    twice = {uid for other in others for uid in other.device_uids} & set(row.device_uids)
    if twice:
        raise Conflict(_("Device %(device)s is reserved for that time.") % {"device": min(twice)})
    alike = [other for other in others if not other.model or row.model in ("", other.model)]
    left = len(devices) - sum(other.count or len(devices.keys() & set(other.device_uids)) for other in alike)
    asked = row.count or len(row.device_uids)
    if asked > left:
        raise Conflict(
            _("%(asked)s devices are asked for that time, %(left)s of %(total)s are not reserved.")
            % {"asked": asked, "left": max(0, left), "total": len(devices)}
        )


def _meanwhile(row: Reservation) -> Sequence[Reservation]:
    """The others that are in force at some time between its beginning and its end."""
    overlaps = Q(from_at__lt=row.to_at, to_at__gt=row.from_at)
    return list(Reservation.objects.filter(overlaps, cancelled_at=None))


@service(P.MANAGE)
def reservation_cancel(*, actor: Actor, uid: UUID) -> Reservation:
    """Give back what is reserved, before its time or in the midst of it; what runs there goes on. Twice changes
    nothing."""
    row = Reservation.objects.select_for_update(no_key=True).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    act_subject("reservation", row.uid, name=row.name)
    if row.cancelled_at is None:
        row.cancelled_at = timezone.now()
        row.save(update_fields=["cancelled_at"])
        emit(ReservationChanged(uid=row.uid), actor=actor)
    return row
