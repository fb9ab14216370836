"""Which devices suit a request, how many of its shares each takes, and the reason where none does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from apps.scheduling.engine.pool import Card, Pool
from apps.scheduling.engine.types import (
    WHOLE_CARD_PERCENT,
    Labels,
    Param,
    Placing,
    Policy,
    Queue,
    Reason,
    ReasonCode,
    Request,
)


@dataclass(frozen=True, slots=True)
class Constraint:
    """Where a request may go, apart from what is free there."""

    device_id: str | None
    node_id: str | None
    groups: frozenset[str]
    vendor: str | None
    model: str | None
    labels: Labels
    local_node_id: str | None
    """Of LOCAL placing: the one node that will do."""
    whole: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """All of a request that matters to placement: requests of one shape are judged once in a cycle."""

    constraint: Constraint
    compute_percent: int
    memory_mib: int
    shares: int
    exclusive: bool
    distinct_devices: bool
    single_node: bool
    placing: Placing
    first_node_id: str | None = None
    """Of LOCAL_FIRST placing: the node to be tried before all others."""
    affinity: str = ""
    anti_affinity: str = ""


class Prospect(IntEnum):
    """How far a shape is from fitting, the pool's present use left aside."""

    NEVER = 0
    """Not even on all registered devices, whole, ready and empty."""
    AFTER_REPAIR = 1
    """Only once devices or nodes that are out of service come back."""
    AFTER_RELEASES = 2
    """On the usable devices, once enough of them is free."""


def shape_of(request: Request, queue: Queue, policy: Policy) -> Shape:
    """The request's shape in its queue. Its own placing goes before the queue's, that before the policy's."""
    groups = frozenset(group for group in (request.resource_group, queue.resource_group) if group is not None)
    placing = request.placing or queue.placing or policy.placing
    local = request.local_node_id
    constraint = Constraint(
        request.device_id, request.node_id, groups, request.vendor, request.model, request.labels,
        local if placing is Placing.LOCAL else None, request.exclusive,
    )  # fmt: skip
    return Shape(
        constraint, request.compute_percent, request.memory_mib, request.shares, request.exclusive,
        request.distinct_devices, request.single_node, placing, local if placing is Placing.LOCAL_FIRST else None,
        request.affinity, request.anti_affinity,
    )  # fmt: skip


def invalid(request: Request) -> Reason | None:
    """What is wrong with the request in itself; None when nothing is."""
    whole = request.compute_percent == WHOLE_CARD_PERCENT
    checks = (
        ("shares", request.shares, request.shares >= 1),
        ("compute_percent", request.compute_percent, 1 <= request.compute_percent <= WHOLE_CARD_PERCENT),
        ("memory_mib", request.memory_mib, request.memory_mib >= 0),
        ("exclusive", request.exclusive, whole or not request.exclusive),
        ("affinity", request.affinity, request.shares == 1 or not request.affinity),
    )
    for name, value, ok in checks:
        if not ok:
            return Reason(ReasonCode.REQUEST_INVALID, (("field", name), ("value", value)))
    return None


def room(card: Card, shape: Shape) -> int:
    """How many of the shape's shares the card takes now."""
    if not (card.joins(shape.affinity) and card.tolerates(shape.affinity, shape.anti_affinity)):
        return 0
    return _room(card, shape, card.free_percent, card.free_mib, card.holders == 0)


def room_when_empty(card: Card, shape: Shape) -> int:
    """How many of the shape's shares the card would take if nothing ran on it."""
    return _room(card, shape, card.device.compute_capacity_percent, card.device.memory_capacity_mib, True)


def _room(card: Card, shape: Shape, free_percent: int, free_mib: int, idle: bool) -> int:
    least_mib = shape.memory_mib
    if shape.exclusive:
        if not idle or card.device.memory_mib < least_mib:
            return 0
        least_mib = card.device.memory_mib
    if free_percent < shape.compute_percent or free_mib < least_mib:
        return 0
    if shape.exclusive or shape.distinct_devices or shape.anti_affinity or shape.shares == 1:
        return 1
    by_percent = free_percent // shape.compute_percent
    return min(by_percent, free_mib // least_mib) if least_mib else by_percent


Test = Callable[[Card, Constraint], bool]
Asked = Callable[[Constraint], Param]


def _asked_labels(constraint: Constraint) -> Param:
    return ", ".join(f"{key}={value}" for key, value in sorted(constraint.labels))


# In this order: the first that leaves no device is the reason. What the request asks for comes before the
# state that devices are in, so that "no such model" is never told as "device unhealthy".
ASKED_FILTERS: tuple[tuple[ReasonCode, Test, Asked], ...] = (
    (ReasonCode.DEVICE_PIN, lambda card, c: c.device_id in (None, card.device.id), lambda c: c.device_id),
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
    (ReasonCode.MODEL, lambda card, c: c.model in (None, card.device.model), lambda c: c.model),
    (
        ReasonCode.LABEL,
        lambda card, c: c.labels <= card.server.node.labels | card.device.labels,
        _asked_labels,
    ),
)
STATE_FILTERS: tuple[tuple[ReasonCode, Test], ...] = (
    (ReasonCode.NODE_NOT_READY, lambda card, c: card.server.node.ready),
    (ReasonCode.NODE_CLOSED, lambda card, c: card.server.node.schedulable),
    (ReasonCode.DEVICE_DISABLED, lambda card, c: card.device.enabled),
    (ReasonCode.DEVICE_UNHEALTHY, lambda card, c: card.device.healthy),
    # An operator may switch a device between the classes at any time: so it is a state it is in.
    (ReasonCode.NOT_VIRTUAL, lambda card, c: c.whole or card.device.sliced is not False),
    (ReasonCode.NOT_PHYSICAL, lambda card, c: not c.whole or card.device.sliced is not True),
)


class Fit:
    """The filters over one pool, with what they found kept by constraint: neither changes within a cycle."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._asked: dict[Constraint, list[Card]] = {}
        self._usable: dict[Constraint, list[Card]] = {}
        self._prospects: dict[Shape, Prospect] = {}
        self._least_mib: dict[tuple[Shape, bool], int] = {}

    def asked(self, constraint: Constraint) -> list[Card]:
        """Registered cards that are what the request asks for, in whatever state."""
        if constraint not in self._asked:
            self._asked[constraint] = [
                card
                for card in self._pool.cards.values()
                if all(test(card, constraint) for _, test, _ in ASKED_FILTERS)
            ]
        return self._asked[constraint]

    def usable(self, constraint: Constraint) -> list[Card]:
        """Those of them on which work may start."""
        if constraint not in self._usable:
            self._usable[constraint] = [
                card
                for card in self.asked(constraint)
                if all(test(card, constraint) for _, test in STATE_FILTERS)
            ]
        return self._usable[constraint]

    def prospect(self, shape: Shape) -> Prospect:
        """Whether the shape would fit if nothing ran."""
        if shape not in self._prospects:
            self._prospects[shape] = self._prospect(shape)
        return self._prospects[shape]

    def _prospect(self, shape: Shape) -> Prospect:
        if _most(self.usable(shape.constraint), shape, room_when_empty) >= shape.shares:
            return Prospect.AFTER_RELEASES
        registered = _most(self.asked(shape.constraint), shape, room_when_empty)
        return Prospect.AFTER_REPAIR if registered >= shape.shares else Prospect.NEVER

    def least_mib(self, shape: Shape, *, usable: bool) -> int:
        """The least memory that the shape's grants add up to: whole cards are granted with all of theirs."""
        if not shape.exclusive:
            return shape.shares * shape.memory_mib
        if (shape, usable) not in self._least_mib:
            cards = self.usable(shape.constraint) if usable else self.asked(shape.constraint)
            self._least_mib[shape, usable] = _least_mib(cards, shape)
        return self._least_mib[shape, usable]

    def why(self, shape: Shape) -> Reason:
        """The reason a shape does not fit now: the first filter that leaves nothing, else the count."""
        cards = list(self._pool.cards.values())
        if not cards:
            return Reason(ReasonCode.POOL_EMPTY)
        for code, test, asked in ASKED_FILTERS:
            left = [card for card in cards if test(card, shape.constraint)]
            if not left:
                return Reason(code, (("asked", asked(shape.constraint)), ("devices", len(cards))))
            cards = left
        for state_code, state_test in STATE_FILTERS:
            left = [card for card in cards if state_test(card, shape.constraint)]
            if not left:
                return Reason(state_code, (("devices", len(cards)),))
            cards = left
        return _why_kept_off(cards, shape)


def _most(cards: Iterable[Card], shape: Shape, room_on: Callable[[Card, Shape], int]) -> int:
    """How many shares the cards take together, or the best node alone where one node has to take all."""
    by_node: dict[str, int] = {}
    for card in cards:
        node_id = card.server.node.id
        by_node[node_id] = by_node.get(node_id, 0) + room_on(card, shape)
    return max(by_node.values(), default=0) if shape.single_node else sum(by_node.values())


def _least_mib(cards: Iterable[Card], shape: Shape) -> int:
    lines: dict[str, list[int]] = {}
    for card in cards:
        if room_when_empty(card, shape):
            key = card.server.node.id if shape.single_node else ""
            lines.setdefault(key, []).append(card.device.memory_mib)
    enough = [sorted(line)[: shape.shares] for line in lines.values() if len(line) >= shape.shares]
    return min((sum(line) for line in enough), default=0)


def _why_kept_off(cards: list[Card], shape: Shape) -> Reason:
    """Work of the same affinity elsewhere, or work that keeps this one off; else too little room."""
    together = [card for card in cards if card.joins(shape.affinity)]
    if not together:
        return Reason(ReasonCode.AFFINITY, (("asked", shape.affinity), ("devices", len(cards))))
    apart = [card for card in together if card.tolerates(shape.affinity, shape.anti_affinity)]
    if not apart:
        word = shape.anti_affinity or shape.affinity
        return Reason(ReasonCode.ANTI_AFFINITY, (("asked", word), ("devices", len(together))))
    return _why_no_room(apart, shape)


def _why_no_room(cards: list[Card], shape: Shape) -> Reason:
    idle = [card for card in cards if card.holders == 0] if shape.exclusive else cards
    if not idle:
        return Reason(ReasonCode.CARD_NOT_IDLE, (("devices", len(cards)),))
    cards = idle
    enough = [card for card in cards if card.free_percent >= shape.compute_percent]
    if not enough:
        best = max(card.free_percent for card in cards)
        return _short(ReasonCode.COMPUTE_PERCENT, shape.compute_percent, best, len(cards))
    if not any(card.free_mib >= shape.memory_mib for card in enough):
        best = max(card.free_mib for card in enough)
        return _short(ReasonCode.MEMORY_MIB, shape.memory_mib, best, len(enough))
    code = ReasonCode.COUNT_ON_ONE_NODE if shape.single_node else ReasonCode.COUNT
    return _short(code, shape.shares, _most(cards, shape, room), len(cards))


def _short(code: ReasonCode, asked: int, free: int, devices: int) -> Reason:
    return Reason(code, (("asked", asked), ("free", max(0, free)), ("devices", devices)))
