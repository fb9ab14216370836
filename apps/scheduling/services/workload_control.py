"""Suspend, resume, requeue and scale work, as its owner does while it waits or runs (ELA-503)."""

from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.services.charges import charge_resize
from apps.billing.services.funds import funds_renew
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.service import service
from apps.scheduling.errors import AmountsFixed
from apps.scheduling.locks import work_take
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.services.cycle.apply_changes import shares_drop
from apps.scheduling.services.decisions import decided
from apps.scheduling.services.quota.models import work_models_check
from apps.scheduling.services.quota.quotas import quota_hold, quota_keep
from apps.scheduling.services.workloads.admission import asked_of, limit_check
from apps.scheduling.services.workloads.ending import workload_changed, workload_put_aside
from apps.scheduling.services.workloads.stopping import slices_stop, stop_begin
from apps.scheduling.services.workloads.submission.checks import amounts_check, elastic_check, hopeless_check
from apps.scheduling.services.workloads.submission.dependencies import waits_again
from apps.scheduling.services.workloads.submission.replicas import shares_of
from apps.scheduling.states import FLOW, AfterStop, AllocationState, DecisionKind, WorkloadState
from apps.scheduling.types import Amounts
from apps.tenancy.models import Tenant

_RUNS = frozenset({WorkloadState.PLACED, WorkloadState.RUNNING})


def _mine(actor: Actor, tenant: Tenant, workload_uid: UUID) -> Workload:
    row = work_take(actor, tenant, workload_uid)
    if not row.is_direct:
        raise AmountsFixed(_("%(no)s has what its order says.") % {"no": row.no})
    return row


def _refuse(row: Workload) -> Conflict:
    return Conflict(_("%(no)s is %(state)s.") % {"no": row.no, "state": row.get_state_display()})


@service(P.OPERATE)
def workload_suspend(*, actor: Actor, tenant: Tenant, workload_uid: UUID, reason: str = "") -> Workload:
    """Put work aside: what waits at once, what runs after its grace. It holds no device and no quota until it is
    resumed, and keeps its place; an order's keeps its quota and what is left of its time. Suspending twice changes
    nothing."""
    row = work_take(actor, tenant, workload_uid)
    act_subject("workload", row.uid, reason=reason)
    if row.state == WorkloadState.PENDING:
        workload_put_aside(row, actor, "suspended", reason)
        return row
    if row.state in _RUNS:
        stop_begin(row, actor, AfterStop.SUSPEND, "suspended", reason)
        slices_stop(row, actor, reason, reason_code="suspended")
        row.refresh_from_db()
    elif row.state != WorkloadState.SUSPENDED and row.after_stop != AfterStop.SUSPEND:
        raise _refuse(row)
    workload_changed(row, actor)
    return row


@service(P.OPERATE)
def workload_resume(*, actor: Actor, tenant: Tenant, workload_uid: UUID, reason: str = "") -> Workload:
    """Let suspended work wait again, in its old place; an order's for what was left of its time.
    Raises QuotaExceeded where its quota was used meanwhile, FundsTooLow."""
    row = work_take(actor, tenant, workload_uid)
    act_subject("workload", row.uid, reason=reason)
    if row.state == WorkloadState.PENDING:
        return row
    if row.state != WorkloadState.SUSPENDED:
        raise _refuse(row)
    limit_check(row)
    if row.is_direct and not row.waits_for_quota:
        amounts = Amounts(row.shares, row.compute_percent, row.memory_mib)
        quota_hold(
            actor=actor,
            tenant=tenant,
            holder_uid=row.uid,
            amounts=amounts.quota(),
            organization=row.organization_id,
        )
        work_models_check(row, amounts.quota())
    funds_renew(actor=actor, workload_uid=row.uid, run_s=row.run_timeout_s)
    # While it was put aside it waited for nobody: its wait counts from now.
    changes = {"attempt": row.attempt + 1, "not_before_at": timezone.now()}
    FLOW.move(row, WorkloadState.PENDING, actor=actor, **waits_again(row), **changes)
    decided(row, DecisionKind.RESUMED, actor, "", text=reason)
    workload_changed(row, actor)
    return row


@service(P.OPERATE)
def workload_requeue(*, actor: Actor, tenant: Tenant, workload_uid: UUID, reason: str = "") -> Workload:
    """Stop running work after its grace and let it wait again, in its old place. What waits already stays."""
    row = _mine(actor, tenant, workload_uid)
    act_subject("workload", row.uid, reason=reason)
    if row.state in _RUNS:
        stop_begin(row, actor, AfterStop.REQUEUE, "requeued", reason)
        slices_stop(row, actor, reason, reason_code="requeued")
        row.refresh_from_db()
        workload_changed(row, actor)
    elif row.state != WorkloadState.PENDING and row.after_stop != AfterStop.REQUEUE:
        raise _refuse(row)
    return row


@service(P.OPERATE)
def workload_scale(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    shares: int | None = None,
    replicas: int | None = None,
) -> Workload:
    """Give work another most number of shares, or of replicas (ELA-905): what waits asks for so many, elastic work that
    runs gives up what is more at once, and grows into more when there is room.

    Raises Conflict for rigid work that runs, QuotaExceeded, GangTooLarge; InvalidInput below its least and for a part
    of a replica.
    """
    row = _mine(actor, tenant, workload_uid)
    shares = shares_of("replicas", replicas, "shares", shares, row.shares_per_replica)
    if shares is None:
        raise InvalidInput(_("Say how many shares, or how many replicas."), fields={"shares": _("missing")})
    act_subject("workload", row.uid, shares=shares)
    amounts = Amounts(shares, row.compute_percent, row.memory_mib)
    amounts_check(amounts)
    elastic_check(row.min_shares, shares)
    if row.state not in _RUNS and row.state != WorkloadState.PENDING:
        raise _refuse(row)
    if row.state in _RUNS and row.min_shares is None:
        raise AmountsFixed(_("%(no)s runs with a fixed number of shares.") % {"no": row.no})
    before, most, row.shares = asked_of(row), row.shares, shares
    limit_check(row, before=before)
    hopeless_check(row)
    if row.state == WorkloadState.PENDING and not row.waits_for_quota:
        quota_keep(
            actor=actor,
            tenant=tenant,
            holder_uid=row.uid,
            amounts=amounts.quota(),
            organization=row.organization_id,
        )
        work_models_check(row, amounts.quota())
    if shares != most:
        charge_resize(
            actor=actor,
            workload_uid=row.uid,
            compute_percent=row.compute_percent,
            memory_mib=row.memory_mib,
            shares=shares,
        )
    row.save(update_fields=["shares", "updated_at"])
    held = list(row.allocations.filter(state=AllocationState.ACTIVE, is_beside=False).order_by("share"))
    if row.state in _RUNS and shares < len(held):
        shares_drop(row, held, shares, actor, cause="owner")
    elif row.state == WorkloadState.PENDING and shares != most:
        decided(row, DecisionKind.SCALED, actor, "owner", shares=shares, before=most)
    workload_changed(row, actor)
    return row
