"""Room that is made for waiting work is kept for it, whoever leads (ELA-807)."""

from collections.abc import Mapping
from datetime import UTC, datetime

from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.scheduling.engine.model.types import Hold
from apps.scheduling.models import NominatedRoom


@service(recorded=False)
def nominated_room_keep(
    *, actor: Actor, before: Mapping[str, Hold], after: Mapping[str, Hold], keys: Mapping[str, int]
) -> None:
    """Write down for whom room is kept now, by request; `keys` are the workloads'. Before anything is stopped for it:
    whoever leads next knows for whom that was, and a hold for which nothing was stopped is dropped by the next plan.
    """
    gone = [keys[uid] for uid in before.keys() - after.keys()]
    if gone:
        NominatedRoom.objects.filter(workload__in=gone).delete()
    news = [
        NominatedRoom(
            workload_id=keys[uid],
            since_at=datetime.fromtimestamp(hold.start_at_s, UTC),
            grants=[list(grant) for grant in hold.grants],
        )
        for uid, hold in after.items()
        if before.get(uid) != hold
    ]
    if news:
        NominatedRoom.objects.bulk_create(
            news, update_conflicts=True, unique_fields=["workload"], update_fields=["since_at", "grants"]
        )
