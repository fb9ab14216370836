"""Choosing the devices: for each shape the places that may still have room, and the policy's order over them.

A place found full is struck off the shape's mask and comes back only when something there is freed, so the price
of a placement does not grow with the pool. What is chosen depends on the pool's state alone, never on which
places were struck off before: a pool kept warm gives the same answer as one built anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from apps.scheduling.engine.model.types import Grant, Placing, Typical
from apps.scheduling.engine.placement.assignment import FILLING, fill, smallest
from apps.scheduling.engine.placement.fit import FREE_VIEW, Area, Fit, View, binding, room, server_room
from apps.scheduling.engine.placement.fragmentation import Packing, serves
from apps.scheduling.engine.placement.rng import Draw
from apps.scheduling.engine.placement.topology import near
from apps.scheduling.engine.resources.pool import Card, Pool, Server
from apps.scheduling.engine.resources.shapes import Shape

BY_DEVICE = FILLING | {Placing.DEVICE_BALANCED}
COMPACT = FILLING | {Placing.NODE_COMPACT}
DRAWS = 8
MUCH = 512
"""So many cards freed: all places are looked at anew."""
MOST_FREED = 100_000
MOST_LINES = 10_000
"""What is remembered between cycles is bounded: beyond that it is found out anew."""
MORE_THAN_FULL = 1 << 62


class Candidates:
    """The places that may have room for one shape in one view. `maybe`: cards for a single share placed by
    device, servers that take the whole request otherwise; `some`: servers with room for a share at least."""

    __slots__ = (
        "_area", "_base", "_by_card", "_first", "_floor", "_pool", "_read", "_shape", "_simple", "_single",
        "_view", "maybe", "some",
    )  # fmt: skip

    def __init__(self, pool: Pool, shape: Shape, view: View, area: Area, base: Candidates | None) -> None:
        self._base = base
        """The line of the same shape without claims: what is full there is full here."""
        self._single: Card | None = None
        self._pool = pool
        self._shape = shape
        self._view = view
        self._area = area
        self._simple = shape.is_simple
        self._first = None if shape.first_node_id is None else pool.servers.get(shape.first_node_id)
        self._by_card = shape.shares == 1 and shape.placing in BY_DEVICE
        self.maybe = self.some = 0
        self._floor = 0
        """No server that may have room is used less."""
        self._read = 0
        self.reset()

    def reset(self) -> None:
        """Any place may have room again."""
        area = self._area
        self._floor = 0
        self._read = len(self._pool.freed)
        self.maybe = area.usable if self._by_card else area.servers
        self.some = area.servers
        if self._base is not None:
            self._base.hear()
            self.maybe, self.some = self._base.maybe, self._base.some

    def pick(self, draw: Draw) -> list[Card] | None:
        """Cards for all shares, one entry a share; None when they do not fit now."""
        if self._read != len(self._pool.freed):
            self.hear()
        if self._by_card:
            card = self._best_card(self._has_room)
            return None if card is None else [card]
        server = self._best_server(draw) if self.maybe else None
        if self._shape.shares == 1:
            return None if server is None or self._single is None else [self._single]
        if server is not None:
            return self._fill([server])
        return None if self._shape.single_node else self._span(draw)

    def _has_room(self, card: Card) -> bool:
        if room(card, self._shape, self._view):
            return True
        self._strike(card.bit)
        return False

    def pick_smallest(self) -> list[Card] | None:
        """The cards that fit with the least memory in all, for whole cards under a tight quota."""
        self.hear()
        servers = self._pool.servers_in(self.some)
        return smallest(((server, self._fitting(server)) for server in servers), self._shape)

    def hear(self) -> None:
        """What was freed since may have room again; what is no longer usable has none: a device or node whose row
        is another counts as freed."""
        freed, area = self._pool.freed, self._area
        if self._read == len(freed):
            return
        self.maybe &= area.usable if self._by_card else area.servers
        self.some &= area.servers
        if len(freed) - self._read > MUCH:
            self.reset()
            return
        for card in freed[self._read :]:
            server = card.server
            self.some |= server.bit & area.servers
            self.maybe |= card.bit & area.usable if self._by_card else server.bit & area.servers
            if self._floor:
                self._floor = min(self._floor, server.use)
        self._read = len(freed)

    def _fitting(self, server: Server) -> list[Card]:
        return [card for card in self._area.on_server[server.at] if room(card, self._shape, self._view)]

    def _takes_all(self, server: Server) -> bool:
        shape = self._shape
        cards = self._area.on_server[server.at]
        if shape.shares > 1:
            return server_room(cards, server, shape, self._view, shape.shares) >= shape.shares
        self._single = self._best_on(cards)
        return self._single is not None

    def _best_on(self, cards: list[Card]) -> Card | None:
        """Of one server, the least used card that takes a single share."""
        shape, simple = self._shape, self._simple
        percent, mib = shape.compute_percent, shape.memory_mib
        best, least = None, MORE_THAN_FULL
        for card in cards:
            if (
                card.use < least
                and card.free_percent >= percent
                and card.free_mib >= mib
                and ((simple and not card.claims and not card.sizes) or room(card, shape, self._view))
            ):
                best, least = card, card.use
        return best

    def _best_server(self, draw: Draw) -> Server | None:
        shape = self._shape
        first = self._first
        if first is not None and first.bit & self.maybe and self._takes_all(first):
            return first
        if shape.placing is Placing.SPREAD:
            return self._drawn(draw)
        if shape.placing in BY_DEVICE:
            card = self._best_card(lambda card: self._check(card.server))
            return None if card is None else card.server
        return self._by_use()

    def _check(self, server: Server) -> bool:
        """Whether the server takes all; struck off where it does not."""
        if not server.bit & self.maybe:
            return False
        if self._takes_all(server):
            return True
        self._strike(server.bit)
        return False

    def _strike(self, bit: int) -> None:
        """The place has no room; nor has it without claims, where the line without claims finds so too."""
        self.maybe &= ~bit
        base = self._base
        if base is not None and base.maybe & bit:
            at = bit.bit_length() - 1
            if self._by_card:
                base._has_room(self._pool.at[at])
            else:
                base._check(self._pool.server_at[at])

    def _by_use(self) -> Server | None:
        if self._shape.placing not in COMPACT:
            return self._least_used()
        for level in self._pool.by_use.falling():
            server = self._first_of(level & self.maybe)
            if server is not None or not self.maybe:
                return server
        return None

    def _first_of(self, left: int) -> Server | None:
        """Of these, which may have room, the first that takes all; struck off where they do not."""
        at = self._pool.server_at
        while left:
            low = left & -left
            server = at[low.bit_length() - 1]
            if self._takes_all(server):
                return server
            self._strike(low)
            left ^= low
        return None

    def _least_used(self) -> Server | None:
        """Servers only fill up until something is freed, so that levels once found empty stay so."""
        by_use, masks = self._pool.by_use, self._pool.by_use.masks
        present = by_use.present >> self._floor << self._floor
        while present and self.maybe:
            low = present & -present
            level = low.bit_length() - 1
            left = masks[level] & self.maybe
            server = self._first_of(left) if left else None
            if server is not None:
                self._floor = level
                return server
            present ^= low
        return None

    def _best_card(self, suits: Callable[[Card], bool]) -> Card | None:
        by_free, at = self._pool.by_free, self._pool.at
        percent, usable = self._shape.compute_percent, self.maybe if self._by_card else self._area.usable
        compact = self._shape.placing in FILLING
        for level in by_free.rising(percent) if compact else by_free.falling(percent):
            left = level & usable
            while left:
                low = left & -left
                card = at[low.bit_length() - 1]
                if suits(card):
                    return card
                left ^= low
            if not self.maybe:
                break
        return None

    def _drawn(self, draw: Draw) -> Server | None:
        """A random server that fits: some draws, then the next one from the last draw on."""
        servers = self._pool.server_at
        count, at = len(servers), 0
        for _ in range(DRAWS):
            at = draw.below(count)
            if self._check(servers[at]):
                return servers[at]
        above = self.maybe >> at << at
        for part in (above, self.maybe ^ above):
            for server in self._pool.servers_in(part):
                if self._check(server):
                    return server
        return None

    def _fill(self, servers: list[Server]) -> list[Card]:
        """The shape's shares on these servers in turn; they are known to have the room together."""
        return fill(((server, self._fitting(server)) for server in servers), self._shape, self._view)

    def _span(self, draw: Draw) -> list[Card] | None:
        """Several servers, since no single one takes all: of one rack where one has the room."""
        shape, pool = self._shape, self._pool
        rooms: dict[Server, int] = {}
        for server in pool.servers_in(self.some):
            count = server_room(self._area.on_server[server.at], server, shape, self._view, shape.shares)
            if count:
                rooms[server] = count
            else:
                self.some ^= server.bit
        if sum(rooms.values()) < shape.shares:
            return None
        return self._fill(near(rooms, shape.shares, self._span_order(rooms, draw)))

    def _span_order(self, rooms: dict[Server, int], draw: Draw) -> dict[Server, int]:
        """The policy's order over the servers, the least first."""
        placing = self._shape.placing
        if placing is Placing.SPREAD:
            # Whether one server alone was drawn for before depends on what is remembered of those that are full.
            draw.again()
            left = list(rooms)
            dealt = [left.pop(draw.below(len(left))) for _ in range(len(left))]
            return {server: i for i, server in enumerate(dealt)}
        sign = -1 if placing in COMPACT else 1
        return {server: sign * server.use for server in rooms}


class Placer:
    """Finds devices for shapes in one pool and takes them."""

    def __init__(self, pool: Pool, fit: Fit, seed: int = 0, mix: tuple[Typical, ...] = ()) -> None:
        self._pool = pool
        self._fit = fit
        self._seed = seed
        self._draw = Draw()
        self._free: dict[Shape, Candidates] = {}
        self._beside: dict[tuple[Shape, View], Candidates] = {}
        """The candidates of a shape beside the claims of this cycle, by shape and view."""
        self._starts: list[int] = []
        self._mix = mix
        self._packing: Packing | None = None

    def begin(self, seed: int) -> None:
        """A new cycle: other draws, and no claims but those that are made from now on."""
        self._seed = seed
        self._starts = []
        self._beside.clear()
        for shape in [shape for shape in self._free if shape.is_picky]:
            del self._free[shape]
        if len(self._pool.freed) > MOST_FREED or len(self._free) > MOST_LINES:
            self._free.clear()
            self._pool.freed.clear()

    def remix(self, mix: tuple[Typical, ...]) -> None:
        """Other work arrived lately than before."""
        self._mix = mix
        self._packing = None

    def claim_from(self, start_s: int) -> None:
        """Some card got a claim that begins then."""
        at = bisect_left(self._starts, start_s)
        if self._starts[at : at + 1] != [start_s]:
            self._starts.insert(at, start_s)

    @property
    def has_claims(self) -> bool:
        """Whether some card has a claim in this cycle."""
        return bool(self._starts)

    def view(self, ends_at_s: int | None, rights: frozenset[str] = frozenset()) -> View:
        """What binds work that ends then; None: nobody knows when."""
        if not self._starts:
            return FREE_VIEW
        at = len(self._starts) if ends_at_s is None else bisect_left(self._starts, ends_at_s)
        return View(self._starts[at - 1], rights) if at else FREE_VIEW

    def find(self, shape: Shape, view: View, seq: int) -> list[Card] | None:
        """Devices for all of the shape's shares, nothing taken; None where they do not fit."""
        if shape.placing is Placing.FRAGMENTATION and serves(shape):
            if self._packing is None:
                self._packing = Packing(self._pool, self._fit, self._mix)
            cards = self._packing.pick(shape, lambda card: not card.sizes and room(card, shape, view) > 0)
            # What it reckons with is percent and MiB: cards that give few sizes are filled one after the other.
            if cards is not None or not self._fit.has_sizes:
                return cards
        if shape.placing is Placing.SPREAD:
            self._draw.begin(self._seed, seq)
        return self._line(shape, view).pick(self._draw)

    def take(self, shape: Shape, view: View, seq: int) -> tuple[Grant, ...] | None:
        """Take devices for all of the shape's shares; None, and nothing taken, when they do not fit."""
        return self._take(shape, view, self.find(shape, view, seq))

    def take_smallest(self, shape: Shape, view: View) -> tuple[Grant, ...] | None:
        """Take the smallest cards that fit for all shares of the shape; None, and nothing taken, where none do."""
        return self._take(shape, view, self._line(shape, view).pick_smallest())

    def undo(self, grants: tuple[Grant, ...], view: View) -> None:
        """Give back what was just taken."""
        for grant in grants:
            self._pool.give(grant)
            self._spare(grant, view, 1)

    def take_these(self, grants: tuple[Grant, ...], view: View) -> None:
        """Take exactly these."""
        for grant in grants:
            self._pool.take(grant)
            if self._starts:
                self._spare(grant, view, -1)

    def _line(self, shape: Shape, view: View) -> Candidates:
        if view is FREE_VIEW:
            line = self._free.get(shape)
            if line is None:
                area = self._fit.area(shape.constraint)
                line = self._free[shape] = Candidates(self._pool, shape, view, area, None)
            return line
        line = self._beside.get((shape, view))
        if line is None:
            area = self._fit.area(shape.constraint)
            base = None if shape.is_picky else self._line(shape, FREE_VIEW)
            line = self._beside[shape, view] = Candidates(self._pool, shape, view, area, base)
        return line

    def _take(self, shape: Shape, view: View, cards: list[Card] | None) -> tuple[Grant, ...] | None:
        if cards is None:
            return None
        if len(cards) == 1 and not self._starts:
            grant = grant_of(cards[0], shape)
            self._pool.take(grant)
            return (grant,)
        grants = tuple([grant_of(card, shape) for card in cards])
        self.take_these(grants, view)
        return grants

    def _spare(self, grant: Grant, view: View, sign: int) -> None:
        """What runs across a claim's start uses up what the claim spares."""
        card = self._pool.cards.get(grant.device_id)
        if card is None or not card.claims:
            return
        for i in binding(card, view):
            card.claims[i].spare_percent += sign * grant.compute_percent
            card.claims[i].spare_mib += sign * grant.memory_mib


def grant_of(card: Card, shape: Shape) -> Grant:
    """One share of the shape on the card."""
    mib = card.device.memory_mib if shape.exclusive else shape.memory_mib
    return Grant(
        card.device.id, card.server.node.id, shape.compute_percent, mib, shape.exclusive,
        shape.affinity, shape.anti_affinity, shape.host_cpu_milli, shape.host_memory_mib, shape.scratch_disk_mib,
        shape.alone, shape.max_on_device,
    )  # fmt: skip
