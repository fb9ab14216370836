"""What amounts of components cost over a time. Pure: figures in, exact figures out, nothing rounded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from enum import StrEnum

from apps.catalog.pricing.tiers import Step, Tier, TierError, steps

# Wide enough that every product here is exact and only the division by the time unit ever ends early.
PRECISION = 60


class PriceUnit(StrEnum):
    """What one price buys (PLAT-OPS-49)."""

    HOUR = "hour"
    USE = "use"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"


SECONDS = {PriceUnit.HOUR: 3600, PriceUnit.DAY: 86400}


@dataclass(frozen=True, slots=True)
class Line:
    """A component's price. `per_unit`: amount units in one priced unit (MiB are priced per GiB: 1024)."""

    component: str
    per_unit: int
    unit: str
    method: str
    tiers: tuple[Tier, ...]


@dataclass(frozen=True, slots=True)
class PricedLine:
    """One component's cost: `unit_amount` for one share and one unit of time, `cost` for all of it."""

    component: str
    amount: int
    quantity: Decimal
    steps: tuple[Step, ...]
    unit_amount: Decimal
    cost: Decimal


@dataclass(frozen=True, slots=True)
class Priced:
    lines: tuple[PricedLine, ...]
    total: Decimal


def quantity_of(line: Line, amount: int) -> Decimal:
    """An amount in the unit that is priced: 1536 MiB are 1.5 GiB."""
    with localcontext(prec=PRECISION):
        return Decimal(amount) / line.per_unit


def unit_amount(line: Line, quantity: Decimal) -> Decimal:
    """What `quantity` on one share costs for one unit of time."""
    with localcontext(prec=PRECISION):
        return sum((step.amount for step in steps(line.method, line.tiers, quantity)), Decimal(0))


def cost(line: Line, per_share: Decimal, share_seconds: int) -> Decimal:
    """What `per_share` for one unit of time comes to over `share_seconds` (shares × seconds)."""
    if line.unit not in SECONDS:
        raise TierError("unit_not_timed", unit=line.unit)
    with localcontext(prec=PRECISION):
        return per_share * share_seconds / SECONDS[PriceUnit(line.unit)]


def price(lines: Sequence[Line], amounts: Mapping[str, int], count: int, seconds: int) -> Priced:
    """The cost of `count` shares of `amounts` over `seconds`. TierError for an amount that has no price."""
    unpriced = set(amounts) - {line.component for line in lines}
    if unpriced:
        raise TierError("unpriced", components=sorted(unpriced))
    priced = tuple(
        _priced(line, amounts[line.component], count * seconds) for line in lines if line.component in amounts
    )
    with localcontext(prec=PRECISION):
        return Priced(priced, sum((line.cost for line in priced), Decimal(0)))


def _priced(line: Line, amount: int, share_seconds: int) -> PricedLine:
    quantity = quantity_of(line, amount)
    per_share = unit_amount(line, quantity)
    return PricedLine(
        component=line.component,
        amount=amount,
        quantity=quantity,
        steps=steps(line.method, line.tiers, quantity),
        unit_amount=per_share,
        cost=cost(line, per_share, share_seconds),
    )
