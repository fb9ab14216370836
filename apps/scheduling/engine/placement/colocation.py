"""What may lie beside what: the claims on a card, and the terms of work that shares it with few others or with none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from apps.scheduling.engine.model.types import Alone, Reason, ReasonCode
from apps.scheduling.engine.resources.pool import Card, Server
from apps.scheduling.engine.resources.shapes import Shape


class View(NamedTuple):
    """Which claims bind a request: those that begin up to `horizon`, but for those it has a right to."""

    horizon: int = -1
    rights: frozenset[str] = frozenset()


FREE_VIEW = View()


def binding(card: Card, view: View) -> Iterable[int]:
    """The claims on the card, by their place in its list, that bind in this view."""
    return (
        i
        for i, claim in enumerate(card.claims)
        if claim.start_s <= view.horizon and claim.owner not in view.rights
    )


def room_among(card: Card, shape: Shape, view: View, count: int) -> int:
    """How many of so many shares its terms let lie among what is there, or is to come there."""
    if not shape.alone:
        bounds = (shape.max_on_device, *card.bounds) if shape.max_on_device else tuple(card.bounds)
        return max(0, min(count, min(bounds) - card.sharers))
    if card.holders:
        return 0
    if shape.alone is Alone.NODE and not (card.server.is_empty and _is_unclaimed(card.server, view)):
        return 0
    return count


def _is_unclaimed(server: Server, view: View) -> bool:
    return not any(True for card in server.cards if card.claims for _claim in binding(card, view))


def host_room(server: Server, shape: Shape, count: int) -> int:
    """How many of so many shares the host takes; none beside work that has the node to itself."""
    return 0 if server.alone else server.host_room(shape, count)


def why_parted(cards: list[Card], shape: Shape) -> Reason | int:
    """What lies on the cards and shares them with nothing more, or with nothing of this kind; else those left."""
    left = [card for card in cards if not card.is_shared_out]
    code = ReasonCode.SHARED_OUT
    if shape.alone:
        left = [card for card in left if not card.holders]
        code = ReasonCode.ALONE_DEVICE
    elif shape.max_on_device:
        left = [card for card in left if card.sharers < shape.max_on_device]
    if shape.alone is Alone.NODE:
        left = [card for card in left if card.server.is_empty]
        code = ReasonCode.ALONE_NODE
    return sum(card.bit for card in left) if left else Reason(code, (("devices", len(cards)),))
