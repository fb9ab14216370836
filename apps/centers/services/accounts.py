"""What a centre's own accounts say that its jobs used: kept as it came, believed where it can be true.

Each is one short transaction. What comes twice changes nothing; what says otherwise than before, or what cannot be, is
kept with the reason, counted at the centre, and used for nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from time import monotonic

from django.db.models import F
from django.utils import timezone

from apps.centers.adapters.base import Ability, CenterAdapter, CenterBroken, CenterRefused, UsageRecord
from apps.centers.adapters.kinds import charges_itself
from apps.centers.events import RemoteTaskAccounted
from apps.centers.models import TEXT_BYTES, Center, CenterUsage, RemoteTask
from apps.centers.selectors import remote_tasks_unaccounted
from apps.centers.services.calls import line, usage_asked
from apps.centers.services.following import AHEAD
from apps.centers.services.remote_tasks import remote_task_locked
from apps.centers.states import RemoteState
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.control_characters import control_removed
from apps.kernel.events import emit
from apps.kernel.service import service

# The values of an account at the centre, by name.
Account = tuple[tuple[str, str], ...]
RAW_MOST = 64 * 1024
# Of one task: a centre that says something else each time fills no table.
_DOUBTED_MOST = 20
# Accounts tell of whole seconds.
_WHOLE = timedelta(seconds=2)
# Of each account at a centre, asked for at once.
_TASKS_MOST = 500
# Of one time: the next account is asked at the next.
_ASKING_S = 2.0
# So long the accounts are asked for what is over; for what was lost, whose job may still be ended there, longer.
WAIT = timedelta(hours=1)
LOST_WAIT = timedelta(days=1)
# What has run may have ended so much before it was seen to be over, by the centre's clock.
_BEFORE = timedelta(hours=1)


def account_key(account: Mapping[str, str] | None) -> Account:
    """An account at a centre as the key of a table; the centre's own is empty."""
    return tuple(sorted((account or {}).items()))


def accounts_follow(
    center: Center,
    adapter_of: Callable[[Mapping[str, str]], CenterAdapter],
    asked: dict[Account, float],
) -> Iterator[tuple[str, str]]:
    """Ask a centre's accounts for what they say of its tasks that are over, and keep it: key and reason of each record
    that is not believed. No transaction belongs around it. Raises CenterError.

    `adapter_of`: the adapter by which the jobs of one account there are told, of no others.

    `asked`: when each account was last asked, by a clock that only goes forwards; written. Which was not asked longest
    comes first, and after some seconds the others wait for the next time: what runs is followed between.

    What never ran is in no account; where a centre keeps none, and where it has not told for long though it was asked,
    no more is waited. One account that the centre does not let in, or tells nonsense of, holds up no other's.
    """
    if charges_itself(center.kind):
        return
    parts: dict[Account, list[RemoteTask]] = defaultdict(list)
    for row in remote_tasks_unaccounted(center, _TASKS_MOST):
        parts[account_key(row.account)].append(row)
    failed: CenterRefused | CenterBroken | None = None
    began_s = monotonic()
    for account in sorted(parts, key=lambda each: asked.get(each, float("-inf"))):
        if monotonic() - began_s > _ASKING_S:
            break
        asked[account] = monotonic()
        try:
            yield from _account_follow(adapter_of(dict(account)), parts[account])
        except (CenterRefused, CenterBroken) as error:
            failed = error
            _untell(parts[account], timezone.now())
    if failed is not None:
        raise failed


def _account_follow(adapter: CenterAdapter, rows: list[RemoteTask]) -> Iterator[tuple[str, str]]:
    asked_at, waiting = timezone.now(), []
    for row in rows:
        if Ability.USAGE in adapter.abilities and _may_be_accounted(row):
            waiting.append(row)
        else:
            usage_untold(actor=SYSTEM, pk=row.pk)
    if not waiting:
        return
    by_key = {row.key: row for row in waiting}
    since = min(map(_may_have_ended_at, waiting)) - _BEFORE
    for record in usage_asked(adapter, since):
        found = by_key.get(record.key)
        if found is not None and (
            fault := usage_keep(actor=SYSTEM, pk=found.pk, record=record, asked_at=asked_at)
        ):
            yield found.key, fault
    _untell(waiting, asked_at)


def _may_be_accounted(row: RemoteTask) -> bool:
    """Whether accounts may know it: what surely never ran is in none."""
    if row.state == RemoteState.LOST:
        return bool(row.native_id) or row.is_left
    return bool(row.native_id) and (row.started_at or row.running_at) is not None


def _may_have_ended_at(row: RemoteTask) -> datetime:
    """The earliest that it may have ended: what is lost was long silent before it counted as that."""
    if row.state == RemoteState.LOST:
        return row.running_at or row.sent_at or row.created_at
    return row.ended_at or row.state_at


def _untell(rows: Iterable[RemoteTask], now: datetime) -> None:
    """Of those that were asked for in vain for long no more is waited."""
    for row in rows:
        if now - row.state_at >= (LOST_WAIT if row.state == RemoteState.LOST else WAIT):
            usage_untold(actor=SYSTEM, pk=row.pk)


@service(recorded=False)
def usage_keep(*, actor: Actor, pk: int, record: UsageRecord, asked_at: datetime) -> str:
    """Keep what the accounts said at `asked_at` of a remote task that is over; why it is not believed, "" where it is.

    The one that is believed is so for good.
    """
    row = remote_task_locked(pk)
    if row is None or not row.is_over:
        return ""
    if (fault := _unkeepable(record)) is None:
        known = CenterUsage.objects.filter(key=row.key)
        times = {"native_id": record.native_id, "started_at": record.started_at, "ended_at": record.ended_at}
        if (same := known.filter(**times).first()) is not None:
            return same.fault
        fault = _fault(row, record, asked_at)
        if not fault and known.filter(fault="").exists():
            fault = "it said otherwise before"
        if not fault or known.count() < _DOUBTED_MOST:
            CenterUsage.objects.create(
                ai_center_id=row.center.ai_center_id,
                key=row.key,
                quantities=asdict(record.quantities),
                raw=control_removed(record.raw),
                fault=fault,
                told_at=asked_at,
                **times,
            )
    if fault:
        Center.objects.filter(pk=row.center_id).update(disbelieved_count=F("disbelieved_count") + 1)
        return fault
    _accounted(row, actor)
    return ""


@service(recorded=False)
def usage_untold(*, actor: Actor, pk: int) -> None:
    """What the accounts say of a task that is over is waited for no more."""
    row = remote_task_locked(pk)
    if row is not None and row.is_over and not row.is_accounted:
        _accounted(row, actor)


def _accounted(row: RemoteTask, actor: Actor) -> None:
    row.is_accounted = True
    row.save(update_fields=["is_accounted"])
    emit(RemoteTaskAccounted(key=row.key, owner=row.owner), actor=actor)


def _unkeepable(record: UsageRecord) -> str | None:
    """Why no row can be made of a record; None where one can."""
    if not record.native_id or line(record.native_id, TEXT_BYTES) != record.native_id:
        return "it has no number"
    for moment in (record.started_at, record.ended_at):
        if not isinstance(moment, datetime) or moment.tzinfo is None:
            return "it has no times"
    if len(record.raw.encode(errors="replace")) > RAW_MOST:
        return f"its record is longer than {RAW_MOST} bytes"
    return None


def _fault(row: RemoteTask, record: UsageRecord, asked_at: datetime) -> str:
    """Why a record cannot be true; "" where it can. By our own clock it was sent after it was asked for, and was over
    when we saw that: it ran no longer than between these, however its centre's clock goes."""
    if row.native_id and record.native_id != row.native_id:
        return f"it is of {record.native_id}, and the task is {row.native_id} there"
    if record.ended_at < record.started_at:
        return "it ended before it began"
    over_at = asked_at if row.state == RemoteState.LOST else row.state_at
    if record.ended_at > over_at + AHEAD:
        return "it ended after it was seen to be over"
    if record.started_at < row.created_at - AHEAD:
        return "it began before it was sent"
    if record.ended_at - record.started_at > over_at - row.created_at + _WHOLE:
        return "it is longer than the time from when it was asked for until it was over"
    return ""
