"""One server judged for one shape, for `packing`: what was found for an equal server is remembered.

Servers are equal where their cards are free alike, in whatever order, and as much of the host is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from apps.scheduling.engine.model.types import WHOLE_CARD_PERCENT
from apps.scheduling.engine.placement.fit import Area
from apps.scheduling.engine.placement.usable_room import Measure
from apps.scheduling.engine.resources.pool import Card, Pool, Server
from apps.scheduling.engine.resources.shapes import Shape

STEP_PERCENT = 2
NOWHERE = -(1 << 62)
MOST_STATES = 200_000
"""So many states of servers are known by number, and so many remembered for a shape; beyond that all are anew."""

State = tuple[int, int, int, int, tuple[tuple[int, int, bool], ...]]
"""Class of the server, CPU and memory left on its host; of each card percent and MiB free, and whether it is idle."""


class Found(NamedTuple):
    """The worth of a server, and which of its cards are best: percent and MiB free of each; none named is any."""

    worth: int
    best: frozenset[tuple[int, int]] = frozenset()


NONE = Found(NOWHERE)


class One:
    """Judges the servers of one pool one by one."""

    def __init__(self, pool: Pool, measure: Measure, of_class: Sequence[int]) -> None:
        self._pool = pool
        self._measure = measure
        self._of_class = of_class
        self._even = [_is_even(server) for server in pool.server_at]
        self._numbers: dict[State, int] = {}
        self._made = 0
        """No number is given twice."""
        self._state: list[tuple[int, int]] = [(-1, 0)] * len(pool.server_at)
        """Of each server the stamp and the number of its state then."""

    def judge(self, shape: Shape, area: Area, known: dict[int, Found], at: int) -> Found:
        """What the server is worth for the shape."""
        server = self._pool.server_at[at]
        on = area.on_server.get(at)
        if on is None:
            return NONE
        if not self._even[at] or len(on) != len(server.cards):
            return self._judge(shape, server, on)
        number = self._number(server)
        found = known.get(number)
        if found is None:
            if len(known) > MOST_STATES:
                known.clear()
            found = known[number] = self._judge(shape, server, on)
        return found

    def first(self, shape: Shape, area: Area, found: Found, at: int) -> Card:
        """The first of the server's best cards."""
        for card in _fitting(area.on_server[at], shape):
            if not found.best or (card.free_percent, card.free_mib) in found.best:
                return card
        raise AssertionError("No card of the server is as it was judged.")

    def _number(self, server: Server) -> int:
        at, stamp = server.at, self._pool.recent.get(server.at, 0)
        seen, number = self._state[at]
        if seen != stamp:
            cards = [(card.free_percent, card.free_mib, not card.holders) for card in server.cards]
            cards.sort()
            state = (self._of_class[at], *server.host_left(), tuple(cards))
            found = self._numbers.get(state)
            if found is None:
                if len(self._numbers) > MOST_STATES:
                    self._numbers.clear()
                self._made += 1
                found = self._numbers[state] = self._made
            number = found
            self._state[at] = (stamp, number)
        return number

    def _judge(self, shape: Shape, server: Server, on: list[Card]) -> Found:
        cpu, memory, disk = server.host_left()
        left = cpu - shape.host_cpu_milli * shape.shares
        fits = _fitting(on, shape)
        if (
            left < 0
            or memory < shape.host_memory_mib * shape.shares
            or disk < shape.scratch_disk_mib * shape.shares
            or len(fits) < shape.shares
        ):
            return NONE
        of_class = self._of_class[server.at]
        free = [_free(card, card.free_percent, card.free_mib) for card in server.cards]
        room = self._measure.of_one(free, cpu, of_class)

        def worth(chosen: list[Card]) -> int:
            """Of the shape on these cards, a share each: what it uses less what it takes from the usable room."""
            after = free.copy()
            for card in chosen:
                percent, mib = card.free_percent - shape.compute_percent, card.free_mib - shape.memory_mib
                after[card.column] = 0 if shape.exclusive else _free(card, percent, mib)
            taken = room - self._measure.of_one(after, left, of_class)
            total = self._measure.total
            return (shape.compute_percent * shape.shares * total - taken) // (STEP_PERCENT * total)

        if shape.shares > 1 or shape.exclusive or not shape.compute_percent:
            return Found(worth(fits[: shape.shares]))
        options: dict[tuple[int, int], Card] = {}
        for card in fits:
            options.setdefault((card.free_percent, card.free_mib), card)
        if len(options) == 1:
            return Found(worth(fits[:1]))
        worths = {each: worth([card]) for each, card in options.items()}
        most = max(worths.values())
        return Found(most, frozenset(each for each, found in worths.items() if found == most))


def _is_even(server: Server) -> bool:
    """Whether all its cards are of one capacity."""
    return len({(card.percent, card.mib) for card in server.cards}) == 1


def _fitting(cards: list[Card], shape: Shape) -> list[Card]:
    """Those that take a share of it."""
    percent, mib = shape.compute_percent, shape.memory_mib
    fits = [card for card in cards if card.free_percent >= percent and card.free_mib >= mib]
    return [card for card in fits if not card.holders] if shape.exclusive else fits


def _free(card: Card, percent: int, mib: int) -> int:
    """What is free of the card: the scarcer of compute and memory, in percent."""
    by_memory = mib * WHOLE_CARD_PERCENT // card.mib if card.mib else 0
    least = by_memory if by_memory < percent else percent
    return least if least > 0 else 0
