"""Running work by what may be done with it: stopped, shrunk, moved; and what is leaving already."""

from __future__ import annotations

from apps.scheduling.engine.model.types import Grant, RunningWorkload


class RunningIndex:
    """The running work of each role by identity."""

    def __init__(self) -> None:
        self.leaving: dict[str, RunningWorkload] = {}
        """Being stopped, shrunk or moved."""
        self.preemptible: dict[tuple[str, int], dict[str, RunningWorkload]] = {}
        """By queue and priority."""
        self.firm: dict[tuple[str, int], dict[str, RunningWorkload]] = {}
        """What gives way to nothing but the guarantee of another queue, by queue and priority."""
        self.elastic: dict[str, RunningWorkload] = {}
        self.movable: dict[str, RunningWorkload] = {}

    def note(self, work: RunningWorkload, sign: int) -> None:
        """Put the work in (1) or take it out (-1)."""
        leaves, standing = bool(leaving_grants(work)), (work.queue_id, work.priority)
        by_queue = self.preemptible if work.preemptible else self.firm
        places = [
            (self.leaving, leaves),
            (by_queue.setdefault(standing, {}), not work.preempted),
            (self.elastic, work.min_shares is not None and not leaves),
            (self.movable, work.movable and not leaves and is_separable(work)),
        ]
        for place, fits in places:
            if fits and sign > 0:
                place[work.id] = work
            else:
                place.pop(work.id, None)
        if not by_queue[standing]:
            del by_queue[standing]


def is_separable(work: RunningWorkload) -> bool:
    """Whether one share may go to another node while the others stay: not of those that were asked to be together."""
    asks = work.asks
    return asks is not None and asks.shares_per_replica == 1 and not (asks.single_node and asks.shares > 1)


def leaving_grants(work: RunningWorkload) -> tuple[Grant, ...]:
    """What of the work's grants is leaving."""
    return tuple(grant for i, grant in enumerate(work.grants) if _leaves(work, i))


def counted_grants(work: RunningWorkload, grants: tuple[Grant, ...]) -> tuple[Grant, ...]:
    """Grants of the work as the pool counts them: those of work that is being stopped are leaving."""
    return tuple(grant._replace(is_leaving=True) for grant in grants) if work.preempted else grants


def staying_grants(work: RunningWorkload) -> tuple[Grant, ...]:
    """The others."""
    return tuple(grant for i, grant in enumerate(work.grants) if not _leaves(work, i))


def _leaves(work: RunningWorkload, place: int) -> bool:
    shrunk = work.target_shares is not None and place >= work.target_shares
    return work.preempted or shrunk or place in work.moving
