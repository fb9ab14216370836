"""Whether a request may start at this moment at all, the pool left aside: queue, tenant, deadline, windows."""

from __future__ import annotations

from collections.abc import Mapping

from apps.scheduling.engine.model.types import (
    Queue,
    QueueState,
    Reason,
    ReasonCode,
    Request,
    Reservation,
    Window,
)

NO_MORE_WINDOW = -1
STARTING = frozenset({QueueState.UP, QueueState.DRAIN})
"""The states in which a queue's waiting work is started (PLAT-CLU-63 to -66)."""


def admits(queue: Queue, tenant_id: str) -> bool:
    """Whether the queue is open to the tenant."""
    return queue.tenants is None or tenant_id in queue.tenants


def barred(request: Request, queue: Queue, now: int) -> Reason | None:
    """What keeps it from starting now: the queue's state, the tenant, its deadline, its or its queue's windows."""
    if queue.state not in STARTING:
        return Reason(ReasonCode.QUEUE_NOT_UP, (("queue", queue.id), ("state", queue.state.value)))
    if not admits(queue, request.tenant_id):
        return Reason(ReasonCode.TENANT_NOT_ADMITTED, (("queue", queue.id), ("tenant", request.tenant_id)))
    late = late_by(request, now)
    if late > 0:
        return Reason(ReasonCode.DEADLINE_PAST, (("late_s", late),))
    if request.earliest_start_s is not None and request.earliest_start_s > now:
        return Reason(ReasonCode.TOO_EARLY, (("wait_s", request.earliest_start_s - now),))
    if queue.windows or request.windows:
        return _outside(request, queue, now)
    return None


def late_by(request: Request, now: int) -> int:
    """By how many seconds a start now, or at its own earliest, is too late for the deadline; 0 or less is not."""
    if request.deadline_s is None:
        return 0
    return max(now, request.earliest_start_s or now) + (request.duration_s or 0) - request.deadline_s


def _outside(request: Request, queue: Queue, now: int) -> Reason | None:
    for windows in (queue.windows, request.windows):
        wait = next_start(windows, request.duration_s, now) if windows else 0
        if wait == NO_MORE_WINDOW:
            return Reason(ReasonCode.WINDOWS_OVER)
        if wait:
            return Reason(ReasonCode.OUTSIDE_WINDOW, (("wait_s", wait),))
    return None


def next_start(windows: tuple[Window, ...], duration_s: int | None, now: int) -> int:
    """Seconds until such work may start in one of the windows; 0 is now, NO_MORE_WINDOW never."""
    waits = [
        max(0, window.from_s - now)
        for window in windows
        if window.to_s > now and max(now, window.from_s) + (duration_s or 0) <= window.to_s
    ]
    return min(waits, default=NO_MORE_WINDOW)


def reserved(request: Request, reservations: Mapping[str, Reservation], now: int) -> Reason | None:
    """Why the reservation that the request names does not take it now; None when it does, or none is named."""
    if request.reservation_id is None:
        return None
    params = (("reservation", request.reservation_id),)
    found = reservations.get(request.reservation_id)
    if found is None or not has_right(found, request):
        return Reason(ReasonCode.RESERVATION_UNKNOWN, params)
    ends = now + (request.duration_s or 0)
    if found.from_s <= now and ends <= found.to_s:
        return None
    return Reason(ReasonCode.RESERVATION_CLOSED, (*params, ("wait_s", max(0, found.from_s - now))))


def has_right(reservation: Reservation, request: Request) -> bool:
    """Whether the request may use what is reserved: it is the holder's, or names an open reservation."""
    if reservation.closed:
        return False
    named = request.reservation_id == reservation.id
    holder = reservation.tenant_id is not None or reservation.queue_id is not None
    mine = reservation.tenant_id in (None, request.tenant_id) and reservation.queue_id in (
        None,
        request.queue_id,
    )
    return mine and (holder or named)
