"""Sessions that move to another device while their client computes (POOL-12.23)."""

from dataclasses import replace
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.fleet.migration_rules import move_why_not
from apps.fleet.models import Device, Slice
from apps.fleet.selectors import device_list
from apps.fleet.services.slices.moves import slice_move_begin
from apps.fleet.services.slices.slice_allocation import ShareRequest
from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service
from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan
from apps.scheduling.engine.model import types as engine
from apps.scheduling.errors import NotMovable
from apps.scheduling.locks import work_take, workload_lock
from apps.scheduling.models import Allocation, Queue, Workload
from apps.scheduling.selectors.workloads import reason_sentence
from apps.scheduling.services.quota.models import models_refused
from apps.scheduling.services.workloads.ending import workload_changed
from apps.scheduling.services.workloads.submission.checks import device_of, node_read
from apps.scheduling.snapshot.workloads import request_of, snapshot_get
from apps.scheduling.states import AllocationState, Oversubscribe, WorkKind, WorkloadState
from apps.tenancy.models import Tenant


@service("resources.operate")
def workload_migrate(
    *,
    actor: Actor,
    tenant: Tenant,
    workload_uid: UUID,
    node: str = "",
    device: str = "",
    share: int = 0,
) -> Workload:
    """Begin to move one share of a running session to `device`, to a device of `node`, or to the best other one.

    Both hold their share until the move is done or has failed; the work goes on meanwhile.
    """
    row = work_take(actor, tenant, workload_uid)
    part = _movable(row, share)
    if device:
        _beside_check(row, part, device)
        _size_check(row, part, device)
    target = device or _device_choose(row, part, node_read(node, "node").uid if node else "")
    _together_check(row, part, target)
    _host_check(row, part, target)
    _quota_check(row, part, target)
    act_subject("workload", row.uid, source=part.device.uid, target=target)
    slice_move_begin(actor=actor, slice_uid=part.slice_uid, device_uid=device_of(target).uid)
    return row


def _movable(row: Workload, share: int) -> Allocation:
    if row.kind != WorkKind.SESSION or row.state != WorkloadState.RUNNING:
        raise NotMovable(_("%(no)s is no running session.") % {"no": row.no})
    held = row.allocations.filter(state=AllocationState.ACTIVE)
    part = held.filter(share=share, is_beside=False).select_related("device__node").first()
    if part is None:
        raise NotMovable(_("%(no)s has no share %(share)s.") % {"no": row.no, "share": share})
    if held.filter(share=share, is_beside=True).exists():
        raise NotMovable(
            _("%(no)s is on the move already.") % {"no": row.no}, cure=_("Wait until it has moved.")
        )
    return part


def _is_bound(row: Workload) -> bool:
    """Whether its shares, or those of a replica, are together on one node."""
    return row.shares_per_replica > 1 or (row.single_node and row.shares > 1)


def _together_check(row: Workload, part: Allocation, target: str) -> None:
    if _is_bound(row) and device_of(target).node_id != part.device.node_id:
        raise NotMovable(
            _("%(no)s has shares that must stay together on node %(node)s.")
            % {"no": row.no, "node": part.device.node.name},
            cure=_("Choose another device of this node."),
        )


_HOST_CODES = frozenset(
    {engine.ReasonCode.HOST_CPU, engine.ReasonCode.HOST_MEMORY, engine.ReasonCode.SCRATCH_DISK}
)
_PARTED = frozenset(
    {engine.ReasonCode.ALONE_DEVICE, engine.ReasonCode.ALONE_NODE, engine.ReasonCode.SHARED_OUT}
)


def _beside_check(row: Workload, part: Allocation, target: str) -> None:
    """NotMovable where what is on the device, or the session itself, lets nothing more beside it (PLAT-CLU-54)."""
    if not Queue.objects.exclude(oversubscribe=Oversubscribe.FORCE, max_jobs=None).exists():
        return
    for refusal in _moved(row, part, device_id=device_of(target).uid).refusals:
        if refusal.reason.code in _PARTED:
            raise NotMovable(reason_sentence(refusal.reason.code, dict(refusal.reason.params)))


def _size_check(row: Workload, part: Allocation, target: str) -> None:
    """NotMovable where the device gives shares of fixed sizes, and not this one now."""
    to = device_of(target)
    if to.slice_sizes:
        for refusal in _moved(row, part, device_id=to.uid).refusals:
            raise NotMovable(reason_sentence(refusal.reason.code, dict(refusal.reason.params)))


def _host_check(row: Workload, part: Allocation, target: str) -> None:
    """NotMovable where the host of the device has not the processor, main memory or disk that the share has on its
    own."""
    to = device_of(target)
    if to.node_id == part.device.node_id or not (
        row.host_cpu_milli or row.host_memory_mib or row.scratch_disk_mib
    ):
        return
    for refusal in _moved(row, part, device_id=to.uid).refusals:
        if refusal.reason.code in _HOST_CODES:
            raise NotMovable(reason_sentence(refusal.reason.code, dict(refusal.reason.params)))


def _quota_check(row: Workload, part: Allocation, target: str) -> None:
    """QuotaExceeded where the share would come to a model of which its tenant has no more left (ELA-308)."""
    if device_of(target).model != part.device.model:
        share_request = ShareRequest(
            row.tenant_id, row.uid, target, part.compute_percent, part.memory_mib, work={}
        )
        for error in models_refused([(row, [share_request])]).values():
            raise error


def _device_choose(row: Workload, part: Allocation, node_uid: str) -> str:
    """Another device of the same model where the share fits, by the work's own placing."""
    node_uid = node_uid or (part.device.node.uid if _is_bound(row) else "")
    made = _moved(row, part, node_id=node_uid or None)
    for placement in made.placements:
        return placement.grants[0].device_id
    reason = made.refusals[0].reason
    raise NotMovable(reason_sentence(reason.code, dict(reason.params)))


def _moved(
    row: Workload, part: Allocation, *, node_id: str | None = None, device_id: str | None = None
) -> Plan:
    """The plan for the share as if it were asked for by itself, elsewhere."""
    found = snapshot_get()
    able = _able(part) or {each.id for each in found.devices if each.id != part.device.uid}
    queue = next(each for each in found.queues if each.id == row.queue.code)
    snapshot = replace(
        found,
        devices=tuple(each for each in found.devices if each.id in able),
        # It is admitted and counted already: neither its queue nor its tenant's quota bars it from moving.
        queues=(replace(queue, state=engine.QueueState.UP, quota=engine.Quota(), tenants=None),),
        tenant_quotas=(),
        requests=(
            replace(
                request_of(row), shares=1, min_shares=None, shares_per_replica=1, node_id=node_id,
                device_id=device_id, model=part.device.model, vendor=part.device.vendor, affinity="",
                exclusive=part.is_exclusive,
            ),
        ),
    )  # fmt: skip
    now = int(timezone.now().timestamp())
    return plan(snapshot, now=now, seed=now)


def _able(part: Allocation) -> set[str]:
    """The devices that the session could move to, room left aside; none: the refusal says what stands against one."""
    source = Slice.plain.select_related("device", "node").get(uid=part.slice_uid)
    rows = device_list().filter(left_at=None).select_related("node", "group")
    return {device.uid for device in rows if move_why_not(source, device) is None}


# --- what the fleet tells of it ----------------------------------------------------------------------------------


@service(recorded=False)
def move_begun(
    *, actor: Actor, workload_uid: UUID, source_uid: str, target_uid: str, device_uid: str
) -> None:
    """The target holds its share beside the source's. Told twice, nothing more happens."""
    row, source = _moving(workload_uid, source_uid)
    if row is None or source is None:
        return
    Allocation.objects.get_or_create(
        slice_uid=target_uid,
        defaults={
            "workload": row,
            "share": source.share,
            "is_beside": True,
            "device": Device.objects.get(uid=device_uid),
            "compute_percent": source.compute_percent,
            "memory_mib": source.memory_mib,
            "is_exclusive": source.is_exclusive,
        },
    )
    workload_changed(row, actor)


@service(recorded=False)
def move_done(*, actor: Actor, workload_uid: UUID, source_uid: str, target_uid: str) -> None:
    """The target serves the share now; the source is only held until it has ended."""
    row, source = _moving(workload_uid, source_uid)
    if row is None:
        return
    row.allocations.filter(slice_uid=target_uid).update(is_beside=False)
    if source is not None:
        row.allocations.filter(pk=source.pk).update(is_beside=True)
    workload_changed(row, actor)


@service(recorded=False)
def move_failed(*, actor: Actor, workload_uid: UUID, source_uid: str) -> None:
    """The session stays where it is; the end of the target's slice gives its hold back."""
    row, _source = _moving(workload_uid, source_uid)
    if row is not None:
        workload_changed(row, actor)


def _moving(workload_uid: UUID, source_uid: str) -> tuple[Workload | None, Allocation | None]:
    row = workload_lock(workload_uid)
    if row is None or row.is_final:
        return None, None
    return row, row.allocations.filter(slice_uid=source_uid, state=AllocationState.ACTIVE).first()
