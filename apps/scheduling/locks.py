from uuid import UUID

from apps.scheduling.models import Workload


def workload_lock(uid: UUID) -> Workload | None:
    """The workload, locked until the transaction ends; None when there is none."""
    return (
        Workload.plain.select_for_update(no_key=True, of=("self",))
        .select_related("tenant", "queue")
        .filter(uid=uid)
        .first()
    )


def workload_pending_lock(uid: str) -> Workload | None:
    """The workload if it waits and nobody else holds it; None otherwise."""
    return (
        Workload.plain.select_for_update(no_key=True, skip_locked=True, of=("self",))
        .select_related("tenant")
        .filter(uid=uid, state="pending")
        .first()
    )
