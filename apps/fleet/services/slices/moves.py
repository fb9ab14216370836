"""Sessions that move to another device while they run (POOL-12.23).

The target is a slice of its own, made with the session's key and a ticket. When its worker waits for the state the
source is told where to; when the client is there the source is stopped. Until then the source is the one that
counts: whatever becomes of the target, it goes on. Every step is one sync or one look of the sweep, under the locks
of both slices.
"""

import math
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.fleet.errors import MoveImpossible
from apps.fleet.events import SliceMoveBegun, SliceMoved, SliceMoveFailed
from apps.fleet.locks import slices_lock
from apps.fleet.migration_rules import move_why_not
from apps.fleet.models import Device, Node, Slice
from apps.fleet.services.slices.slice_lifecycle import device_share_take, slice_unwant
from apps.fleet.session_keys import key_new, seal
from apps.fleet.states import MOVING, Desired, MoveState, NodeState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.events import emit
from apps.kernel.service import service

# A move whose target does not come up, or whose state does not get across, is given up after these.
MOVE_LIMIT_S = 120
SENDING_LIMIT_S = 900
# What a worker reported of an earlier move is not taken for the present one.
_SETTLING = timedelta(seconds=2)
_MOVED = gettext_noop("It moved to another device.")
_TARGET_ENDED = gettext_noop("The target ended before the session was there.")
_SOURCE_ENDED = gettext_noop("The session ended before it had moved.")
_TARGET_LOST = gettext_noop("The target's node does not answer.")
_TOO_LONG = gettext_noop("The move took too long.")
_CANCELLED = gettext_noop("The move was called off.")


@service()
def slice_move_begin(*, actor: Actor, slice_uid: UUID | str, device_uid: str) -> Slice:
    """Begin to move a running session to another device; returns the slice made there, which holds its share from
    now on. Authority is the caller's.

    Raises MoveImpossible with a code of its own for each precondition that is not met, DeviceUnavailable when the
    device has no room.
    """
    rows = {str(row.uid): row for row in slices_lock(Q(uid=slice_uid) | Q(moves_from=slice_uid))}
    source = rows.pop(str(slice_uid), None)
    if source is None:
        raise NotFound(_("There is no such slice."))
    act_subject("slice", source.uid, device=device_uid)
    device = Device.objects.select_related("node", "group").filter(uid=device_uid, left_at=None).first()
    if device is None:
        raise NotFound(_("There is no device %(device)s.") % {"device": device_uid})
    if any(row.is_moving for row in rows.values()) or source.is_moving:
        raise MoveImpossible("already_moving", _("The session is on the move."))
    why = move_why_not(source, device)
    if why is not None:
        raise MoveImpossible(why.code, why.text)
    target = _target_make(actor, source, device)
    emit(
        SliceMoveBegun(
            workload_uid=str(source.workload_uid),
            source_uid=str(source.uid),
            target_uid=str(target.uid),
            device_uid=device_uid,
        ),
        actor=actor,
    )
    return target


def _target_make(actor: Actor, source: Slice, device: Device) -> Slice:
    share = (source.compute_percent, source.memory_mib, source.is_exclusive, source.group_code)
    device_share_take(actor, device.uid, *share)
    copied = (
        "tenant_id", "workload_uid", "compute_percent", "memory_mib", "is_exclusive", "kind", "group_code",
        "host_cpu_milli", "host_memory_mib", "scratch_disk_mib", "share", "attempt",
        "is_requeued", "work", "idle_timeout_s", "driver", "session_key",
    )  # fmt: skip
    return Slice.plain.create(
        **{name: getattr(source, name) for name in copied},
        device=device,
        node_id=device.node_id,
        run_timeout_s=_run_left_s(source),
        ticket=seal(key_new()),
        moves_from=source.uid,
        move_state=MoveState.WAITING,
        seat=source.seat or source.pk,
    )


def _run_left_s(source: Slice) -> int | None:
    if source.run_timeout_s is None or source.started_at is None:
        return source.run_timeout_s
    gone_s = (timezone.now() - source.started_at).total_seconds()
    return max(1, math.ceil(source.run_timeout_s - gone_s))


@service()
def slice_move_cancel(*, actor: Actor, slice_uid: UUID | str) -> Slice:
    """Call a move off, named by its source or its target; the session stays where it is. Authority is the
    caller's. Raises Conflict when it is not on the move, or its state is across already."""
    found = Slice.plain.filter(Q(uid=slice_uid) | Q(moves_from=slice_uid), move_state__in=MOVING).first()
    if found is None:
        raise Conflict(_("The session is not on the move."))
    source, target = pair_lock(found)
    act_subject("slice", source.uid)
    if not target.is_moving:
        raise Conflict(_("The session is not on the move."))
    if is_across(source, target, timezone.now()):
        raise Conflict(_("Its state is at the target already."), cure=_("Wait until it has moved."))
    move_fail(source, target, actor=actor, now=timezone.now(), reason=_CANCELLED)
    return source


def pair_lock(target: Slice) -> tuple[Slice, Slice]:
    """Source and target of a move, locked in the one order."""
    rows = {row.uid: row for row in slices_lock(Q(uid__in=[target.uid, target.moves_from]))}
    return rows[target.moves_from], rows[target.uid]


def move_follow(source: Slice, target: Slice, *, actor: Actor, now: datetime) -> None:
    """Take the next step of a move, by what both ends report; both rows are locked. Most times there is none."""
    if not target.is_moving:
        return
    across = is_across(source, target, now)
    problem = _problem(source, target, now)
    if target.session.get("move") == "done" or (
        across and (target.session.get("attached") or source.is_final)
    ):
        _finish(source, target, actor=actor, now=now)
    elif problem and not (across and problem in (_TARGET_LOST, _TOO_LONG)):
        move_fail(source, target, actor=actor, now=now, reason=problem)
    elif target.move_state == MoveState.WAITING and _is_listening(target):
        target.move_state, target.moved_at = MoveState.SENDING, now
        target.save(update_fields=["move_state", "moved_at", "updated_at"])
        _source_tell(source)


def _is_listening(target: Slice) -> bool:
    return bool(target.session.get("port") and target.session.get("fingerprint"))


def is_across(source: Slice, target: Slice, now: datetime) -> bool:
    """Whether the source says that its whole state is at the target: the client may be there already."""
    return _source_says(source, target, now) in ("sent", "done")


def _source_says(source: Slice, target: Slice, now: datetime) -> str:
    """What the source reports of this move; nothing of one before it."""
    if target.move_state != MoveState.SENDING or target.moved_at is None:
        return ""
    said = str(source.session.get("move", ""))
    is_settled = now - target.moved_at >= _SETTLING or said == "sent"
    return said if is_settled and source.session.get("generation", 0) >= source.generation else ""


def _problem(source: Slice, target: Slice, now: datetime) -> str:
    """Why the move cannot succeed any more; empty while it can."""
    if target.is_final or target.desired == Desired.STOPPED:
        return target.reason or _TARGET_ENDED
    if source.is_final or source.desired == Desired.STOPPED:
        return _SOURCE_ENDED
    if _source_says(source, target, now) == "failed":
        return str(source.session.get("move_reason") or _TARGET_ENDED)
    if target.session.get("move") == "failed":
        return str(target.session.get("move_reason") or _TARGET_ENDED)
    if target.node.state not in (NodeState.READY, NodeState.DRAINED):
        return _TARGET_LOST
    is_waiting = target.moved_at is None
    since, limit_s = (target.created_at, MOVE_LIMIT_S) if is_waiting else (target.moved_at, SENDING_LIMIT_S)
    return _TOO_LONG if now - since > timedelta(seconds=limit_s) else ""


def move_fail(source: Slice, target: Slice, *, actor: Actor, now: datetime, reason: str) -> None:
    """The session stays at its source, which is told to go on; the target is dropped."""
    target.move_state, target.move_reason, target.moved_at = MoveState.FAILED, reason[:500], now
    target.save(update_fields=["move_state", "move_reason", "moved_at", "updated_at"])
    if not source.is_final:
        _source_tell(source)
    if not target.is_final and target.desired == Desired.RUNNING:
        slice_unwant(target, actor=actor, now=now, reason=reason, reason_code="stopped")
    emit(
        SliceMoveFailed(
            workload_uid=str(source.workload_uid),
            source_uid=str(source.uid),
            target_uid=str(target.uid),
            reason=reason,
        ),
        actor=actor,
    )


def _source_tell(source: Slice) -> None:
    """A higher generation makes its node look again at where the session is to go."""
    source.generation += 1
    source.save(update_fields=["generation", "updated_at"])


def _finish(source: Slice, target: Slice, *, actor: Actor, now: datetime) -> None:
    """The session is at its target: from one instant on only that one is billed, and the source is stopped."""
    until = _second_ends_at(source, _by_clock_of(source.node, now))
    behind = _by_clock_of(target.node, now) - _by_clock_of(source.node, now)
    source.counted_until_at, target.counted_from_at = until, until + behind
    source.save(update_fields=["counted_until_at", "updated_at"])
    target.move_state, target.moved_at = MoveState.DONE, now
    target.save(update_fields=["move_state", "moved_at", "counted_from_at", "updated_at"])
    if not source.is_final and source.desired == Desired.RUNNING:
        slice_unwant(source, actor=actor, now=now, reason=_MOVED, reason_code="migrated")
    emit(
        SliceMoved(
            workload_uid=str(source.workload_uid),
            source_uid=str(source.uid),
            target_uid=str(target.uid),
            pause_ms=target.session.get("pause_ms") or source.session.get("pause_ms"),
        ),
        actor=actor,
    )


def _by_clock_of(node: Node, now: datetime) -> datetime:
    """Our instant as the node's clock shows it, after the correction that its times get anyway."""
    return now + timedelta(seconds=node.clock_offset_s - node.clock_shift_s)


def _second_ends_at(source: Slice, at: datetime) -> datetime:
    """The first end of one of the source's vouched seconds that is not before `at`: no second of it is cut."""
    if source.usage_until is None:
        return at
    left_s = math.ceil((at - source.usage_until).total_seconds())
    return source.usage_until + timedelta(seconds=max(left_s, 0))


def moves_sweep(*, actor: Actor, now: datetime) -> int:
    """Look after the moves whose nodes are silent, or that take too long; how many are open."""
    targets = list(Slice.plain.filter(move_state__in=MOVING).order_by("pk")[:500])
    for found in targets:
        source, target = pair_lock(found)
        move_follow(source, target, actor=actor, now=now)
    return len(targets)
