"""Choosing the devices: one line of candidates per shape, best first.

Within a cycle devices only fill up. A server that has no room for a shape will have none later, so each is
dropped for good when it is first found full, and the price of a placement does not grow with the pool.
Whoever gives grants back (other than those just chosen) makes a new `Placer`.
"""

from __future__ import annotations

import heapq
from random import Random

from apps.scheduling.engine.fit import Constraint, Fit, Shape, room
from apps.scheduling.engine.pool import Card, Pool
from apps.scheduling.engine.types import Grant, Placing


class Ranking:
    """The cards that meet one constraint, by server, ranked by one policy when first asked for.

    All shapes of the constraint start from it. Use only rises, so a key may be too low by then: it is
    corrected when it comes up. Compact placing reads on from `read` for what has risen since.
    """

    def __init__(self, pool: Pool, cards: list[Card], placing: Placing) -> None:
        self.cards: dict[str, list[Card]] = {}
        for card in cards:
            self.cards.setdefault(card.server.node.id, []).append(card)
        self.read = len(pool.touched)
        self.order: list[tuple[int, str]] = []
        if placing is not Placing.SPREAD:
            self.order = sorted((_key(on_node, placing), node_id) for node_id, on_node in self.cards.items())


def _key(cards: list[Card], placing: Placing) -> int:
    """The less, the better."""
    if placing is Placing.DEVICE_BALANCED:
        return min((card.use for card in cards), default=0)
    if placing is Placing.DEVICE_COMPACT:
        return -max((card.use for card in cards), default=0)
    use = cards[0].server.use
    return -use if placing is Placing.NODE_COMPACT else use


BY_DEVICE = frozenset({Placing.DEVICE_BALANCED, Placing.DEVICE_COMPACT})
COMPACT = frozenset({Placing.NODE_COMPACT, Placing.DEVICE_COMPACT})


class Candidates:
    """The servers that may have room for one shape, in the order of its policy."""

    def __init__(self, pool: Pool, shape: Shape, ranking: Ranking) -> None:
        self._pool = pool
        self._shape = shape
        self._cards = ranking.cards
        self._ids = list(ranking.cards)
        self._heap = list(ranking.order)
        self._read = ranking.read
        self.exhausted = False
        """The shape fits nowhere, and will not in this cycle."""

    def pick(self, rng: Random) -> list[Card] | None:
        """Cards for all shares, one entry a share; None when they do not fit now."""
        if self.exhausted:
            return None
        node_id = self._local() or (
            self._draw(rng) if self._shape.placing is Placing.SPREAD else self._best()
        )
        if node_id is not None:
            return self._fill([node_id])
        chosen = None if self._shape.single_node or self._shape.shares == 1 else self._span(rng)
        self.exhausted = chosen is None
        return chosen

    def pick_smallest(self) -> list[Card] | None:
        """The cards that fit with the least memory in all, for whole cards under a tight quota."""
        lines = [self._fitting(node_id) for node_id in self._cards]
        if not self._shape.single_node:
            lines = [[card for line in lines for card in line]]
        for line in lines:
            line.sort(key=lambda card: (card.device.memory_mib, card.device.id))
        enough = [line[: self._shape.shares] for line in lines if len(line) >= self._shape.shares]
        return min(enough, key=lambda line: sum(card.device.memory_mib for card in line), default=None)

    def _fitting(self, node_id: str) -> list[Card]:
        return [card for card in self._cards[node_id] if room(card, self._shape)]

    def _room(self, node_id: str) -> int:
        return sum(room(card, self._shape) for card in self._cards[node_id])

    def _takes_all(self, node_id: str) -> bool:
        wanted = self._shape.shares
        for card in self._cards[node_id]:
            wanted -= room(card, self._shape)
            if wanted <= 0:
                return True
        return False

    def _local(self) -> str | None:
        """The node that LOCAL_FIRST tries first, while it takes the whole request."""
        node_id = self._shape.first_node_id
        return node_id if node_id in self._cards and self._takes_all(node_id) else None

    def _draw(self, rng: Random) -> str | None:
        ids = self._ids
        while ids:
            at = rng.randrange(len(ids))
            if self._takes_all(ids[at]):
                return ids[at]
            ids[at] = ids[-1]
            ids.pop()
        return None

    def _best(self) -> str | None:
        heap = self._heap
        if self._shape.placing in COMPACT:
            self._refresh()
        while heap:
            key, node_id = heap[0]
            if not self._takes_all(node_id):
                heapq.heappop(heap)
            elif (now := self._key(node_id)) != key:  # never below it, so what comes up first is the best
                heapq.heapreplace(heap, (now, node_id))
            else:
                return node_id
        return None

    def _refresh(self) -> None:
        """Compact placing prefers what has filled up since: such servers rise, and a stale entry hides it."""
        touched = self._pool.touched
        for server in set(touched[self._read :]):
            if server.node.id in self._cards:
                heapq.heappush(self._heap, (self._key(server.node.id), server.node.id))
        self._read = len(touched)

    def _key(self, node_id: str) -> int:
        placing = self._shape.placing
        return _key(self._fitting(node_id) if placing in BY_DEVICE else self._cards[node_id], placing)

    def _fill(self, node_ids: list[str]) -> list[Card]:
        """The shape's shares on these servers in turn; they are known to have the room together."""
        chosen: list[Card] = []
        for node_id in node_ids:
            left = {card: room(card, self._shape) for card in self._fitting(node_id)}
            taken = dict.fromkeys(left, 0)
            while left and len(chosen) < self._shape.shares:
                card = self._card(taken)
                chosen.append(card)
                taken[card] += 1
                left[card] -= 1
                if not left[card]:
                    del left[card], taken[card]
        return chosen

    def _card(self, taken: dict[Card, int]) -> Card:
        """The fullest card where devices are to be filled, else the emptiest; shares just chosen count as use."""

        def use(card: Card) -> int:
            more = taken[card]
            return card.use_with(more * self._shape.compute_percent, more * self._shape.memory_mib)

        return (max if self._shape.placing is Placing.DEVICE_COMPACT else min)(taken, key=use)

    def _span(self, rng: Random) -> list[Card] | None:
        """Several servers, since no single one takes all."""
        rooms = {node_id: self._room(node_id) for node_id in self._cards}
        if sum(rooms.values()) < self._shape.shares:
            return None
        able = [node_id for node_id, shares in rooms.items() if shares]
        if self._shape.placing is Placing.SPREAD:
            rng.shuffle(able)
        else:
            able.sort(key=self._key)
        return self._fill(able)


class Placer:
    """Finds devices for shapes in one pool and takes them."""

    def __init__(self, pool: Pool, fit: Fit, rng: Random) -> None:
        self._pool = pool
        self._fit = fit
        self._rng = rng
        self._candidates: dict[Shape, Candidates] = {}
        self._rankings: dict[tuple[Constraint, Placing], Ranking] = {}

    def take(self, shape: Shape) -> tuple[Grant, ...] | None:
        """Take devices for all of the shape's shares; None, and nothing taken, when they do not fit."""
        return self._take(shape, self._line(shape).pick(self._rng))

    def take_smallest(self, shape: Shape) -> tuple[Grant, ...] | None:
        """The same with the smallest cards that fit."""
        return self._take(shape, self._line(shape).pick_smallest())

    def undo(self, grants: tuple[Grant, ...]) -> None:
        """Give back what was just taken."""
        for grant in grants:
            self._pool.give(grant)

    def _line(self, shape: Shape) -> Candidates:
        line = self._candidates.get(shape)
        if line is None:
            line = self._candidates[shape] = Candidates(self._pool, shape, self._ranking(shape))
        return line

    def _ranking(self, shape: Shape) -> Ranking:
        key = (shape.constraint, shape.placing)
        if key not in self._rankings:
            self._rankings[key] = Ranking(self._pool, self._fit.usable(shape.constraint), shape.placing)
        return self._rankings[key]

    def _take(self, shape: Shape, cards: list[Card] | None) -> tuple[Grant, ...] | None:
        if cards is None:
            return None
        grants = tuple(_grant(card, shape) for card in cards)
        for grant in grants:
            self._pool.take(grant)
        return grants


def _grant(card: Card, shape: Shape) -> Grant:
    mib = card.device.memory_mib if shape.exclusive else shape.memory_mib
    return Grant(
        card.device.id, card.server.node.id, shape.compute_percent, mib, shape.exclusive,
        shape.affinity, shape.anti_affinity,
    )  # fmt: skip
