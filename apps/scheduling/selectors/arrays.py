"""Arrays of tasks as one: how far they are, and lists in which each stands once."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, QuerySet

from apps.kernel.actor import Actor
from apps.kernel.errors import NotFound
from apps.scheduling.models import Workload, WorkloadArray
from apps.scheduling.permissions import work_reached
from apps.scheduling.states import FINAL_STATES, HOLDING_STATES, WorkloadState
from apps.tenancy.models import Tenant

PROGRESS = ("waiting", "running", "finished", "failed")


def progress_of(arrays: Collection[int]) -> dict[int, dict[str, int]]:
    """By array, how many of its tasks wait (put aside too), run, have finished, and have failed or were lost; one
    question, whatever their number."""
    found = {pk: dict.fromkeys(PROGRESS, 0) for pk in arrays}
    if arrays:
        rows = Workload.plain.filter(array__in=arrays).order_by().values_list("array", "state")
        for pk, state, count in rows.annotate(Count("pk")):
            found[pk][_phase(state)] += count
    return found


def _phase(state: str) -> str:
    if state in HOLDING_STATES:
        return "running"
    if state not in FINAL_STATES:
        return "waiting"
    return "finished" if state == WorkloadState.FINISHED else "failed"


def arrays_as_one(rows: QuerySet[Workload]) -> QuerySet[Workload]:
    """Of each array its first task alone."""
    before = Workload.plain.filter(array=OuterRef("array"), array_index__lt=OuterRef("array_index"))
    return rows.filter(~Exists(before))


def array_list(tenant: Tenant, *, actor: Actor) -> QuerySet[WorkloadArray]:
    """The tenant's arrays that the actor reaches, newest first."""
    mine = Workload.plain.filter(work_reached(actor), array=OuterRef("pk"))
    return WorkloadArray.objects.of(tenant).filter(Exists(mine))


def array_get(tenant: Tenant, uid: UUID, *, actor: Actor) -> WorkloadArray:
    """One of them. Raises NotFound."""
    row = array_list(tenant, actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row
