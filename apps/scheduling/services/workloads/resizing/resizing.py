"""Another share for work that waits or runs: pool, quota and charge together, or nothing (POOL-12.2)."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from django.utils.translation import gettext as _

from apps.billing.services.charges import charge_resize
from apps.fleet.selectors import surplus_get
from apps.fleet.services.slices.slice_lifecycle import slice_resize
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict
from apps.kernel.service import service
from apps.scheduling.errors import AmountsFixed
from apps.scheduling.locks import work_take, workload_lock
from apps.scheduling.models import Workload
from apps.scheduling.permissions import ResourcePermission as P
from apps.scheduling.services.quota.models import work_models_check
from apps.scheduling.services.quota.quotas import quota_keep
from apps.scheduling.services.workloads.admission import asked_of, limit_check
from apps.scheduling.services.workloads.ending import workload_changed
from apps.scheduling.services.workloads.resizing.elastic_size import shares_quota
from apps.scheduling.services.workloads.submission.checks import amounts_check, hopeless_check
from apps.scheduling.states import OPEN_STATES, AllocationState, QuotaItem, WorkloadState
from apps.scheduling.types import Amounts
from apps.tenancy.models import Tenant


@service(P.OPERATE)
def workload_resize(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    compute_percent: int | None = None,
    memory_mib: int | None = None,
) -> Workload:
    """Give each share other amounts; what is None stays. The work is not restarted.

    Raises ShareTooLarge, AmountsFixed, QuotaExceeded, DeviceUnavailable when its device has no such room.
    """
    row = work_take(actor, tenant, workload_uid)
    if not row.is_direct:
        raise AmountsFixed(
            _("%(no)s has what its order says.") % {"no": row.no}, cure=_("Apply for a change of its order.")
        )
    _resizable_check(row)
    before = asked_of(row)
    row.compute_percent = row.compute_percent if compute_percent is None else compute_percent
    row.memory_mib = row.memory_mib if memory_mib is None else memory_mib
    _resize(actor, row, before, holder_uid=row.uid)
    return row


@service()
def order_work_resize(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    compute_percent: int,
    memory_mib: int,
    holder_uid: UUID,
) -> Workload:
    """Give each share of an order's work what its order says from now on. The work is not restarted; its quota is held
    for the order, by `holder_uid`. Raises what `workload_resize` raises."""
    row = work_take(actor, tenant, workload_uid)
    _resizable_check(row)
    before = asked_of(row)
    row.compute_percent, row.memory_mib = compute_percent, memory_mib
    _resize(actor, row, before, holder_uid=holder_uid)
    return row


def _resize(actor: Actor, row: Workload, before: Mapping[str, int], *, holder_uid: UUID) -> None:
    """Pool, quota and charge, all as the row says now."""
    amounts = Amounts(row.shares, row.compute_percent, row.memory_mib)
    if not row.is_direct:
        # What its order holds of nodes is held with it.
        amounts = replace(
            amounts,
            host_cpu_milli=row.host_cpu_milli,
            host_memory_mib=row.host_memory_mib,
            scratch_disk_mib=row.scratch_disk_mib,
        )
    amounts_check(amounts)
    limit_check(row, before=before)
    more = {item for item, amount in asked_of(row).items() if amount > before[item]}
    if more:
        hopeless_check(row)
    act_subject("workload", row.uid, compute_percent=row.compute_percent, memory_mib=row.memory_mib)
    _shares_resize(row, actor)
    if row.state != WorkloadState.PENDING or not row.waits_for_quota:
        quota_keep(
            actor=actor,
            tenant=row.tenant,
            holder_uid=holder_uid,
            amounts=_quota(row, amounts) if row.is_direct else amounts.quota(),
            organization=row.organization_id,
        )
    if more:
        work_models_check(row, amounts.quota())
    charge_resize(
        actor=actor,
        workload_uid=row.uid,
        compute_percent=row.compute_percent,
        memory_mib=row.memory_mib,
    )
    row.save(update_fields=["compute_percent", "memory_mib", "updated_at"])
    workload_changed(row, actor)


@service(recorded=False)
def workload_shrunk(*, actor: Actor, workload_uid: UUID) -> None:
    """A share of it gave up what it was to give up: its tenant may use that again."""
    row = workload_lock(workload_uid)
    if row is None or row.state not in OPEN_STATES or row.waits_for_quota or not row.is_direct:
        return
    amounts = Amounts(row.shares, row.compute_percent, row.memory_mib)
    quota_keep(
        actor=actor,
        tenant=row.tenant,
        holder_uid=row.uid,
        amounts=_quota(row, amounts),
        organization=row.organization_id,
    )


def _quota(row: Workload, amounts: Amounts) -> dict[str, int]:
    """What it takes of the quota: what its shares are to have, and more while their nodes have not taken that away
    (POOL-12.2)."""
    percent, mib = surplus_get(row.uid)
    held = row.allocations.filter(state=AllocationState.ACTIVE) if row.min_shares is not None else ()
    # Elastic work takes what it has, not what it may grow to.
    wanted = shares_quota(held) if held else amounts.quota()
    return wanted | {
        QuotaItem.COMPUTE_PERCENT.value: wanted[QuotaItem.COMPUTE_PERCENT] + percent,
        QuotaItem.GPU_MEMORY_MIB.value: wanted[QuotaItem.GPU_MEMORY_MIB] + mib,
    }


def _resizable_check(row: Workload) -> None:
    if row.state not in OPEN_STATES:
        raise Conflict(_("%(no)s has ended.") % {"no": row.no}, cure=_("Submit it again."))
    if row.environment is not None and row.environment.is_fixed:
        raise AmountsFixed(
            _("%(no)s runs in the fixed environment %(name)s.") % {"no": row.no, "name": row.environment.name}
        )
    if row.spec:
        raise AmountsFixed(_("%(no)s has the specification %(spec)s.") % {"no": row.no, "spec": row.spec})
    if row.whole_cards:
        raise AmountsFixed(_("%(no)s holds whole cards.") % {"no": row.no})
    held = row.allocations.filter(state=AllocationState.ACTIVE)
    if held.exclude(device__slice_sizes=[]).exists():
        raise AmountsFixed(
            _("%(no)s runs on a card that gives shares of fixed sizes.") % {"no": row.no},
            cure=_("Submit it again with another size."),
        )


def _shares_resize(row: Workload, actor: Actor) -> None:
    held = row.allocations.filter(state=AllocationState.ACTIVE).order_by("device_id")
    # The shares that elastic work is about to leave keep what they have until they have left.
    for part in held if row.min_shares is None else held.filter(is_beside=False):
        slice_resize(
            actor=actor,
            slice_uid=part.slice_uid,
            compute_percent=row.compute_percent,
            memory_mib=row.memory_mib,
        )
        part.compute_percent, part.memory_mib = row.compute_percent, row.memory_mib
        part.save(update_fields=["compute_percent", "memory_mib"])
