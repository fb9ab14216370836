from collections.abc import Iterable
from uuid import UUID

from apps.fleet.models import Slice
from apps.scheduling.models import Queue, Workload
from apps.tenancy.models import Tenant


def workload_lock(uid: UUID) -> Workload | None:
    """The workload, locked until the transaction ends; None when there is none."""
    return (
        Workload.plain.select_for_update(no_key=True, of=("self",))
        .select_related("tenant", "queue", "environment")
        .filter(uid=uid)
        .first()
    )


def slices_lock(workload_uid: UUID) -> None:
    """Lock the workload's slices, before the workload itself: the order in which a node's sync takes them."""
    rows = Slice.plain.select_for_update(no_key=True).filter(workload_uid=workload_uid).order_by("pk")
    list(rows.values_list("pk"))


def workloads_pending_lock(uids: Iterable[str]) -> dict[str, Workload]:
    """Those that wait and that nobody else holds, by uid, each with its tenant and queue."""
    rows = Workload.plain.select_for_update(no_key=True, skip_locked=True).filter(
        uid__in=list(uids), state="pending"
    )
    found = {str(row.uid): row for row in rows}
    tenants = Tenant.objects.in_bulk({row.tenant_id for row in found.values()})
    queues = Queue.objects.in_bulk({row.queue_id for row in found.values()})
    for row in found.values():
        row.tenant, row.queue = tenants[row.tenant_id], queues[row.queue_id]
    return found
