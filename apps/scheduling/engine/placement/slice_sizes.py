"""Cards that give shares of a few sizes only, as MIG does: all shares of a card are of one size until it is empty.

So what is planned is what the card can make. Instances of different sizes get in each other's way by where they lie,
and those of one size never do: as many as fit on an empty card fit in any order, whichever of them leave in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from apps.scheduling.engine.model.types import Reason, ReasonCode
from apps.scheduling.engine.resources.pool import Card
from apps.scheduling.engine.resources.shapes import Shape


def most_of(card: Card, percent: int, mib: int) -> int:
    """How many shares just like this one the card gives when it is empty."""
    return next((size.most for size in card.sizes if size[:2] == (percent, mib)), 0)


def left_of(card: Card, percent: int, mib: int) -> int:
    """How many more it gives beside what lies on it: none where that is of another size."""
    held = card.holders
    if (card.used_percent, card.used_mib) != (held * percent, held * mib):
        return 0
    return max(0, most_of(card, percent, mib) - held)


def why_no_size(cards: Sequence[Card], shape: Shape) -> Reason | None:
    """Where all these cards give few sizes only and none gives the asked one: the smallest that is enough, or the
    largest there is. None where some card could give the share."""
    percent, mib = shape.compute_percent, shape.memory_mib
    if not percent or not cards or not all(card.sizes for card in cards):
        return None
    sizes = {size[:2] for card in cards for size in card.sizes}
    if not shape.exclusive and (percent, mib) in sizes:
        return None
    enough = [size for size in sizes if size[0] >= percent and size[1] >= mib]
    nearest = min(enough, default=None) or max(sizes)
    code = ReasonCode.SIZE if enough else ReasonCode.NO_SIZE
    params = (
        ("asked_percent", percent), ("asked_mib", mib), ("percent", nearest[0]),
        ("mib", nearest[1]), ("devices", len(cards)),
    )  # fmt: skip
    return Reason(code, params)
