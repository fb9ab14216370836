"""What work has saved of itself, and what it loses when it is stopped (ELA-810)."""

from datetime import datetime
from uuid import UUID

from django.db.models import Q

from apps.fleet.selectors import slice_list
from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.scheduling.models import Workload
from apps.scheduling.services.decisions import decided
from apps.scheduling.states import HOLDING_STATES, DecisionKind


@service(recorded=False)
def workload_saved(*, actor: Actor, workload_uid: UUID, at: datetime) -> None:
    """Its work has said on its node that it was saved. Told late, twice or out of order, the latest counts."""
    rows = Workload.plain.filter(uid=workload_uid, state__in=HOLDING_STATES)
    rows.filter(Q(checkpoint_at=None) | Q(checkpoint_at__lt=at)).update(checkpoint_at=at)


@service(recorded=False)
def folder_record(
    *, actor: Actor, workload_uid: UUID, code: str, share: int, node: str, mib: int, problem: str
) -> None:
    """What its shares keep is on its way to another node, has come, or was left: `code` says which (`timeline`)."""
    row = Workload.plain.filter(uid=workload_uid).first()
    if row is not None:
        decided(row, DecisionKind.FOLDER, actor, code, share=share, node=node, mib=mib, problem=problem)


def lost_card_seconds(row: Workload) -> int:
    """What preempted work did since it was last saved, until its last share ended: each share counts by how much of
    a card it had. Internal to the app's services."""
    notice = row.decisions.filter(kind=DecisionKind.PREEMPTING).order_by("-pk").first()
    if notice is None:
        return 0
    parts = dict(
        row.allocations.filter(released_at__gte=notice.at).values_list("slice_uid", "compute_percent")
    )
    spans = slice_list(workload_uids=[row.uid]).filter(uid__in=parts, started_at__isnull=False)
    percent_seconds = 0.0
    for uid, started_at, ended_at in spans.values_list("uid", "started_at", "ended_at"):
        since = max(started_at, row.checkpoint_at or started_at)
        percent_seconds += parts[uid] * max(0.0, ((ended_at or since) - since).total_seconds())
    return int(percent_seconds) // 100
