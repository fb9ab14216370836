"""Placing against fragmentation: each share goes where it takes the least from the work still to come.

For every kind of work that arrives (`mix`) a server has *usable room*: the free percent of the cards that its host
CPU still lets it fill with that kind. A placement costs what it takes from the usable room, averaged over the
kinds. A kind counts by how often it arrives; by how scarce its devices are, since work that may go to few
places must find room in just those; and by the inverse square of its size, since small work is what fills a rest.
Costs are compared in steps of `STEP_PERCENT` of a card: what differs by less is no better, and the first server is
taken, so that the last ones stay whole. All numbers are whole, so the same state gives the same choice anywhere.

Only servers that changed since a shape last asked are judged again: a few one by one, where what was found for an
equal server is remembered (`one`), many at once in arrays that mirror the room of the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from apps.scheduling.engine.model.types import WHOLE_CARD_PERCENT, Typical
from apps.scheduling.engine.placement.fit import Area, Fit
from apps.scheduling.engine.placement.single_server import NOWHERE, STEP_PERCENT, Found, One
from apps.scheduling.engine.placement.usable_room import Ints, Measure
from apps.scheduling.engine.resources.pool import Card, Pool
from apps.scheduling.engine.resources.shapes import Constraint, Shape

Bools = npt.NDArray[np.bool_]

FEW = 24
"""So many changed servers are judged one by one: above that the arrays are faster."""


class Mirror:
    """The free room of a pool in arrays, a row a server, a column a card, and the usable room of each server."""

    def __init__(self, pool: Pool, measure: Measure, of_class: Sequence[int]) -> None:
        self._pool = pool
        self._measure = measure
        self.of_class = np.array(of_class, np.int64)
        rows, columns = len(pool.server_at), max((len(server.cards) for server in pool.server_at), default=0)
        self.percent = np.zeros((rows, columns), np.int64)
        self.mib = np.zeros((rows, columns), np.int64)
        self.whole_mib = np.ones((rows, columns), np.int64)
        self.idle = np.zeros((rows, columns), np.bool_)
        self.cpu = np.zeros(rows, np.int64)
        self.memory = np.zeros(rows, np.int64)
        self.disk = np.zeros(rows, np.int64)
        self.room = np.zeros(rows, np.int64)
        """The usable room of each server as it is."""
        for server in pool.server_at:
            for column, card in enumerate(server.cards):
                self.whole_mib[server.at, column] = max(1, card.device.memory_capacity_mib)
        self._read = -1
        if rows:
            self._copy(range(rows))

    def hear(self) -> None:
        """Copy what changed since."""
        if self._read != self._pool.stamp:
            self._copy(list(self._pool.changed(self._read)))

    def _copy(self, places: Sequence[int]) -> None:
        for at in places:
            server = self._pool.server_at[at]
            if cards := server.cards:
                self.percent[at, : len(cards)] = [card.free_percent for card in cards]
                self.mib[at, : len(cards)] = [card.free_mib for card in cards]
                self.idle[at, : len(cards)] = [card.holders == 0 for card in cards]
            self.cpu[at], self.memory[at], self.disk[at] = server.host_left()
        rows = np.array(places, np.int64)
        self.room[rows] = self._measure.usable(self.free(rows), self.cpu[rows], self.of_class[rows])
        self._read = self._pool.stamp

    def free(self, rows: Ints) -> Ints:
        """What is free of each card: the scarcer of compute and memory, in percent."""
        least = np.minimum(self.percent[rows], self.mib[rows] * WHOLE_CARD_PERCENT // self.whole_mib[rows])
        return np.maximum(least, 0)


class Line:
    """What one shape found: the worth of each server (the more, the better) and the card to take there: the column
    of the first, or what `One` found."""

    __slots__ = ("area", "card", "found", "read", "usable", "worth")

    def __init__(self, rows: int, area: Area) -> None:
        self.worth = np.full(rows, NOWHERE, np.int64)
        self.card: list[int | Found] = [0] * rows
        self.area = area
        self.usable = area.usable
        self.read = -1
        self.found: dict[int, Found] = {}
        """By state of a server."""


def serves(shape: Shape) -> bool:
    """Whether `Packing` answers for the shape: a single share, or whole cards that must lie on one node."""
    whole_gang = shape.single_node and shape.exclusive
    return not shape.is_picky and (shape.shares == 1 or whole_gang)


class Packing:
    """The choice of cards by `Placing.FRAGMENTATION`, over one pool and one mix."""

    def __init__(self, pool: Pool, fit: Fit, mix: Sequence[Typical]) -> None:
        self._pool = pool
        self._fit = fit
        by_model: dict[str, int] = {}
        known: dict[frozenset[str], int] = {}
        of_class = []
        for server in pool.server_at:
            for card in server.cards:
                by_model[card.device.model] = by_model.get(card.device.model, 0) + 1
            of_class.append(
                known.setdefault(frozenset(card.device.model for card in server.cards), len(known))
            )
        self._measure = Measure(mix, by_model, list(known))
        self._mirror = Mirror(pool, self._measure, of_class)
        self._one = One(pool, self._measure, of_class)
        self._lines: dict[Shape, Line] = {}
        self._areas: dict[Constraint, tuple[int, Bools]] = {}

    def pick(self, shape: Shape, room: Callable[[Card], int]) -> list[Card] | None:
        """The cards for all shares of a shape that it `serves`; None where no server takes them.

        `room` has the last word on a card: it knows of claims.
        """
        line = self._line(shape)
        worth = line.worth
        while worth.size:
            at = int(worth.argmax())
            if worth[at] == NOWHERE:
                return None
            cards = self._cards(shape, line, at)
            if all(room(card) for card in cards):
                return cards
            worth = worth.copy() if worth is line.worth else worth
            worth[at] = NOWHERE
        return None

    def _line(self, shape: Shape) -> Line:
        """The shape's line, brought up to now."""
        pool = self._pool
        line = self._lines.get(shape)
        if line is None or line.usable != line.area.usable:
            line = self._lines[shape] = Line(len(pool.server_at), self._fit.area(shape.constraint))
            self._judge(shape, line, np.arange(len(pool.server_at)))
        elif line.read != pool.stamp:
            changed = list(pool.changed(line.read))
            if len(changed) > FEW:
                self._judge(shape, line, np.array(changed, np.int64))
            else:
                for at in changed:
                    line.card[at] = found = self._one.judge(shape, line.area, line.found, at)
                    line.worth[at] = found.worth
        line.read = pool.stamp
        return line

    def _usable(self, area: Area) -> Bools:
        known = self._areas.get(area.constraint)
        if known is not None and known[0] == area.usable:
            return known[1]
        cards = np.zeros(self._mirror.idle.shape, np.bool_)
        for at, on_server in area.on_server.items():
            for card in on_server:
                cards[at, card.column] = True
        self._areas[area.constraint] = (area.usable, cards)
        return cards

    def _judge(self, shape: Shape, line: Line, rows: Ints) -> None:
        """Judge these servers at once."""
        mirror = self._mirror
        mirror.hear()
        cards = self._usable(line.area)
        line.worth[rows] = NOWHERE
        host = (
            (mirror.cpu[rows] >= shape.host_cpu_milli * shape.shares)
            & (mirror.memory[rows] >= shape.host_memory_mib * shape.shares)
            & (mirror.disk[rows] >= shape.scratch_disk_mib * shape.shares)
        )
        rows = rows[host]
        fits = cards[rows] & (mirror.percent[rows] >= shape.compute_percent)
        fits &= mirror.mib[rows] >= shape.memory_mib
        if shape.exclusive:
            fits &= mirror.idle[rows]
        enough = fits.sum(axis=1) >= shape.shares
        rows, fits = rows[enough], fits[enough]
        if len(rows):
            self._weigh(shape, line, rows, fits)

    def _weigh(self, shape: Shape, line: Line, rows: Ints, fits: Bools) -> None:
        """The worth of these rows, all of which take the shape on some of the cards that fit."""
        options = self._options(shape, fits, self._mirror.percent[rows], self._mirror.mib[rows])
        of_row, column = options[:, 0], options[:, 1]
        at = rows[of_row]
        free = self._after(shape, at, column, fits[of_row])
        cpu = self._mirror.cpu[at] - shape.host_cpu_milli * shape.shares
        taken = self._mirror.room[at] - self._measure.usable(free, cpu, self._mirror.of_class[at])
        total = self._measure.total
        worth = (shape.compute_percent * shape.shares * total - taken) // (STEP_PERCENT * total)
        order = np.lexsort((column, -worth, of_row))
        first = order[np.r_[True, np.diff(of_row[order]) > 0]]
        line.worth[rows] = worth[first]
        for place, card in zip(rows.tolist(), column[first].tolist(), strict=True):
            line.card[place] = card

    def _options(self, shape: Shape, fits: Bools, percent: Ints, mib: Ints) -> Ints:
        """Pairs of row and first card. Cards equally free are one option; gangs and work without a device have one."""
        if shape.shares > 1 or shape.exclusive or not shape.compute_percent:
            return np.stack([np.arange(len(fits)), fits.argmax(axis=1)], axis=1)
        same = (percent[:, :, None] == percent[:, None, :]) & (mib[:, :, None] == mib[:, None, :])
        twin = (same & fits[:, None, :] & np.tri(fits.shape[1], k=-1, dtype=np.bool_)).any(axis=2)
        return np.argwhere(fits & ~twin)

    def _after(self, shape: Shape, rows: Ints, column: Ints, fits: Bools) -> Ints:
        """What would be free of each card with the shape placed."""
        mirror = self._mirror
        if shape.exclusive:
            free = mirror.free(rows)
            free[fits & (np.cumsum(fits, axis=1) <= shape.shares)] = 0
            return free
        percent, mib, every = mirror.percent[rows], mirror.mib[rows], np.arange(len(rows))
        percent[every, column] -= shape.compute_percent
        mib[every, column] -= shape.memory_mib
        return np.maximum(np.minimum(percent, mib * WHOLE_CARD_PERCENT // mirror.whole_mib[rows]), 0)

    def _cards(self, shape: Shape, line: Line, at: int) -> list[Card]:
        cards = self._pool.server_at[at].cards
        if shape.shares == 1:
            card = line.card[at]
            return [cards[card] if isinstance(card, int) else self._one.first(shape, line.area, card, at)]
        usable = line.area.usable
        return [card for card in cards if card.bit & usable and not card.holders][: shape.shares]
