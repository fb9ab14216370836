"""What comes of work for the work that waits for it: it is let go, or ended where it never can start."""

from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.scheduling.models import Workload, WorkloadDependency
from apps.scheduling.services.workloads.ending import workload_changed, workload_end
from apps.scheduling.services.workloads.submission.dependencies import holds, reason_of
from apps.scheduling.states import FINAL_STATES, TURN_CODE, AfterWork, WorkloadState

NEVER_CODE = "dependency_failed"
_AT_ONCE = 200


@service(recorded=False)
def dependencies_settle(*, actor: Actor, workload_uid: UUID) -> int:
    """Let go what waited for this work alone, and end what can never start now; how many works that were. Again, or by
    two at once, it changes nothing more. Of a very long row the first are looked at: a sweep goes on."""
    on = Workload.plain.filter(uid=workload_uid).first()
    if on is None:
        return 0
    open_ = WorkloadDependency.objects.filter(on=on, is_open=True)
    verdicts = {kind: holds(kind, on) for kind in AfterWork.values}
    decided = [kind for kind, verdict in verdicts.items() if verdict is not None]
    uids = list(
        open_.filter(kind__in=decided)
        .order_by("workload_id")
        .values_list("workload__uid", flat=True)
        .distinct()[:_AT_ONCE]
    )
    rows = Workload.plain.select_for_update(no_key=True, of=("self",)).filter(uid__in=uids)
    # Held, whoever else settles another of their dependencies waits here, and then finds none open. All of them before
    # quotas are touched.
    for row in list(rows.select_related("tenant", "queue", "environment").order_by("pk")):
        kinds = list(row.dependencies.filter(on=on, is_open=True).values_list("kind", flat=True))
        if not kinds:
            continue
        row.dependencies.filter(on=on, kind__in=decided).update(is_open=False)
        if row.is_final:
            row.dependencies.update(is_open=False)
        elif any(verdicts[kind] is False for kind in kinds):
            row.dependencies.update(is_open=False)
            workload_end(
                row, actor, timezone.now(), WorkloadState.FAILED, NEVER_CODE, f"{on.no} {on.name_en}"[:200]
            )
        else:
            _let_go(row, actor)
    return len(uids)


def _let_go(row: Workload, actor: Actor) -> None:
    """It waits for room from now on, if nothing else comes first; else it says what still does."""
    left = [(each.kind, each.on) for each in row.dependencies.filter(is_open=True).select_related("on")]
    is_shown = row.state == WorkloadState.PENDING
    if left:
        if is_shown:
            row.reason = reason_of(left)
            row.save(update_fields=["reason", "updated_at"])
    else:
        row.waits_for_work, row.not_before_at = False, timezone.now()
        if is_shown:
            row.reason_code, row.reason = "", {}
            if row.waits_for_turn and row.array is not None:
                row.reason_code = TURN_CODE
                row.reason = {"array": row.array.no, "at_once": row.array.at_once}
        row.save(update_fields=["waits_for_work", "not_before_at", "reason_code", "reason", "updated_at"])
    workload_changed(row, actor)


def dependencies_due() -> list[UUID]:
    """What other work waits for and need not any more: what lost hints have left behind."""
    decided = Q(kind=AfterWork.STARTED, on__started_at__isnull=False) | Q(on__state__in=FINAL_STATES)
    due = WorkloadDependency.objects.filter(decided, is_open=True).order_by("on_id")
    return list(due.values_list("on__uid", flat=True).distinct()[:_AT_ONCE])
