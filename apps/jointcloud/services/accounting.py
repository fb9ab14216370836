"""What an attempt used is settled once: kept, charged to its tenant and owed to its centre in one transaction.

Told by an event, and looked for by a sweep; twice, at once or killed in the middle, it is settled once or not yet. The
job's row is the lock.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from django.utils import timezone

from apps.billing.selectors.accounts import funds_due_jobs
from apps.billing.selectors.charges import job_charges_open, slice_cost
from apps.billing.services.job_charges import job_holds_lock, job_usage_settle
from apps.billing.services.payables import payable_post
from apps.billing.types import Usage
from apps.catalog.pricing.price import Line, PriceUnit, cost
from apps.catalog.services.network_prices import REPLICA
from apps.jointcloud.models import Job, Replica, Settlement
from apps.jointcloud.services.charging import charges_follow, hourly_of, job_funds_follow
from apps.jointcloud.services.following import job_end
from apps.jointcloud.services.remote import Account, remote_account, remote_awaited
from apps.jointcloud.services.settling import job_lock
from apps.jointcloud.states import ENDED, OPEN, SettledBy
from apps.kernel.actor import Actor
from apps.kernel.money import ZERO, exact
from apps.kernel.service import service

log = logging.getLogger("weir.jointcloud")
# What the watch of a centre says of its accounts is waited for no longer: longer than the watch itself waits.
GIVE_UP = timedelta(days=2)
_DAY_S = 86_400
_MOST = 500
_LOOKED_MOST = 10_000
# By the hour, as the prices of network specifications are.
_HOURLY = Line(REPLICA, 1, PriceUnit.HOUR.value, "flat", ())


class _Use(NamedTuple):
    """When an attempt ran, in whole seconds, by what, and how much of it its tenant pays."""

    by: SettledBy
    since: datetime | None = None
    seconds: int = 0
    charged: int = 0


@service(recorded=False)
def attempt_settle(*, actor: Actor, key: str) -> None:
    """Settle an attempt that is over and of which no more will be known. Again it changes nothing."""
    named = Replica.objects.filter(key=key).values_list("task__job__job_id", flat=True).first()
    job = job_lock(named) if named else None
    if job is None:
        return
    row = Replica.objects.select_related("task").filter(key=key).first()
    if row is None or row.is_settled or row.charge_uid is None or row.state in OPEN or row.ended_at is None:
        return
    account, now = remote_account(key), timezone.now()
    if not account.is_final and now - (account.seen_at or now) < GIVE_UP:
        return
    job_holds_lock(job.job_id)
    use = _use_of(row, account)
    amount, use = _charged(row, use, actor)
    owed = ZERO if row.cost_minor is None else exact(cost(_HOURLY, hourly_of(row.cost_minor), use.seconds))
    payable_post(
        actor=actor, key=key, ai_center_id=row.ai_center_id, amount=owed, reference=f"job:{job.job_id}"
    )
    _keep(job, row, account, use, (amount, owed), now)
    row.is_settled = True
    row.save(update_fields=["is_settled"])
    charges_follow(job, actor=actor)


def _use_of(row: Replica, account: Account) -> _Use:
    """The centre's own account is what counts; where it says nothing, what the portal saw. What is doubted, or was lost
    and is told by nobody, is charged to nobody and owed to nobody."""
    if account.told is not None:
        since, until = account.told
        whole = int((until - since).total_seconds())
        if not whole:
            return _Use(SettledBy.NOT_RUN)
        charged = whole
        if row.lost_at is not None:
            charged = min(whole, max(0, int((row.lost_at - since).total_seconds())))
        return _Use(SettledBy.TOLD, since, whole, charged)
    if account.is_doubted:
        return _Use(SettledBy.DOUBTED)
    if row.lost_at is not None:
        return _Use(SettledBy.UNKNOWN)
    seen = 0
    if row.seen_from is not None and row.seen_until is not None:
        seen = max(0, int((row.seen_until - row.seen_from).total_seconds()))
    return _Use(SettledBy.SEEN, row.seen_from, seen, seen) if seen else _Use(SettledBy.NOT_RUN)


def _charged(row: Replica, use: _Use, actor: Actor) -> tuple[Decimal, _Use]:
    """Charge it as any use is: recorded, rated, drawn from what was set aside. What the books do not take is
    doubted."""
    if not use.charged or use.since is None:
        return ZERO, use
    assert row.charge_uid is not None
    receipt = job_usage_settle(actor=actor, charge_uid=row.charge_uid, reports=_reports(row, use))
    if receipt.refused:
        log.warning("use of %s is not believed: %s", row.key, receipt.refused)
    amount, charged = slice_cost(row.key)
    return (amount, use._replace(charged=charged)) if charged else (ZERO, _Use(SettledBy.DOUBTED))


def _reports(row: Replica, use: _Use) -> list[Usage]:
    """Intervals of a day at most, one after the other."""
    assert use.since is not None
    found = []
    for seq, first in enumerate(range(0, use.charged, _DAY_S), start=1):
        begin = use.since + timedelta(seconds=first)
        found.append(
            Usage(
                slice_uid=row.key,
                seq=seq,
                start_at=begin,
                end_at=use.since + timedelta(seconds=min(first + _DAY_S, use.charged)),
                compute_percent=0,
                memory_mib=0,
                node_uid=row.ai_center_id,
                device_uid="",
                report_id=f"{row.key}/{seq}",
            )
        )
    return found


def _keep(
    job: Job, row: Replica, account: Account, use: _Use, money: tuple[Decimal, Decimal], now: datetime
) -> None:
    assert row.charge_uid is not None
    assert row.ended_at is not None
    told_from, told_until = account.told or (None, None)
    Settlement.plain.create(
        tenant=job.tenant,
        key=row.key,
        job_id=job.job_id,
        task=row.task.number,
        replica=row.number,
        attempt=row.attempt,
        state=row.state,
        ai_center_id=row.ai_center_id,
        center_name=row.center_name,
        resourcespec=row.task.resourcespec,
        charge_uid=row.charge_uid,
        price_minor=row.price_minor,
        cost_minor=row.cost_minor,
        seen_from=row.seen_from,
        seen_until=row.seen_until,
        told_from=told_from,
        told_until=told_until,
        lost_at=row.lost_at,
        settled_by=use.by,
        seconds=use.charged,
        amount=money[0],
        owed_seconds=use.seconds,
        owed=money[1],
        ended_at=row.ended_at,
        settled_at=now,
    )


@service(recorded=False)
def job_charges_close(*, actor: Actor, job_id: str) -> None:
    """Bring what is set aside for a job to how it stands: one that has ended and is settled is charged no more."""
    job = job_lock(job_id)
    if job is not None:
        charges_follow(job, actor=actor)


@service(recorded=False)
def job_unfunded_stop(*, actor: Actor, job_id: str, charge_uid: UUID) -> None:
    """Look at a job's money; stop it where its account gives no more."""
    if job_funds_follow(actor=actor, job_id=job_id, charge_uid=charge_uid):
        job = job_lock(job_id)
        if job is not None and job.state in OPEN and job.stop_asked_at is None:
            job_end(job, actor=actor)


def _due(now: datetime) -> list[str]:
    """What can be settled now: of what its centre may still tell nothing is looked at."""
    rows = Replica.objects.filter(is_settled=False, charge_uid__isnull=False).exclude(state__in=OPEN)
    over = list(rows.order_by("ended_at").values_list("key", flat=True)[:_LOOKED_MOST])
    awaited = remote_awaited(over)
    # By our own clock: what a watch that was away sees late is asked for first.
    return [key for key in over if now - awaited.get(key, now - GIVE_UP) >= GIVE_UP][:_MOST]


@contextmanager
def _apart(name: str) -> Iterator[None]:
    try:
        yield
    except Exception:
        log.exception("money of jobs: %s was not looked at", name)


def money_sweep(*, actor: Actor) -> None:
    """Settle what no event told, look at the money of what runs, and close what is settled. What one part fails over
    the others do not wait for; it is due still."""
    for key in _due(timezone.now()):
        with _apart(key):
            attempt_settle(actor=actor, key=key)
    for charge_uid, job_id in funds_due_jobs(_MOST):
        with _apart(job_id):
            job_unfunded_stop(actor=actor, job_id=job_id, charge_uid=charge_uid)
    ended = Job.plain.filter(job_id__in=job_charges_open(), state__in=ENDED)
    for job_id in ended.order_by("pk").values_list("job_id", flat=True)[:_MOST]:
        with _apart(job_id):
            job_charges_close(actor=actor, job_id=job_id)
