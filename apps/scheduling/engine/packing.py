"""Placing against fragmentation: each share goes where it takes the least from the work still to come.

For every kind of work that arrives (`mix`) a server has *usable room*: the free percent of the cards that its host
CPU still lets it fill with that kind. A placement costs what it takes from the usable room, averaged over the
kinds. A kind counts by how often it arrives; by how scarce its devices are, since work that may go to few
places must find room in just those; and by the inverse square of its size, since small work is what fills a rest.
Costs are compared in steps of `STEP_PERCENT` of a card: what differs by less is no better, and the first server is
taken, so that the last ones stay whole. All numbers are whole, so the same state gives the same choice anywhere.

The room of the pool is mirrored in arrays; only servers that changed since a shape last asked are judged again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from apps.scheduling.engine.fit import Area
from apps.scheduling.engine.mix import USUAL, Typical
from apps.scheduling.engine.pool import Card, Pool, Server
from apps.scheduling.engine.shapes import Constraint, Shape
from apps.scheduling.engine.types import WHOLE_CARD_PERCENT

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

STEP_PERCENT = 2
CPU_STEP_MILLI = 2000
PLENTY = 1 << 40
NOWHERE = -(1 << 62)


class Measure:
    """The usable room of servers, weighed over the kinds of a mix. `total` is the sum of the weights."""

    def __init__(
        self, mix: Sequence[Typical], cards_by_model: dict[str, int], classes: Sequence[frozenset[str]]
    ):
        kinds = _merged(mix or USUAL)
        weights = [_weight(kind, cards_by_model) for kind in kinds]
        self.total = max(1, sum(weights))
        self._sizes, self._size_of = np.unique([kind.compute_percent for kind in kinds], return_inverse=True)
        needs = [kind.host_cpu_milli * kind.shares or 1 for kind in kinds]
        self._needs, self._need_of = np.unique(np.array(needs, np.int64), return_inverse=True)
        self._gang = np.array([kind.shares for kind in kinds], np.int64)
        open_to = [[not kind.models or bool(kind.models & models) for kind in kinds] for models in classes]
        # A pool without cards has no classes; its table is empty, but as wide as any.
        table = np.array(open_to, np.int64).reshape(len(classes), len(kinds))
        self._weights = table * np.array(weights, np.int64)

    def usable(self, free: Ints, cpu: Ints, of_class: Ints) -> Ints:
        """Usable percent times weight of each row: free percent of its cards, CPU left, class of its server."""
        free = -np.sort(-free, axis=1)
        filled = np.zeros((len(free), free.shape[1] + 1), np.int64)
        np.cumsum(free, axis=1, out=filled[:, 1:])
        cards = (free[:, :, None] >= self._sizes).sum(axis=1)
        by_cpu = cpu[:, None] // self._needs
        copies = np.minimum(cards[:, self._size_of] // self._gang, by_cpu[:, self._need_of])
        room = np.take_along_axis(filled, copies * self._gang, axis=1)
        usable: Ints = np.einsum("rk,rk->r", room, self._weights[of_class])
        return usable


def _merged(kinds: Sequence[Typical]) -> tuple[Typical, ...]:
    """The kinds with their host CPU rounded up: what differs by less fills a server alike, and costs time."""
    counts: Counter[Typical] = Counter()
    for kind in kinds:
        rounded = -(-kind.host_cpu_milli // CPU_STEP_MILLI) * CPU_STEP_MILLI
        counts[replace(kind, host_cpu_milli=rounded, count=1)] += kind.count
    return tuple(replace(kind, count=count) for kind, count in counts.items())


def _weight(kind: Typical, cards_by_model: dict[str, int]) -> int:
    """How much a kind counts: often, picky and small count more."""
    every = sum(cards_by_model.values())
    open_to_it = sum(cards_by_model.get(model, 0) for model in kind.models) if kind.models else every
    if not open_to_it:
        return 0
    scarce = 16 * every // open_to_it
    return max(1, kind.count * scarce * WHOLE_CARD_PERCENT**2 // kind.compute_percent**2)


class Mirror:
    """The free room of a pool in arrays, a row a server, a column a card; `at` is when a row last changed."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        rows, columns = len(pool.server_at), max((len(server.cards) for server in pool.server_at), default=0)
        self.percent = np.zeros((rows, columns), np.int64)
        self.mib = np.zeros((rows, columns), np.int64)
        self.whole_mib = np.ones((rows, columns), np.int64)
        self.idle = np.zeros((rows, columns), np.bool_)
        self.cpu = np.full(rows, PLENTY, np.int64)
        self.memory = np.full(rows, PLENTY, np.int64)
        self.at = np.zeros(rows, np.int64)
        self.read = pool.stamp
        for server in pool.server_at:
            for column, card in enumerate(server.cards):
                self.whole_mib[server.at, column] = max(1, card.device.memory_capacity_mib)
            self._copy(server)

    def hear(self) -> None:
        """Copy what changed since."""
        pool = self._pool
        if self.read == pool.stamp:
            return
        for at in reversed(pool.recent):
            if pool.recent[at] <= self.read:
                break
            self._copy(pool.server_at[at])
            self.at[at] = pool.stamp
        self.read = pool.stamp

    def _copy(self, server: Server) -> None:
        at, cards, node = server.at, server.cards, server.node
        if cards:
            self.percent[at, : len(cards)] = [card.free_percent for card in cards]
            self.mib[at, : len(cards)] = [card.free_mib for card in cards]
            self.idle[at, : len(cards)] = [card.holders == 0 for card in cards]
        if node.host_cpu_milli is not None:
            self.cpu[at] = node.host_cpu_milli - server.host_cpu_milli
        if node.host_memory_mib is not None:
            self.memory[at] = node.host_memory_mib - server.host_memory_mib

    def free(self, rows: Ints) -> Ints:
        """What is free of each card: the scarcer of compute and memory, in percent."""
        least = np.minimum(self.percent[rows], self.mib[rows] * WHOLE_CARD_PERCENT // self.whole_mib[rows])
        return np.maximum(least, 0)


class Line:
    """What one shape found: the worth of each server (the more, the better) and the first card to take there."""

    __slots__ = ("card", "cards", "read", "usable", "worth")

    def __init__(self, rows: int) -> None:
        self.worth = np.full(rows, NOWHERE, np.int64)
        self.card = np.zeros(rows, np.int64)
        self.cards: Bools | None = None
        self.usable = 0
        self.read = -1


def serves(shape: Shape) -> bool:
    """Whether `Packing` answers for the shape: a single share, or whole cards that must lie on one node."""
    whole_gang = shape.single_node and shape.exclusive
    return not shape.is_picky and (shape.shares == 1 or whole_gang)


class Packing:
    """The choice of cards by `Placing.FRAGMENTATION`, over one pool and one mix."""

    def __init__(self, pool: Pool, mix: Sequence[Typical]) -> None:
        self._pool = pool
        self._mirror = Mirror(pool)
        self._column = [0] * len(pool.at)
        by_model: dict[str, int] = {}
        known: dict[frozenset[str], int] = {}
        of_class = []
        for server in pool.server_at:
            for column, card in enumerate(server.cards):
                self._column[card.at] = column
                by_model[card.device.model] = by_model.get(card.device.model, 0) + 1
            of_class.append(
                known.setdefault(frozenset(card.device.model for card in server.cards), len(known))
            )
        self._of_class = np.array(of_class, np.int64)
        self._measure = Measure(mix, by_model, list(known))
        self._lines: dict[Shape, Line] = {}
        self._areas: dict[Constraint, tuple[int, Bools]] = {}
        self._room = np.zeros(len(of_class), np.int64)
        """The usable room of each server as it is."""
        self._measured = -1

    def pick(self, shape: Shape, area: Area, room: Callable[[Card], int]) -> list[Card] | None:
        """The cards for all shares of a shape that it `serves`; None where no server takes them.

        `room` has the last word on a card: it knows of claims.
        """
        line = self._line(shape, area)
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

    def _line(self, shape: Shape, area: Area) -> Line:
        """The shape's line, brought up to now."""
        mirror = self._mirror
        mirror.hear()
        if self._measured != mirror.read:
            rows = np.nonzero(mirror.at > self._measured)[0]
            self._room[rows] = self._measure.usable(mirror.free(rows), mirror.cpu[rows], self._of_class[rows])
            self._measured = mirror.read
        line = self._lines.get(shape)
        if line is None:
            line = self._lines[shape] = Line(len(mirror.at))
        if line.cards is None or line.usable != area.usable:
            line.cards, line.usable, line.read = self._usable(area), area.usable, -1
        if line.read != mirror.read:
            self._judge(shape, line, np.nonzero(mirror.at > line.read)[0])
            line.read = mirror.read
        return line

    def _usable(self, area: Area) -> Bools:
        known = self._areas.get(area.constraint)
        if known is not None and known[0] == area.usable:
            return known[1]
        cards = np.zeros(self._mirror.idle.shape, np.bool_)
        for at, on_server in area.on_server.items():
            for card in on_server:
                cards[at, self._column[card.at]] = True
        self._areas[area.constraint] = (area.usable, cards)
        return cards

    def _judge(self, shape: Shape, line: Line, rows: Ints) -> None:
        mirror = self._mirror
        line.worth[rows] = NOWHERE
        host = (mirror.cpu[rows] >= shape.host_cpu_milli * shape.shares) & (
            mirror.memory[rows] >= shape.host_memory_mib * shape.shares
        )
        rows = rows[host]
        assert line.cards is not None
        fits = line.cards[rows] & (mirror.percent[rows] >= shape.compute_percent)
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
        taken = self._room[at] - self._measure.usable(free, cpu, self._of_class[at])
        total = self._measure.total
        worth = (shape.compute_percent * shape.shares * total - taken) // (STEP_PERCENT * total)
        order = np.lexsort((column, -worth, of_row))
        first = order[np.r_[True, np.diff(of_row[order]) > 0]]
        line.worth[rows] = worth[first]
        line.card[rows] = column[first]

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
            return [cards[line.card[at]]]
        assert line.cards is not None
        able = np.nonzero(line.cards[at] & self._mirror.idle[at])[0][: shape.shares]
        return [cards[column] for column in able]
