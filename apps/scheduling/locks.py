from collections.abc import Iterable
from uuid import UUID

from apps.fleet.models import Device, Slice
from apps.scheduling.models import Workload


def workload_lock(uid: UUID) -> Workload | None:
    """The workload, locked until the transaction ends; None when there is none."""
    return (
        Workload.plain.select_for_update(no_key=True, of=("self",))
        .select_related("tenant", "queue", "environment")
        .filter(uid=uid)
        .first()
    )


def devices_lock(uids: Iterable[str]) -> None:
    """Lock devices in key order, as a node that gives several shares back does."""
    rows = Device.objects.select_for_update(no_key=True).filter(uid__in=set(uids)).order_by("pk")
    list(rows.values_list("pk"))


def slices_lock(workload_uid: UUID) -> None:
    """Lock the workload's slices, before the workload itself: the order in which a node's sync takes them."""
    rows = Slice.plain.select_for_update(no_key=True).filter(workload_uid=workload_uid).order_by("pk")
    list(rows.values_list("pk"))


def workload_pending_lock(uid: str) -> Workload | None:
    """The workload if it waits and nobody else holds it; None otherwise."""
    return (
        Workload.plain.select_for_update(no_key=True, skip_locked=True, of=("self",))
        .select_related("tenant", "queue")
        .filter(uid=uid, state="pending")
        .first()
    )
