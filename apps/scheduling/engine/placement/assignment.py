"""Which cards of chosen servers the shares go to, share by share; each replica on one server (ELA-505)."""

from __future__ import annotations

from collections.abc import Iterable

from apps.scheduling.engine.model.types import Placing
from apps.scheduling.engine.placement.fit import View, room, server_room
from apps.scheduling.engine.placement.topology import one_island
from apps.scheduling.engine.resources.pool import Card, Server
from apps.scheduling.engine.resources.shapes import Shape

FILLING = frozenset({Placing.DEVICE_COMPACT, Placing.FRAGMENTATION})
"""What `Packing` does not serve, FRAGMENTATION places like DEVICE_COMPACT."""
Lines = Iterable[tuple[Server, list[Card]]]
"""Servers, each with its cards that take a share."""


def fill(lines: Lines, shape: Shape, view: View) -> list[Card]:
    """The shape's shares on these servers in turn; they are known to have the room together."""
    chosen: list[Card] = []
    for server, cards in lines:
        wanted = shape.shares - len(chosen)
        left = {card: room(card, shape, view) for card in cards}
        most = server_room(left, server, shape, view, wanted)
        left = one_island(left, wanted) if most == wanted else left
        chosen += _replicas(left, most, shape) if shape.shares_per_replica > 1 else _deal(left, most, shape)
    return chosen


def smallest(lines: Lines, shape: Shape) -> list[Card] | None:
    """For whole cards: those with the least memory in all; None where there are not enough together."""
    per = shape.shares if shape.single_node else shape.shares_per_replica
    parts: list[list[Card]] = []
    for server, cards in lines:
        most = server.host_room(shape, len(cards))
        line = sorted(cards, key=lambda card: (card.device.memory_mib, card.device.id))[:most]
        parts += [line[i : i + per] for i in range(0, len(line) - per + 1, per)]
    parts.sort(key=lambda part: (sum(card.device.memory_mib for card in part), part[0].device.id))
    count = shape.shares // per
    return [card for part in parts[:count] for card in part] if len(parts) >= count else None


def _replicas(left: dict[Card, int], count: int, shape: Shape) -> list[Card]:
    """So many shares over the cards, one replica after the other, each on one island where it can be."""
    chosen: list[Card] = []
    taken = dict.fromkeys(left, 0)
    per = shape.shares_per_replica
    while len(chosen) < count:
        rest = {card: most - taken[card] for card, most in left.items() if most > taken[card]}
        part = _deal(left, per, shape, {card: taken[card] for card in one_island(rest, per)})
        for card in part:
            taken[card] += 1
        chosen += part
    return chosen


def _deal(
    left: dict[Card, int], count: int, shape: Shape, taken: dict[Card, int] | None = None
) -> list[Card]:
    """So many shares over the cards, share by share; `taken`: what is on those that may be used already."""
    chosen: list[Card] = []
    taken = dict.fromkeys(left, 0) if taken is None else taken
    while taken and len(chosen) < count:
        card = _next(taken, shape)
        chosen.append(card)
        taken[card] += 1
        if taken[card] == left[card]:
            del taken[card]
    return chosen


def _next(taken: dict[Card, int], shape: Shape) -> Card:
    """The fullest card where devices are to be filled, else the emptiest; shares just chosen count as use."""
    if len(taken) == 1:
        return next(iter(taken))
    percent, mib = shape.compute_percent, shape.memory_mib

    def use(card: Card) -> int:
        more = taken[card]
        return card.use_with(more * percent, more * mib)

    return (max if shape.placing in FILLING else min)(taken, key=use)
