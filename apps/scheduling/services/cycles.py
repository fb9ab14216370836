"""One scheduling cycle: lead, look, plan, apply by compare-and-set, say why the rest waits."""

from django.db import connection, transaction
from django.utils import timezone

from apps.billing.services.charges import charge_resize
from apps.fleet.services.slices import slice_desire
from apps.kernel.acts import Actor
from apps.kernel.errors import Conflict, QuotaExceeded, WeirError
from apps.kernel.events import emit
from apps.kernel.service import service
from apps.scheduling.engine.cycle import plan
from apps.scheduling.engine.types import Grant, Placement, Refusal
from apps.scheduling.events import WorkloadChanged
from apps.scheduling.locks import devices_lock, workload_pending_lock
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.selectors import snapshot_get
from apps.scheduling.services.checks import group_check
from apps.scheduling.services.quota import quota_keep
from apps.scheduling.services.workloads import workload_refuse
from apps.scheduling.states import FLOW, WorkloadState
from apps.scheduling.types import CycleReport

# Any fixed number: whoever holds it leads, until its transaction ends or its process dies.
LEADER_LOCK = 0x57656972


@service(recorded=False)
def cycle_run(*, actor: Actor) -> CycleReport:
    """Place what can be placed. Any number may run at once: one leads, the others leave at once (ELA-109)."""
    if not _leads() or not Workload.objects.across().filter(state=WorkloadState.PENDING).exists():
        return CycleReport(led=False)
    now = int(timezone.now().timestamp())
    decided = plan(snapshot_get(), now=now, seed=now)
    devices_lock(grant.device_id for each in decided.placements for grant in each.grants)
    placed = [_place(placement, actor) for placement in decided.placements]
    _explain(decided.refusals, actor)
    return CycleReport(
        led=True, placed=sum(placed), stale=len(placed) - sum(placed), waiting=len(decided.refusals)
    )


def _leads() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LEADER_LOCK])
        return bool(cursor.fetchone()[0])


def _place(placement: Placement, actor: Actor) -> bool:
    """All shares of one placement, or none: a row that changed since the snapshot is skipped, never forced."""
    row = workload_pending_lock(placement.request_id)
    if row is None:
        return False
    try:
        with transaction.atomic():
            FLOW.move(
                row,
                WorkloadState.PLACED,
                actor=actor,
                placed_at=timezone.now(),
                reason_code="",
                reason={},
                position=None,
            )
            # Nothing new starts on a group whose grant was taken back while it waited.
            group_check(row)
            for share, grant in enumerate(placement.grants):
                _grant(row, share, grant, actor)
            if row.is_direct:
                _quota_use(row, placement, actor)
            if row.is_direct and row.whole_cards:
                _cards_charge(row, placement, actor)
            schema = row.tenant.schema_name
            emit(WorkloadChanged(schema, row.uid), actor=actor)
            return True
    except Conflict:
        return False
    except QuotaExceeded as error:
        # Held meanwhile by forms in process, of which the engine does not know: it goes on waiting.
        _quota_wait(row, error, actor)
        return False
    except WeirError as error:
        row.state = WorkloadState.PENDING
        workload_refuse(row, actor, error)
        return False


def _quota_use(row: Workload, placement: Placement, actor: Actor) -> None:
    """What it was granted is used: of whole cards all their memory, of work that waited for quota all of it."""
    amounts = {
        "instances": len(placement.grants),
        "compute_percent": sum(grant.compute_percent for grant in placement.grants),
        "gpu_memory_mib": sum(grant.memory_mib for grant in placement.grants),
    }
    quota_keep(actor=actor, tenant=row.tenant, holder_uid=row.uid, amounts=amounts)


def _cards_charge(row: Workload, placement: Placement, actor: Actor) -> None:
    """Whole cards are charged with all their memory, however little was asked for; cards of several sizes by each."""
    for percent, mib in sorted({(grant.compute_percent, grant.memory_mib) for grant in placement.grants}):
        charge_resize(actor=actor, workload_uid=row.uid, compute_percent=percent, memory_mib=mib)


def _quota_wait(row: Workload, error: QuotaExceeded, actor: Actor) -> None:
    rows = Workload.plain.filter(pk=row.pk, state=WorkloadState.PENDING)
    rows.update(reason_code=error.code, reason={"text": str(error.message)})
    emit(WorkloadChanged(row.tenant.schema_name, row.uid), actor=actor)


def _grant(row: Workload, share: int, grant: Grant, actor: Actor) -> None:
    part = slice_desire(
        actor=actor,
        tenant=row.tenant,
        workload_uid=row.uid,
        device_uid=grant.device_id,
        compute_percent=grant.compute_percent,
        memory_mib=grant.memory_mib,
        work=row.work,
        run_timeout_s=row.run_timeout_s,
        exclusive=grant.exclusive,
        kind=row.kind,
        idle_timeout_s=row.idle_timeout_s,
        driver=row.driver,
        # Not what the device's group is by now: should it have changed, the placement is stale.
        resource_group=row.resource_group or row.queue.resource_group,
        requeue_on_loss=row.requeue_on_loss,
    )
    Allocation.objects.create(
        workload=row,
        share=share,
        device_id=part.device_id,
        compute_percent=grant.compute_percent,
        memory_mib=grant.memory_mib,
        is_exclusive=grant.exclusive,
        slice_uid=part.uid,
    )


def _explain(refusals: tuple[Refusal, ...], actor: Actor) -> None:
    """Write down why each waits and its place, where that changed."""
    by_uid = {refusal.request_id: refusal for refusal in refusals}
    rows = Workload.objects.across().filter(uid__in=by_uid, state=WorkloadState.PENDING)
    for row in rows.select_related("tenant"):
        refusal = by_uid[str(row.uid)]
        reason = dict(refusal.reason.params)
        if (row.reason_code, row.position, row.reason) == (refusal.reason.code, refusal.position, reason):
            continue
        # Conditional: a workload that somebody stopped meanwhile keeps its own reason.
        Workload.plain.filter(pk=row.pk, state=WorkloadState.PENDING).update(
            reason_code=refusal.reason.code.value, reason=reason, position=refusal.position
        )
        emit(WorkloadChanged(row.tenant.schema_name, row.uid), actor=actor)
