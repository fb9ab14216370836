"""Running work by what may be done with it: stopped, shrunk, moved; and what is leaving already."""

from __future__ import annotations

from apps.scheduling.engine.types import Grant, Running


class Roles:
    """The running work of each role by identity."""

    def __init__(self) -> None:
        self.leaving: dict[str, Running] = {}
        """Being stopped, shrunk or moved."""
        self.preemptible: dict[tuple[str, int], dict[str, Running]] = {}
        """By queue and priority."""
        self.elastic: dict[str, Running] = {}
        self.movable: dict[str, Running] = {}

    def note(self, work: Running, sign: int) -> None:
        """Put the work in (1) or take it out (-1)."""
        leaves, standing = bool(leaving_grants(work)), (work.queue_id, work.priority)
        places = [
            (self.leaving, leaves),
            (self.preemptible.setdefault(standing, {}), work.preemptible and not work.preempted),
            (self.elastic, work.min_shares is not None and not leaves),
            (self.movable, work.movable and not leaves and may_part(work)),
        ]
        for place, fits in places:
            if fits and sign > 0:
                place[work.id] = work
            else:
                place.pop(work.id, None)
        if not self.preemptible[standing]:
            del self.preemptible[standing]


def may_part(work: Running) -> bool:
    """Whether one share may go to another node while the others stay: not of those that were asked to be together."""
    asks = work.asks
    return asks is not None and asks.shares_per_replica == 1 and not (asks.single_node and asks.shares > 1)


def leaving_grants(work: Running) -> tuple[Grant, ...]:
    """What of the work's grants is leaving."""
    return tuple(grant for i, grant in enumerate(work.grants) if _leaves(work, i))


def counted_grants(work: Running, grants: tuple[Grant, ...]) -> tuple[Grant, ...]:
    """Grants of the work as the pool counts them: those of work that is being stopped are leaving."""
    return tuple(grant._replace(is_leaving=True) for grant in grants) if work.preempted else grants


def staying_grants(work: Running) -> tuple[Grant, ...]:
    """The others."""
    return tuple(grant for i, grant in enumerate(work.grants) if not _leaves(work, i))


def _leaves(work: Running, place: int) -> bool:
    shrunk = work.target_shares is not None and place >= work.target_shares
    return work.preempted or shrunk or place in work.moving
