"""Tiered unit prices: what one share costs for one unit of time (PLAT-OPS-50).

Ranges are half open on the left: (0,100], (100,200]. All figures are exact decimals; nothing here rounds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum

ZERO = Decimal(0)
PRICE_PLACES = 10
PRICE_LIMIT = Decimal("100000000")


class TierMethod(StrEnum):
    """How a quantity meets its tiers: stored with the price and shown beside it."""

    FLAT = "flat"
    PROGRESSIVE = "progressive"
    WHOLE_AMOUNT = "whole_amount"


class TierError(ValueError):
    """Tiers that price nothing, or price something twice. `code` is stable, `params` are its figures."""

    def __init__(self, code: str, **params: object) -> None:
        self.code = code
        self.params = params
        super().__init__(f"{code} {params}")


@dataclass(frozen=True, slots=True)
class Tier:
    """Every unit above the tier before and up to `upto` costs `price`; `upto` None is without end."""

    upto: Decimal | None
    price: Decimal


@dataclass(frozen=True, slots=True)
class Step:
    """The part of a quantity that one price applies to: what a page shows to explain a cost."""

    above: Decimal
    upto: Decimal | None
    quantity: Decimal
    price: Decimal

    @property
    def amount(self) -> Decimal:
        return self.quantity * self.price


def tiers_read(raw: Iterable[Sequence[object]]) -> tuple[Tier, ...]:
    """Tiers from their stored form `[[upto | null, "price"], ...]`; TierError unless they rise from 0."""
    tiers = tuple(Tier(_bound(upto), _price(price)) for upto, price in (_pair(item) for item in raw))
    if not tiers:
        raise TierError("tiers_missing")
    below = ZERO
    for number, tier in enumerate(tiers, start=1):
        if tier.upto is None and number < len(tiers):
            raise TierError("tier_overlap", tier=number)
        if tier.upto is not None and tier.upto <= below:
            raise TierError("tier_overlap", tier=number)
        below = tier.upto if tier.upto is not None else below
    return tiers


def ranges_read(ranges: Iterable[tuple[object, object, object]]) -> tuple[Tier, ...]:
    """Tiers from ranges (above, upto, price) as a form gives them; a gap or an overlap is refused."""
    tiers: list[tuple[object, object]] = []
    below: Decimal | None = ZERO
    for number, (above, upto, price) in enumerate(ranges, start=1):
        start = _number(above, "tier_bound")
        if below is None or start < below:
            raise TierError("tier_overlap", tier=number)
        if start > below:
            raise TierError("tier_gap", tier=number)
        below = _bound(upto)
        tiers.append((upto, price))
    return tiers_read(tiers)


def tiers_raw(tiers: Iterable[Tier]) -> list[list[str | None]]:
    """The stored form: text, so that no float ever comes near a price."""
    return [[None if tier.upto is None else f"{tier.upto:f}", f"{tier.price:f}"] for tier in tiers]


def steps(method: str, tiers: Sequence[Tier], quantity: Decimal) -> tuple[Step, ...]:
    """How `quantity` is priced. TierError("tier_beyond") when it lies above the last tier."""
    if quantity < 0:
        raise TierError("quantity_negative", quantity=quantity)
    last = tiers[-1].upto
    if last is not None and quantity > last:
        raise TierError("tier_beyond", quantity=quantity, upto=last)
    return _progressive(tiers, quantity) if method == TierMethod.PROGRESSIVE else _whole(tiers, quantity)


def _progressive(tiers: Sequence[Tier], quantity: Decimal) -> tuple[Step, ...]:
    found: list[Step] = []
    below = ZERO
    for tier in tiers:
        top = quantity if tier.upto is None else min(quantity, tier.upto)
        if top > below or not found:
            found.append(Step(below, tier.upto, top - below, tier.price))
        if tier.upto is None or quantity <= tier.upto:
            break
        below = tier.upto
    return tuple(found)


def _whole(tiers: Sequence[Tier], quantity: Decimal) -> tuple[Step, ...]:
    below = ZERO
    for tier in tiers:
        if tier.upto is None or quantity <= tier.upto:
            return (Step(below, tier.upto, quantity, tier.price),)
        below = tier.upto
    raise AssertionError("steps() has checked the last tier")


def _pair(item: Sequence[object]) -> tuple[object, object]:
    if isinstance(item, str) or len(item) != 2:
        raise TierError("tier_shape", tier=item)
    return item[0], item[1]


def _bound(raw: object) -> Decimal | None:
    return None if raw is None else _number(raw, "tier_bound")


def _price(raw: object) -> Decimal:
    price = _number(raw, "tier_price")
    if price < 0 or price >= PRICE_LIMIT or -int(price.as_tuple().exponent) > PRICE_PLACES:
        raise TierError("tier_price", value=raw)
    return price


def _number(raw: object, code: str) -> Decimal:
    if isinstance(raw, (bool, float)):
        raise TierError(code, value=raw)
    try:
        value = Decimal(str(raw))
    except InvalidOperation:
        raise TierError(code, value=raw) from None
    if not value.is_finite():
        raise TierError(code, value=raw)
    return value
