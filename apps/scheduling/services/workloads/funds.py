"""Work and its money: topped up while it runs, put aside when its account gives no more (ELA-1911)."""

from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.billing.selectors import usage_rated_until
from apps.billing.services.funds import FundsState, funds_top_up, funds_wait
from apps.fleet.selectors import slice_list
from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.notices.services import notice_send
from apps.scheduling.locks import slices_lock, workload_lock
from apps.scheduling.models import Workload
from apps.scheduling.services.workloads.ending import workload_changed
from apps.scheduling.services.workloads.stopping import slices_stop, stop_begin
from apps.scheduling.states import AfterStop, AllocationState, WorkloadState

_RUNS = frozenset({WorkloadState.PLACED, WorkloadState.RUNNING})
FUNDS_CODE = "funds_used_up"
_SHORT = gettext_noop(
    "%(name)s (%(no)s) is about to be put aside: the account gives no more money for it. It goes on until %(until)s;"
    " top the account up before then."
)
_PUT_ASIDE = gettext_noop(
    "%(name)s (%(no)s) is put aside: the money of the account is used up. Top it up, then resume the work by hand."
)


@service(recorded=False)
def funds_follow(*, actor: Actor, workload_uid: UUID) -> None:
    """Top up what is set aside for work that runs; put it aside, told to save itself first, when its account has given
    no more for as long as the grace. Again it changes nothing."""
    slices_lock(workload_uid)
    row = workload_lock(workload_uid)
    if row is None or row.is_final:
        return
    if row.state not in _RUNS:
        funds_wait(actor=actor, workload_uid=workload_uid)
        return
    now = timezone.now()
    unrated_share_s, left_s = _progress(row, now)
    state = funds_top_up(
        actor=actor, workload_uid=workload_uid, unrated_share_s=unrated_share_s, left_s=left_s
    )
    if state.stops_at is not None and state.stops_at <= now:
        _put_aside(row, actor)
    elif state.is_new:
        _tell(row, actor, state)


def _progress(row: Workload, now: datetime) -> tuple[float, float | None]:
    """How much it ran that is not rated yet, and how much longer it may run at most."""
    held = row.allocations.filter(state=AllocationState.ACTIVE).values("slice_uid")
    starts = {
        part.uid: part.started_at
        for part in slice_list(workload_uids=[row.uid]).filter(uid__in=held)
        if part.started_at
    }
    rated = usage_rated_until(str(uid) for uid in starts)
    unrated = [max(0.0, (now - rated.get(str(uid), at)).total_seconds()) for uid, at in starts.items()]
    left_s = None
    if row.run_timeout_s is not None:
        begun = min(starts.values(), default=now)
        left_s = row.run_timeout_s - (now - begun).total_seconds()
    return sum(unrated), left_s


def _put_aside(row: Workload, actor: Actor) -> None:
    stop_begin(row, actor, AfterStop.SUSPEND, FUNDS_CODE)
    # To its node it is work that is put aside as any other: it saves itself, and keeps its folder.
    slices_stop(row, actor, "", reason_code="suspended")
    workload_changed(row, actor)
    _notify(row, actor, _PUT_ASIDE)


def _tell(row: Workload, actor: Actor, state: FundsState) -> None:
    assert state.stops_at is not None
    until = timezone.localtime(state.stops_at).strftime("%Y-%m-%d %H:%M")
    _notify(row, actor, _SHORT, until=until)


def _notify(row: Workload, actor: Actor, msgid: str, **params: str) -> None:
    if row.submitted_by_id is None:
        return
    notice_send(
        actor=actor,
        user_ids=[row.submitted_by_id],
        msgid=msgid,
        params={"name": row.name_en, "no": row.no, **params},
        link=f"/resources/{row.uid}/",
        tenant=row.tenant,
    )
