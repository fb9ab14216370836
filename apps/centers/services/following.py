"""What the watcher of a centre sends, and what the centre tells of it, is kept. Each is one short transaction.

A report changes a task only forwards: what is late, comes twice, or cannot be true changes nothing. What is over stays.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.models import F
from django.utils import timezone

from apps.centers.adapters.base import OVER, JobMessage, JobSeen, JobState
from apps.centers.models import ERROR_MOST, TEXT_BYTES, Center, RemoteTask
from apps.centers.services.calls import line
from apps.centers.services.messages import message_open
from apps.centers.services.remote_tasks import remote_task_locked, state_set
from apps.centers.states import OPEN_STATES, RemoteState, Wanted
from apps.kernel.actor import Actor
from apps.kernel.service import service

# A centre's clock may be so much ahead of ours.
AHEAD = timedelta(minutes=5)
# Kept in English, as all causes are.
FURTHER = "The centre has further jobs under this key: {others}."
_OTHERS_MOST, _OTHER_LENGTH = 5, 40
_EXIT_CODE_MOST = 2**31 - 1
_RANKS = {state: rank for rank, state in enumerate(OPEN_STATES)}


@service(recorded=False)
def send_begin(*, actor: Actor, pk: int, holds: Callable[[], bool]) -> JobMessage | None:
    """Keep that a task is being sent, before it is; what is to be sent. None where it is not to be sent now: somebody
    has asked that it stops, it is over, or the centre is no longer ours by `holds`."""
    row = remote_task_locked(pk)
    if row is None or row.desired != Wanted.RUN or not holds():
        return None
    if row.state not in (RemoteState.NEW, RemoteState.SENDING):
        return None
    message = message_open(row)
    if message is None:
        row.cause = "The portal no longer has the key that this message was sealed with."
        state_set(row, RemoteState.REFUSED, actor=actor)
        return None
    row.sent_at = timezone.now()
    if row.state == RemoteState.NEW:
        state_set(row, RemoteState.SENDING, actor=actor)
    else:
        row.revision += 1
        row.save(update_fields=["sent_at", "revision"])
    return message


@service(recorded=False)
def send_taken(*, actor: Actor, pk: int, native_id: str) -> None:
    """The centre has taken it. One that counts as over meanwhile stays so: its job is looked for and stopped."""
    row = remote_task_locked(pk)
    if row is None or row.native_id:
        return
    row.native_id = native_id
    if row.state == RemoteState.SENDING:
        row.cause = ""
        state_set(row, RemoteState.WAITING, actor=actor)
    else:
        row.save(update_fields=["native_id"])


@service(recorded=False)
def send_refused(*, actor: Actor, pk: int, cause: str) -> None:
    """The centre does not take it, and has nothing of it."""
    row = remote_task_locked(pk)
    if row is None:
        return
    row.cause = cause
    if row.state == RemoteState.SENDING:
        state_set(row, RemoteState.REFUSED, actor=actor)
    elif row.is_left:
        row.is_left = False
        row.save(update_fields=["cause", "is_left"])


@service(recorded=False)
def send_unanswered(*, actor: Actor, pk: int, cause: str) -> None:
    """No answer came: it may have been taken or not, and is looked for."""
    RemoteTask.objects.filter(pk=pk, state=RemoteState.SENDING).update(cause=cause)


@service(recorded=False)
def send_dropped(*, actor: Actor, pk: int) -> None:
    """It never arrived, and is no longer wanted."""
    row = remote_task_locked(pk)
    if row is not None and row.state == RemoteState.SENDING and row.desired == Wanted.STOP:
        state_set(row, RemoteState.STOPPED, actor=actor)


@service(recorded=False)
def report_keep(*, actor: Actor, pk: int, seen: JobSeen, asked_at: datetime) -> str:
    """Keep what a centre said of a job when it was asked at `asked_at`; why it is not believed, "" where it is."""
    row = remote_task_locked(pk)
    if row is None or (row.seen_at and asked_at < row.seen_at):
        return ""
    if fault := _fault(row, seen, timezone.now()):
        Center.objects.filter(pk=row.center_id).update(disbelieved_count=F("disbelieved_count") + 1)
        return fault
    if row.is_over:
        if row.is_left:
            row.native_id = line(seen.native_id, TEXT_BYTES)
            row.is_left = seen.state not in OVER
            row.save(update_fields=["native_id", "is_left"])
        return ""
    state, cause = _state_of(row, seen), _cause_of(seen)
    if (further := _further(seen)) and further not in row.cause:
        # Once for each that comes to be known: it is told of at every question.
        Center.objects.filter(pk=row.center_id).update(disbelieved_count=F("disbelieved_count") + 1)
    row.seen_at = asked_at
    row.native_id = line(seen.native_id, TEXT_BYTES)
    row.native_state = line(seen.native_state, TEXT_BYTES)
    row.cause = cause
    row.started_at, row.ended_at = seen.started_at or row.started_at, seen.ended_at
    row.exit_code = seen.exit_code
    if state != row.state:
        state_set(row, state, actor=actor)
    else:
        row.revision += 1
        row.save()
    return ""


@service(recorded=False)
def report_strange(*, actor: Actor, center: Center, count: int) -> None:
    """Count what a centre said of jobs that it was not asked for."""
    Center.objects.filter(pk=center.pk).update(disbelieved_count=F("disbelieved_count") + count)


@service(recorded=False)
def remote_task_lose(*, actor: Actor, pk: int, cause: str) -> None:
    """Nothing is known of it any more: it counts as over, and what the centre may still have of it is stopped when it
    is found there."""
    row = remote_task_locked(pk)
    if row is None or row.is_over:
        return
    row.is_left, row.cause = row.state != RemoteState.NEW, cause
    state_set(row, RemoteState.LOST, actor=actor)


@service(recorded=False)
def remote_task_gone(*, actor: Actor, pk: int) -> None:
    """The centre surely has nothing more of a task that is over."""
    RemoteTask.objects.filter(pk=pk, is_left=True).update(is_left=False)


def is_news(row: RemoteTask, seen: JobSeen) -> bool:
    """Whether a report says anything else than what is kept; asks nothing of the database."""
    kept = (row.state, row.native_id, row.native_state, row.cause, row.ended_at, row.exit_code)
    said = (
        _state_of(row, seen),
        line(seen.native_id, TEXT_BYTES),
        line(seen.native_state, TEXT_BYTES),
        _cause_of(seen),
        seen.ended_at,
        seen.exit_code,
    )
    return kept != said or (seen.started_at or row.started_at) != row.started_at or row.is_over


def _cause_of(seen: JobSeen) -> str:
    """What a report says of why a job stands so; that its key was used twice there comes last, and is never cut off."""
    further = _further(seen)
    message = line(seen.message, ERROR_MOST - len(further) - 1 if further else ERROR_MOST)
    return f"{message} {further}".strip()


def _further(seen: JobSeen) -> str:
    """That a centre has more than one job of a key; "" where it has one, as it should."""
    if not seen.others:
        return ""
    told = ", ".join(line(str(each), _OTHER_LENGTH) for each in seen.others[:_OTHERS_MOST])
    more = len(seen.others) - _OTHERS_MOST
    return FURTHER.format(others=f"{told} (+{more})" if more > 0 else told)


def _state_of(row: RemoteTask, seen: JobSeen) -> RemoteState:
    """Where a report takes a task: never back, and nowhere by a word that nobody knows."""
    was = RemoteState(row.state)
    if seen.state in OVER:
        return RemoteState(seen.state.value)
    said = RemoteState.WAITING if seen.state == JobState.UNKNOWN else RemoteState(seen.state.value)
    return said if _RANKS.get(said, 0) > _RANKS.get(was, 0) else was


def _fault(row: RemoteTask, seen: JobSeen, now: datetime) -> str:
    """Why a report cannot be true; "" where it can."""
    native_id = line(seen.native_id, TEXT_BYTES)
    if seen.key != row.key:
        return f"it is of the key {line(seen.key, TEXT_BYTES)}"
    if not native_id:
        return "it has no number"
    if row.state == RemoteState.NEW or row.sent_at is None:
        return "it was never sent"
    if row.native_id and native_id != row.native_id:
        return f"it was {row.native_id} and is {native_id} now"
    for moment in (seen.started_at, seen.ended_at):
        if moment is not None and (moment.tzinfo is None or moment > now + AHEAD):
            return "its times are of the future"
    if seen.started_at and seen.ended_at and seen.ended_at < seen.started_at:
        return "it ended before it began"
    code = seen.exit_code
    if code is not None and (
        isinstance(code, bool) or not isinstance(code, int) or abs(code) > _EXIT_CODE_MOST
    ):
        return "its exit code is none"
    return ""
