"""What a plan places, by compare-and-set in few statements: rows that changed meanwhile are skipped, never forced."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.billing.services.charges import charge_resize
from apps.fleet.models import Slice
from apps.fleet.services.secrets import secrets_missing
from apps.fleet.services.slices.slice_allocation import (
    Room,
    ShareRequest,
    devices_room,
    gang_give,
    gang_take,
    slices_desire,
    work_shape,
)
from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many
from apps.kernel.errors import QuotaExceeded, WeirError
from apps.kernel.events import emit
from apps.kernel.prepared_queries import pipeline, prepared
from apps.kernel.service import service
from apps.scheduling.engine.model.types import Placement
from apps.scheduling.errors import SecretGone
from apps.scheduling.events import WorkloadsChanged
from apps.scheduling.locks import workloads_pending_lock
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.services.cycle.start_estimates import start_estimates_score
from apps.scheduling.services.decisions import decisions_put
from apps.scheduling.services.entitlements.start_limits import Starts
from apps.scheduling.services.quota.batch import QuotaUse, quotas_use
from apps.scheduling.services.quota.models import models_refused
from apps.scheduling.services.workloads.ending import workload_refuse
from apps.scheduling.services.workloads.resizing.elastic_size import sizes_begin
from apps.scheduling.services.workloads.submission.checks import groups_refused
from apps.scheduling.snapshot.cluster import guarantees_reclaimed, policy_get
from apps.scheduling.states import FLOW, DecisionKind, WorkloadState
from node_agent.protocol.fields import GRACE_MAX_S


@dataclass(slots=True)
class Chosen:
    """A placement, the workload it is of, locked, and the slices it becomes."""

    placement: Placement
    row: Workload
    share_requests: list[ShareRequest]
    slices: list[Slice] = field(default_factory=list)


@service(recorded=False, joins=True)
def placements_apply(
    *, actor: Actor, placements: Sequence[Placement], bound: Collection[str] = ()
) -> list[Chosen]:
    """Place what can still be placed, all shares of each or none; those that were placed. `bound`: the tenants with
    quotas of models.

    The feed of changes is not told of them: whoever calls knows.
    """
    rooms = devices_room(actor=actor, uids=[each.device_id for every in placements for each in every.grants])
    rows = workloads_pending_lock([each.request_id for each in placements])
    chosen, broken = _choose(placements, rows, rooms)
    short = _models_short(chosen, rooms, bound) if bound else {}
    chosen = [each for each in chosen if each.row.uid not in short]
    with pipeline():
        exceeded = short | _quota_use(chosen, rooms, actor)
        chosen = [each for each in chosen if each.row.uid not in exceeded]
        feed_mute(True)
        _slices_make(chosen, rooms, actor)
        _rows_move(chosen)
        sizes_begin([(each.row, each.slices) for each in chosen], actor)
        feed_mute(False)
        _cards_charge(chosen, actor)
        decisions_put(actor=actor, lines=[_line(each) for each in chosen])
        start_estimates_score([each.row.pk for each in chosen])
    _quota_wait([rows[str(uid)] for uid in exceeded], exceeded)
    for row, error in broken:
        workload_refuse(row, actor, error)
    changed = [*(each.row for each in chosen), *(rows[str(uid)] for uid in exceeded)]
    changed_tell(changed, actor)
    return chosen


def feed_mute(is_mute: bool) -> None:
    """Until the transaction ends or this is taken back: our own changes are not told to the feed."""
    with prepared() as cursor:
        cursor.execute("SELECT set_config('weir.leads', %s, true)", ["on" if is_mute else "off"])


def _choose(
    placements: Sequence[Placement], rows: dict[str, Workload], rooms: dict[str, Room]
) -> tuple[list[Chosen], list[tuple[Workload, WeirError]]]:
    chosen: list[Chosen] = []
    broken: list[tuple[Workload, WeirError]] = []
    # Nothing new starts on a group whose grant was taken back while it waited.
    refused = groups_refused(rows.values())
    starts = Starts(rows.values())
    notices = notices_of(rows.values())
    for placement in placements:
        row = rows.get(placement.request_id)
        if row is None:
            continue
        if row.pk in refused:
            broken.append((row, refused[row.pk]))
            continue
        try:
            starts.check(row, len(placement.grants))
            _secrets_check(row)
            share_requests = share_requests_of(row, placement, notices[row.pk])
        except WeirError as error:
            broken.append((row, error))
            continue
        if not _is_spoilt(placement, rooms) and gang_take(rooms, share_requests):
            starts.took(row, len(share_requests))
            chosen.append(Chosen(placement, row, share_requests))
    return chosen, broken


def _secrets_check(row: Workload) -> None:
    """Raises SecretGone where one was deleted while it waited."""
    if missing := secrets_missing(row.secrets):
        raise SecretGone(_("Its secret %(name)s was deleted.") % {"name": missing[0]})


def _is_spoilt(placement: Placement, rooms: dict[str, Room]) -> bool:
    """Whether something has come meanwhile to a device that the work is to have alone."""
    return any(
        grant.alone and rooms[grant.device_id].held_percent
        for grant in placement.grants
        if grant.device_id in rooms
    )


def notices_of(rows: Collection[Workload]) -> dict[int, int]:
    """By key: how many seconds before its end the policy has the work told of it; 0 where it need not be: it gives way
    to nothing, and has no way to save itself."""
    told = {row.pk for row in rows if row.preemptible or "checkpoint" in row.work}
    if len(told) < len(rows) and guarantees_reclaimed():
        told = {row.pk for row in rows}
    grace_s = min(policy_get().grace_s, GRACE_MAX_S) if told else 0
    return {row.pk: grace_s if row.pk in told else 0 for row in rows}


def share_requests_of(row: Workload, placement: Placement, notice_s: int) -> list[ShareRequest]:
    """The shares that a placement means for a workload; WeirError where no node could run its work."""
    work = work_shape(row.work, row.kind, row.run_timeout_s, row.idle_timeout_s)
    # Its node gives it this much between the notice and the end, whatever becomes of us meanwhile (ELA-810).
    work["grace_s"] = max(work["grace_s"], notice_s)
    # Not what the device's group is by now: should it have changed, the placement is stale.
    group = row.resource_group or row.queue.resource_group
    return [
        ShareRequest(
            tenant_id=row.tenant_id,
            workload_uid=row.uid,
            device_uid=grant.device_id,
            compute_percent=grant.compute_percent,
            memory_mib=grant.memory_mib,
            work=work,
            run_timeout_s=row.run_timeout_s,
            exclusive=grant.exclusive,
            kind=row.kind,
            idle_timeout_s=row.idle_timeout_s,
            driver=row.driver,
            resource_group=group,
            requeue_on_loss=row.requeue_on_loss,
            host_cpu_milli=row.host_cpu_milli,
            host_memory_mib=row.host_memory_mib,
            scratch_disk_mib=row.scratch_disk_mib,
            share=share,
            attempt=row.attempt,
            secrets=row.secrets,
        )
        for share, grant in enumerate(placement.grants)
    ]


def _models_short(
    chosen: Sequence[Chosen], rooms: dict[str, Room], bound: Collection[str]
) -> dict[UUID, QuotaExceeded]:
    """What its tenant's quota of a model has no room for any more (ELA-308)."""
    mine = [each for each in chosen if each.placement.tenant_id in bound]
    refused = models_refused([(each.row, each.share_requests) for each in mine]) if mine else {}
    for each in mine:
        if each.row.uid in refused:
            gang_give(rooms, each.share_requests)
    return refused


def _quota_use(chosen: Sequence[Chosen], rooms: dict[str, Room], actor: Actor) -> dict[UUID, QuotaExceeded]:
    """What each is granted is used: of whole cards all their memory, of work that waited for quota all of it.

    Some may be held meanwhile by forms in process, of which the engine does not know: it goes on waiting.
    """
    exceeded = quotas_use(
        actor=actor,
        wanted=[
            QuotaUse(
                each.row.tenant_id,
                each.row.uid,
                each.row.organization_id,
                {
                    "instances": len(each.share_requests),
                    "compute_percent": sum(want.compute_percent for want in each.share_requests),
                    "gpu_memory_mib": sum(want.memory_mib for want in each.share_requests),
                },
            )
            for each in chosen
            if each.row.is_direct
        ],
    )
    for each in chosen:
        if each.row.uid in exceeded:
            gang_give(rooms, each.share_requests)
    return exceeded


def _slices_make(chosen: Sequence[Chosen], rooms: dict[str, Room], actor: Actor) -> None:
    slices = iter(
        slices_desire(
            actor=actor, rooms=rooms, share_requests=[w for each in chosen for w in each.share_requests]
        )
    )
    parts = []
    for each in chosen:
        each.slices = [next(slices) for _want in each.share_requests]
        for share, part in enumerate(each.slices):
            parts.append(
                Allocation(
                    workload_id=each.row.pk,
                    share=share,
                    device_id=part.device_id,
                    compute_percent=part.compute_percent,
                    memory_mib=part.memory_mib,
                    is_exclusive=part.is_exclusive,
                    slice_uid=part.uid,
                )
            )
    insert_many(parts, keyed=False)


_MOVE = """
UPDATE scheduling_workload AS t SET state = 'placed', placed_at = %(now)s, updated_at = %(now)s, reason_code = '',
    reason = '{}', position = NULL, active_shares = v.shares
FROM unnest(%(pks)s::bigint[], %(shares)s::int[]) AS v (pk, shares) WHERE t.id = v.pk
"""


def _rows_move(chosen: Sequence[Chosen]) -> None:
    """All to their new state in one update: they are locked, and wait."""
    assert (WorkloadState.PENDING, WorkloadState.PLACED) in FLOW.table
    now = timezone.now()
    for each in chosen:
        row = each.row
        row.state, row.placed_at, row.updated_at = WorkloadState.PLACED, now, now
        row.reason_code, row.reason, row.position = "", {}, None
        row.active_shares = len(each.share_requests) if row.min_shares else None
    pks, shares = [each.row.pk for each in chosen], [each.row.active_shares for each in chosen]
    with prepared(len(pks)) as cursor:
        cursor.execute(_MOVE, {"pks": pks, "shares": shares, "now": now})


def _cards_charge(chosen: Sequence[Chosen], actor: Actor) -> None:
    """Whole cards are charged with all their memory, however little was asked for; cards of several sizes by each."""
    cards = {each.row.uid: each for each in chosen if each.row.is_direct and each.row.whole_cards}
    for uid in cards:
        for percent, mib in sorted(
            {
                (share_request.compute_percent, share_request.memory_mib)
                for share_request in cards[uid].share_requests
            }
        ):
            # Funds were set aside for the largest card that it could get.
            charge_resize(
                actor=actor, workload_uid=uid, compute_percent=percent, memory_mib=mib, sets_aside=False
            )


def _line(each: Chosen) -> tuple[int, str, str, dict[str, object]]:
    on = [share_request.device_uid for share_request in each.share_requests]
    return (
        each.row.pk,
        DecisionKind.PLACED,
        each.placement.policy.value,
        {"devices": on[:64], "shares": len(on)},
    )


def _quota_wait(rows: Sequence[Workload], errors: dict[UUID, QuotaExceeded]) -> None:
    for row in rows:
        waiting = Workload.plain.filter(pk=row.pk, state=WorkloadState.PENDING)
        waiting.update(reason_code=errors[row.uid].code, reason={"text": str(errors[row.uid].message)})


def changed_tell(rows: Sequence[Workload], actor: Actor) -> None:
    """Pages that show them look again."""
    if rows:
        emit(WorkloadsChanged(tuple((row.tenant.schema_name, row.uid) for row in rows)), actor=actor)
