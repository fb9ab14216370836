"""Work and its money: topped up while it runs, put aside when its account gives no more (ELA-1911)."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.billing.selectors.charges import usage_rated_until
from apps.billing.services.funds import LATE_S, FundsState, funds_again, funds_top_up, funds_wait
from apps.fleet.selectors import slice_list
from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.notices.services import notice_send
from apps.scheduling.locks import slices_lock, workload_lock
from apps.scheduling.models import Workload
from apps.scheduling.selectors.entitlements.unfunded import FUNDS_CODE
from apps.scheduling.services.workloads.ending import workload_changed, workload_put_aside
from apps.scheduling.services.workloads.stopping import slices_stop, stop_begin
from apps.scheduling.states import AfterStop, WorkloadState

_RUNS = frozenset({WorkloadState.PLACED, WorkloadState.RUNNING})
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
    no more for as long as the grace. What waits again and was not given enough is put aside at once: its grace is for
    what runs. Again it changes nothing."""
    slices_lock(workload_uid)
    row = workload_lock(workload_uid)
    if row is None or row.is_final:
        return
    now = timezone.now()
    unrated_share_s, left_s = _progress(row, now)
    if row.state not in _RUNS and not row.waits_for_funds:
        funds_wait(actor=actor, workload_uid=workload_uid, unrated_share_s=unrated_share_s)
        return
    state = funds_top_up(
        actor=actor, workload_uid=workload_uid, unrated_share_s=unrated_share_s, left_s=left_s
    )
    if row.waits_for_funds:
        _go_on_waiting(row, actor, state)
    elif state.stops_at is not None and state.stops_at <= now:
        _put_aside(row, actor)
    elif state.is_new:
        _tell(row, actor, state)


def _progress(row: Workload, now: datetime) -> tuple[float, float | None]:
    """How much it ran that is not rated yet, in this attempt and those before, and how much longer it may run at
    most."""
    lately = Q(ended_at=None) | Q(ended_at__gt=now - timedelta(seconds=LATE_S))
    parts = slice_list(workload_uids=[row.uid]).filter(lately, started_at__isnull=False)
    spans = [
        (uid, started, ended)
        for uid, started, ended in parts.values_list("uid", "started_at", "ended_at")
        if started is not None
    ]
    rated = usage_rated_until(str(uid) for uid, _started, _ended in spans)
    unrated = [
        max(0.0, ((ended or now) - rated.get(str(uid), started)).total_seconds())
        for uid, started, ended in spans
    ]
    left_s = None
    if row.run_timeout_s is not None:
        begun = min((started for _uid, started, ended in spans if ended is None), default=now)
        left_s = row.run_timeout_s - (now - begun).total_seconds()
    return sum(unrated), left_s


def funds_asked_again(row: Workload, actor: Actor) -> bool:
    """Its slices have ended and it is to wait again: whether its account must give more before it is placed."""
    unrated_share_s, _left_s = _progress(row, timezone.now())
    return not funds_again(
        actor=actor, workload_uid=row.uid, unrated_share_s=unrated_share_s, run_s=row.run_timeout_s
    )


def _go_on_waiting(row: Workload, actor: Actor, state: FundsState) -> None:
    if state.short_since is not None:
        workload_put_aside(row, actor, FUNDS_CODE, "")
        _notify(row, actor, _PUT_ASIDE)
        return
    row.waits_for_funds = False
    row.save(update_fields=["waits_for_funds", "updated_at"])
    workload_changed(row, actor)


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
