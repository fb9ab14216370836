"""Which devices suit a request, how many of its shares each takes, and the reason where none does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from apps.scheduling.engine.model.types import Feasibility, Param, Reason, ReasonCode
from apps.scheduling.engine.placement.colocation import FREE_VIEW as FREE_VIEW
from apps.scheduling.engine.placement.colocation import View as View
from apps.scheduling.engine.placement.colocation import binding as binding
from apps.scheduling.engine.placement.colocation import host_room, room_among, why_parted
from apps.scheduling.engine.placement.shortfall import short, short_of_room, together
from apps.scheduling.engine.placement.slice_sizes import left_of, most_of, why_no_size
from apps.scheduling.engine.resources.pool import Card, Pool, Server
from apps.scheduling.engine.resources.shapes import Constraint, Shape


def room(card: Card, shape: Shape, view: View = FREE_VIEW) -> int:
    """How many of the shape's shares the card takes now."""
    if (shape.affinity or shape.anti_affinity) and not (
        card.joins(shape.affinity) and card.tolerates(shape.affinity, shape.anti_affinity)
    ):
        return 0
    count = _room(card, shape, card.free_percent, card.free_mib, card.holders == 0)
    if count and card.sizes and shape.compute_percent:
        count = min(count, left_of(card, shape.compute_percent, shape.memory_mib))
    if count and card.claims:
        count = _room_beside(card, shape, view, count)
    if count and (shape.alone or shape.max_on_device or card.bounds):
        count = room_among(card, shape, view, count)
    if count and shape.is_of_host:
        count = host_room(card.server, shape, count)
    return count


def _room_beside(card: Card, shape: Shape, view: View, count: int) -> int:
    for i in binding(card, view):
        # Where whoever the card is kept for could not lie beside it, or not any more.
        if shape.exclusive or shape.alone or shape.max_on_device or card.sizes:
            return 0
        claim = card.claims[i]
        count = min(count, _room(card, shape, claim.spare_percent, claim.spare_mib, False))
    return count


def room_when_empty(card: Card, shape: Shape) -> int:
    """How many of the shape's shares the card would take if nothing ran on it."""
    count = _room(card, shape, card.device.compute_capacity_percent, card.device.memory_capacity_mib, True)
    if card.sizes and shape.compute_percent:
        count = min(count, most_of(card, shape.compute_percent, shape.memory_mib))
    return min(count, shape.max_on_device) if shape.max_on_device else count


def _room(card: Card, shape: Shape, free_percent: int, free_mib: int, idle: bool) -> int:
    least_mib = shape.memory_mib
    if shape.exclusive:
        if card.sizes or not idle or card.device.memory_mib < least_mib:
            return 0
        least_mib = card.device.memory_mib
    if free_percent < shape.compute_percent or free_mib < least_mib:
        return 0
    if shape.shares == 1 or shape.exclusive or shape.distinct_devices or shape.anti_affinity:
        return 1
    if not shape.compute_percent:
        return shape.shares  # its host alone bounds it
    by_percent = free_percent // shape.compute_percent
    return min(by_percent, free_mib // least_mib) if least_mib else by_percent


def server_room(cards: Iterable[Card], server: Server, shape: Shape, view: View, enough: int) -> int:
    """How many shares the cards of one server take together, in whole replicas; counting stops at `enough`."""
    count = 0
    for card in cards:
        count += room(card, shape, view)
        if count >= enough:
            break
    if shape.is_of_host:
        count = host_room(server, shape, count)
    count = min(count, enough)
    return count if shape.shares_per_replica == 1 else count - count % shape.shares_per_replica


Test = Callable[[Card, Constraint], bool]
WorkloadRequest = Callable[[Constraint], Param]


def _asked_labels(constraint: Constraint) -> Param:
    return ", ".join(f"{key}={value}" for key, value in sorted(constraint.labels))


# What people call what nodes have installed.
_PROGRAM_NAMES = {"vscode": "VS Code"}

# In this order: the first that leaves no device is the reason. What the request asks for comes before the
# state that devices are in, so that "no such model" is never told as "device unhealthy".
ASKED_FILTERS: tuple[tuple[ReasonCode, Test, WorkloadRequest], ...] = (
    (ReasonCode.DEVICE_PIN, lambda card, c: c.device_id in (None, card.device.id), lambda c: c.device_id),
    (
        ReasonCode.DEVICE_PIN,
        lambda card, c: c.device_ids is None or card.device.id in c.device_ids,
        lambda c: ", ".join(sorted(c.device_ids or ())),
    ),
    (ReasonCode.NODE_PIN, lambda card, c: c.node_id in (None, card.server.node.id), lambda c: c.node_id),
    (
        ReasonCode.RESOURCE_GROUP,
        lambda card, c: c.groups <= card.server.node.resource_groups | {card.device.resource_group},
        lambda c: ", ".join(sorted(c.groups)),
    ),
    (
        ReasonCode.GROUP_RESERVED,
        lambda card, c: card.device.resource_group is None or card.device.resource_group in c.groups,
        lambda c: None,
    ),
    (
        ReasonCode.LOCAL_NODE,
        lambda card, c: c.local_node_id in (None, card.server.node.id),
        lambda c: c.local_node_id,
    ),
    (ReasonCode.VENDOR, lambda card, c: c.vendor in (None, card.device.vendor), lambda c: c.vendor),
    (
        ReasonCode.MODEL,
        lambda card, c: not c.models or card.device.model in c.models,
        lambda c: ", ".join(sorted(c.models)),
    ),
    (
        ReasonCode.LABEL,
        lambda card, c: not c.labels or c.labels <= card.server.node.labels | card.device.labels,
        _asked_labels,
    ),
    (
        ReasonCode.STORAGE,
        lambda card, c: not c.storage or set(c.storage.split()) <= set(card.server.node.storage.split()),
        lambda c: None,
    ),
    (
        ReasonCode.CONTAINERS,
        lambda card, c: c.containers in ("", card.server.node.containers),
        lambda c: c.containers,
    ),
    (
        ReasonCode.PROGRAM,
        lambda card, c: not c.program or c.program in card.server.node.programs,
        lambda c: _PROGRAM_NAMES.get(c.program, c.program),
    ),
    (ReasonCode.PACKAGES, lambda card, c: not c.packages or card.server.node.packages, lambda c: None),
    (
        ReasonCode.DRIVER,
        lambda card, c: c.driver is None or card.device.drivers is None or c.driver in card.device.drivers,
        lambda c: c.driver,
    ),
)
STATE_FILTERS: tuple[tuple[ReasonCode, Test], ...] = (
    (ReasonCode.NODE_NOT_READY, lambda card, c: card.server.node.ready),
    (ReasonCode.NODE_CLOSED, lambda card, c: card.server.node.schedulable),
    (ReasonCode.DEVICE_DISABLED, lambda card, c: card.device.enabled),
    (ReasonCode.DEVICE_UNHEALTHY, lambda card, c: card.device.healthy),
    # An operator may switch a device between the classes at any time: so it is a state it is in.
    (ReasonCode.NOT_VIRTUAL, lambda card, c: c.whole is not False or card.device.sliced is not False),
    (ReasonCode.NOT_PHYSICAL, lambda card, c: not c.whole or card.device.sliced is not True),
)


class Area:
    """The cards that meet one constraint: registered ones, and those on which work may start.

    `usable` and `servers` are masks over the places of the pool, `on_server` the usable cards by server's place.
    """

    __slots__ = ("asked", "constraint", "on_server", "servers", "usable")

    def __init__(self, constraint: Constraint, pool: Pool) -> None:
        self.constraint = constraint
        self.asked: set[int] = set()
        self.on_server: dict[int, list[Card]] = {}
        self.usable = self.servers = 0
        usable = bytearray(len(pool.at) // 8 + 1)
        for card in pool.at:
            if self._judge(card):
                usable[card.at >> 3] |= 1 << (card.at & 7)
        self.usable = int.from_bytes(usable, "little")

    def _judge(self, card: Card) -> bool:
        """Put the card where it belongs; whether it is usable."""
        c = self.constraint
        if not all(test(card, c) for _, test, _ in ASKED_FILTERS):
            return False
        self.asked.add(card.at)
        if not all(test(card, c) for _, test in STATE_FILTERS):
            return False
        cards = self.on_server.setdefault(card.server.at, [])
        cards.append(card)
        self.servers |= card.server.bit
        return True

    def renew(self, card: Card) -> None:
        """Judge one card again: its row or its node's is another."""
        self.asked.discard(card.at)
        cards = self.on_server.get(card.server.at, [])
        if card in cards:
            cards.remove(card)
            self.usable ^= card.bit
        if self._judge(card):
            self.usable |= card.bit
            self.on_server[card.server.at].sort(key=lambda each: each.at)
        elif not cards:
            self.on_server.pop(card.server.at, None)
            self.servers &= ~card.server.bit


class Fit:
    """The filters over one pool, with what they found kept by constraint until a device or node changes."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._areas: dict[Constraint, Area] = {}
        self.has_sizes = any(card.sizes for card in pool.at)
        """Whether some card gives shares of a few sizes only."""
        self._prospects: dict[Shape, Feasibility] = {}
        self._least_mib: dict[tuple[Shape, bool], int] = {}

    def area(self, constraint: Constraint) -> Area:
        """The cards that meet the constraint."""
        area = self._areas.get(constraint)
        if area is None:
            area = self._areas[constraint] = Area(constraint, self._pool)
        return area

    def renew(self, card: Card) -> None:
        """A card's row or its node's is another."""
        for area in self._areas.values():
            area.renew(card)
        self.has_sizes = self.has_sizes or bool(card.sizes)
        self._prospects.clear()
        self._least_mib.clear()

    def prospect(self, shape: Shape) -> Feasibility:
        """Whether the shape would fit if nothing ran."""
        if shape not in self._prospects:
            self._prospects[shape] = self._prospect(shape)
        return self._prospects[shape]

    def _prospect(self, shape: Shape) -> Feasibility:
        if self._empty_room(shape, usable=True) >= shape.shares:
            return Feasibility.AFTER_RELEASES
        registered = self._empty_room(shape, usable=False)
        return Feasibility.AFTER_REPAIR if registered >= shape.shares else Feasibility.NEVER

    def _cards(self, shape: Shape, *, usable: bool) -> Iterable[Card]:
        area = self.area(shape.constraint)
        if usable:
            return self._pool.cards_in(area.usable)
        return (self._pool.at[at] for at in sorted(area.asked))

    def _empty_room(self, shape: Shape, *, usable: bool) -> int:
        """How many shares an empty pool takes together, or the best node where one has to take all."""
        by_server: dict[Server, int] = {}
        total, per = 0, shape.shares_per_replica
        for card in self._cards(shape, usable=usable):
            server = card.server
            before = by_server.get(server, 0)
            host = server.host_room_when_empty(shape)
            by_server[server] = after = min(host, before + room_when_empty(card, shape))
            total += after - before if per == 1 else (after // per - before // per) * per
            if (after if shape.single_node else total) >= shape.shares:
                return shape.shares
        return max(by_server.values(), default=0) if shape.single_node else total

    def least_mib(self, shape: Shape, *, usable: bool) -> int:
        """The least memory that the shape's grants add up to: whole cards are granted with all of theirs."""
        if not shape.exclusive:
            return shape.shares * shape.memory_mib
        if (shape, usable) not in self._least_mib:
            self._least_mib[shape, usable] = _least_mib(self._cards(shape, usable=usable), shape)
        return self._least_mib[shape, usable]

    def why(self, shape: Shape, view: View = FREE_VIEW) -> Reason:
        """The reason a shape does not fit now: the first filter that leaves nothing, else too little room."""
        area = self.area(shape.constraint)
        if not area.usable:
            return self._why_none(shape.constraint)
        mask = area.usable
        if shape.is_worded:
            kept_off = self._why_kept_off(list(self._pool.cards_in(mask)), shape)
            if isinstance(kept_off, Reason):
                return kept_off
            mask = kept_off
        if shape.alone or shape.max_on_device or self._pool.terms:
            parted = why_parted(list(self._pool.cards_in(mask)), shape)
            if isinstance(parted, Reason):
                return parted
            mask = parted
        no_size = why_no_size(list(self._pool.cards_in(mask)), shape) if self.has_sizes else None
        short = no_size or _short_of_card(self._pool, shape, mask)
        if short is not None:
            return short
        idle = mask & self._pool.idle if shape.exclusive else mask
        return _why_count(list(self._pool.cards_in(idle)), shape, view)

    def _why_kept_off(self, cards: list[Card], shape: Shape) -> Reason | int:
        """Work of the same affinity elsewhere, or work that keeps this one off; else the cards that are left."""
        together = [card for card in cards if card.joins(shape.affinity)]
        if not together:
            return Reason(ReasonCode.AFFINITY, (("asked", shape.affinity), ("devices", len(cards))))
        apart = [card for card in together if card.tolerates(shape.affinity, shape.anti_affinity)]
        if not apart:
            word = shape.anti_affinity or shape.affinity
            return Reason(ReasonCode.ANTI_AFFINITY, (("asked", word), ("devices", len(together))))
        return sum(card.bit for card in apart)

    def _why_none(self, constraint: Constraint) -> Reason:
        cards = self._pool.at
        if not cards:
            return Reason(ReasonCode.POOL_EMPTY)
        for code, test, asked in ASKED_FILTERS:
            left = [card for card in cards if test(card, constraint)]
            if not left:
                return Reason(code, (("asked", asked(constraint)), ("devices", len(cards))))
            cards = left
        for state_code, state_test in STATE_FILTERS:
            left = [card for card in cards if state_test(card, constraint)]
            if not left:
                return Reason(state_code, (("devices", len(cards)),))
            cards = left
        raise AssertionError("Some card passes all filters, yet none is usable.")


def _least_mib(cards: Iterable[Card], shape: Shape) -> int:
    """The cheapest parts, a replica or all shares of one node each, that are enough."""
    per = shape.shares if shape.single_node else shape.shares_per_replica
    lines: dict[str, list[int]] = {}
    # A pool has many cards of few kinds.
    has_room: dict[object, bool] = {}
    for card in cards:
        device = card.device
        kind = (device.memory_mib, device.oversubscription_permille,
                device.memory_oversubscription_permille, device.sizes)  # fmt: skip
        if kind not in has_room:
            has_room[kind] = room_when_empty(card, shape) > 0
        if has_room[kind]:
            key = card.server.node.id if per > 1 else ""
            lines.setdefault(key, []).append(device.memory_mib)
    parts: list[int] = []
    for line in lines.values():
        line.sort()
        parts += [sum(line[i : i + per]) for i in range(0, len(line) - per + 1, per)]
    count = shape.shares // per
    return sum(sorted(parts)[:count]) if len(parts) >= count else 0


def _short_of_card(pool: Pool, shape: Shape, mask: int) -> Reason | None:
    """What no single card of the mask has; None where some card has room for a share."""
    if shape.exclusive:
        devices, mask = mask.bit_count(), mask & pool.idle
        if not mask:
            return Reason(ReasonCode.CARD_NOT_IDLE, (("devices", devices),))
    best = pool.by_free.highest(mask)
    if best < shape.compute_percent:
        return short(ReasonCode.COMPUTE_PERCENT, shape.compute_percent, best, mask.bit_count())
    enough = 0
    for level in pool.by_free.rising(shape.compute_percent):
        enough |= level & mask
    best = max(card.free_mib for card in pool.cards_in(enough))
    if best < shape.memory_mib:
        return short(ReasonCode.MEMORY_MIB, shape.memory_mib, best, enough.bit_count())
    return None


def _why_count(cards: list[Card], shape: Shape, view: View) -> Reason:
    on: dict[Server, list[Card]] = {}
    for card in cards:
        on.setdefault(card.server, []).append(card)
    hostless = [sum(_room(card, shape, card.free_percent, card.free_mib, card.holders == 0) for card in line)
                for line in on.values()]  # fmt: skip
    if together(hostless, shape) >= shape.shares:
        return _why_beside(on, shape)
    return short_of_room(_rooms(on, shape, view), shape, len(cards))


def _rooms(on: dict[Server, list[Card]], shape: Shape, view: View) -> list[int]:
    """How many shares each server takes, in whole replicas or not."""
    loose = shape if shape.shares_per_replica == 1 else replace(shape, shares_per_replica=1)
    return [server_room(line, server, loose, view, shape.shares) for server, line in on.items()]


_HOST_CODES = (ReasonCode.HOST_CPU, ReasonCode.HOST_MEMORY, ReasonCode.SCRATCH_DISK)


def _why_beside(on: dict[Server, list[Card]], shape: Shape) -> Reason:
    """The devices have room: it is the hosts that have not, or claims that keep it."""
    rooms = _rooms(on, shape, View(-1))
    if together(rooms, shape) >= shape.shares:
        return Reason(ReasonCode.HELD_FOR_OTHERS)
    asked = (shape.host_cpu_milli, shape.host_memory_mib, shape.scratch_disk_mib)
    for code, each, left in zip(
        _HOST_CODES, asked, zip(*(s.host_left() for s in on), strict=True), strict=True
    ):
        if each and max(left) < each:
            return short(code, each, max(left), len(on))
    return short_of_room(rooms, shape, len(on))
