"""How slices end: the hold goes back at once, `SliceEnded` is told when all their usage has come.

Internal to the app's services: every caller has locked the rows it passes.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from apps.fleet.events import SliceEnded, SliceLost, SliceShrunk
from apps.fleet.models import Slice
from apps.fleet.services.device_capacity import holds_release
from apps.fleet.states import FINAL, MoveState, SliceKind, SliceState
from apps.kernel.actor import Actor
from apps.kernel.events import emit

# What was measured of it last, and is told no more once it has ended.
USE_FIELDS = ("delivered_percent", "memory_used_mib", "host_cpu_used_milli", "host_memory_used_mib")
END_FIELDS = [
    "state",
    "reason_code",
    "reason",
    "ended_at",
    "final_at",
    "closed_at",
    *USE_FIELDS,
]
FAILED = frozenset({SliceState.FAILED, SliceState.LOST})


def slice_end(row: Slice, to: str, *, now: datetime, at: datetime, reason_code: str, reason: str) -> None:
    """Make a row final in memory. It ends neither before it began, or was wanted, nor in the future."""
    assert to in FINAL
    assert not row.is_final, "a slice ends once"
    row.state = to
    row.reason_code, row.reason = reason_code, reason[:500]
    row.ended_at = max(min(at, now), row.started_at or min(row.created_at, now))
    row.final_at = now
    for name in USE_FIELDS:
        setattr(row, name, None)


def slice_close(row: Slice, *, now: datetime, is_given_up: bool = False) -> bool:
    """Close a final row in memory once its usage is complete, or was waited for long enough; whether it was.

    The end never lies before what is vouched for: nothing of that is cut from the charge.
    """
    if not row.is_final or row.closed_at is not None:
        return False
    if row.usage_seq < row.usage_last_seq and not is_given_up:
        return False
    if row.usage_until is not None and row.ended_at is not None:
        row.ended_at = max(row.ended_at, row.usage_until)
    row.closed_at = now
    return True


def ended_tell(rows: Iterable[Slice], *, actor: Actor) -> None:
    """Tell of rows that were closed and saved in this transaction."""
    told = _in_order(rows)
    lives_on = _live_on(told)
    for row in told:
        assert row.ended_at is not None
        goes_on = row.uid in lives_on
        emit(
            SliceEnded(
                slice_uid=str(row.uid),
                workload_uid=str(row.workload_uid),
                at=row.ended_at,
                failed=row.state in FAILED,
                reason_code=row.reason_code,
                reason=row.reason,
                goes_on=goes_on,
                requeue=_is_tried_again(row) and not goes_on,
            ),
            actor=actor,
        )


def _in_order(rows: Iterable[Slice]) -> list[Slice]:
    """As workloads are locked everywhere by those who hear of their slices."""
    return sorted(rows, key=lambda row: (row.tenant_id, str(row.workload_uid), row.pk))


def slice_shrunk(row: Slice) -> SliceShrunk:
    """What is told of a slice that holds no more than its share from now on."""
    return SliceShrunk(slice_uid=str(row.uid), workload_uid=str(row.workload_uid))


def _live_on(rows: Sequence[Slice]) -> set[UUID]:
    """Of the sessions among them those whose share goes on elsewhere: moved away, or the target of a failed move."""
    sessions = {row.uid: row for row in rows if row.kind == SliceKind.SESSION}
    if not sessions:
        return set()
    moved = Slice.plain.filter(moves_from__in=sessions, move_state=MoveState.DONE)
    dropped = [
        row.moves_from for row in sessions.values() if row.moves_from and row.move_state != MoveState.DONE
    ]
    staying = set(Slice.plain.filter(uid__in=dropped, final_at=None).values_list("uid", flat=True))
    return set(moved.values_list("moves_from", flat=True)) | {
        row.uid for row in sessions.values() if row.moves_from in staying and row.move_state != MoveState.DONE
    }


def _is_tried_again(row: Slice) -> bool:
    return row.state == SliceState.LOST and row.is_requeued


def slices_end_now(
    rows: Sequence[Slice], to: str, *, actor: Actor, now: datetime, reason_code: str, reason: str
) -> None:
    """End rows of which nothing more will be heard: final, hold back, closed, told."""
    for row in rows:
        at = now if to == SliceState.RELEASED else row.usage_until or row.started_at or now
        slice_end(row, to, now=now, at=at, reason_code=reason_code, reason=reason)
        if to == SliceState.LOST:
            # Another slice may do its work by now: what this one still says of itself is never billed.
            row.counted_until_at = row.ended_at
        slice_close(row, now=now, is_given_up=True)
    if rows:
        Slice.plain.bulk_update(rows, [*END_FIELDS, "counted_until_at"])
        holds_release(rows)
        for row in _in_order(row for row in rows if row.holds_more):
            emit(slice_shrunk(row), actor=actor)
        if to == SliceState.LOST:
            _lost_tell(rows, actor=actor)
        ended_tell(rows, actor=actor)


def _lost_tell(rows: Sequence[Slice], *, actor: Actor) -> None:
    lives_on = _live_on(rows)
    for row in _in_order(rows):
        emit(
            SliceLost(
                slice_uid=str(row.uid),
                workload_uid=str(row.workload_uid),
                node_uid=row.node.uid,
                requeue=row.is_requeued and row.uid not in lives_on,
            ),
            actor=actor,
        )
