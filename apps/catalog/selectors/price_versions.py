"""Reads: the price versions of a commodity beside each other, and what a price yet to be published would come to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from apps.catalog.models import Commodity, CommodityComponent, PriceLine, PriceVersion
from apps.catalog.pricing.price import SECONDS, PricedLine, PriceUnit, price, quantity_of, unit_amount
from apps.catalog.pricing.tiers import TierError, TierMethod
from apps.catalog.selectors.prices import price_version_list, pricing_line
from apps.kernel.money import bill_round

_HOUR_S = SECONDS[PriceUnit.HOUR]
CURVE_POINTS = 60


@dataclass(frozen=True, slots=True)
class LineChange:
    """A component's price in one version, and `before`: that of the version before it; None where it was not priced."""

    line: PriceLine
    before: PriceLine | None
    is_changed: bool


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A price version against the one before it. `usual`: CNY an hour for one share of the usual amounts, None where
    the prices do not cover them; `percent`: by how much that rose, None for the first version."""

    version: PriceVersion
    lines: tuple[LineChange, ...]
    usual: Decimal | None
    percent: Decimal | None


@dataclass(frozen=True, slots=True)
class Example:
    """What one share of some amounts would cost an hour. `which`: least, default or most; `lines` by component."""

    which: str
    lines: tuple[tuple[CommodityComponent, PricedLine], ...]
    per_hour: Decimal


def price_versions_compared(commodity: Commodity) -> list[VersionChange]:
    """All price versions, the newest first, each against the one that was published before it."""
    usual = {part.component.code: part.default for part in _parts(commodity)}
    found: list[VersionChange] = []
    before: Mapping[str, PriceLine] = {}
    cost_before: Decimal | None = None
    for version in reversed(price_version_list(commodity=commodity)):
        lines = {line.component.code: line for line in version.lines.all()}
        cost = hour_cost(lines.values(), usual)
        percent = (cost - cost_before) / cost_before * 100 if cost is not None and cost_before else None
        changes = tuple(_change(line, before.get(code), is_first=not before) for code, line in lines.items())
        found.append(VersionChange(version, changes, cost, percent))
        before, cost_before = lines, cost
    return found[::-1]


def _change(line: PriceLine, before: PriceLine | None, *, is_first: bool) -> LineChange:
    same = before is not None and (before.tiers, before.unit, before.tier_method) == (
        line.tiers,
        line.unit,
        line.tier_method,
    )
    return LineChange(line, before, is_changed=not is_first and not same)


def hour_cost(lines: Iterable[PriceLine], amounts: Mapping[str, int]) -> Decimal | None:
    """What one share of `amounts` costs an hour, in CNY, as it is billed; None where the prices do not cover it."""
    try:
        return price([pricing_line(line) for line in lines], amounts, 1, _HOUR_S).total
    except TierError:
        return None


def price_examples(commodity: Commodity, lines: Sequence[PriceLine]) -> list[Example]:
    """What the least, the usual and the most that may be ordered would cost an hour, each a bill's way: line by line,
    rounded to the cent. `lines` cover all that may be ordered, as those do that publishing takes."""
    parts = _parts(commodity)
    by_code = {part.component.code: part for part in parts}
    found = []
    for which, name in (("least", "minimum"), ("usual", "default"), ("most", "maximum")):
        amounts = {part.component.code: getattr(part, name) for part in parts}
        priced = price([pricing_line(line) for line in lines], amounts, 1, _HOUR_S).lines
        total = sum((bill_round(line.cost) for line in priced), Decimal(0))
        found.append(Example(which, tuple((by_code[line.component], line) for line in priced), total))
    return found


def price_examples_known(commodity: Commodity, lines: Sequence[PriceLine]) -> list[Example]:
    """What the least, the usual and the most that may be ordered cost an hour by published prices, in CNY; none where
    what may be ordered has since grown beyond what they cover."""
    try:
        return price_examples(commodity, lines)
    except TierError:
        return []


def price_curve(line: PriceLine, part: CommodityComponent) -> list[tuple[Decimal, Decimal]]:
    """What a component costs over all that may be ordered of it: pairs of a quantity in the unit that is priced and its
    CNY for one share and one unit of time, by the function that bills. Where the price leaps, both sides of the leap
    are there."""
    pure = pricing_line(line)
    count = (part.maximum - part.minimum) // part.step
    every = max(1, count // CURVE_POINTS)
    amounts = {part.minimum + part.step * n for n in range(0, count + 1, every)} | {part.maximum}
    if line.tier_method != TierMethod.FLAT:
        for tier in pure.tiers:
            if tier.upto is not None:
                amounts |= _beside(part, tier.upto * pure.per_unit)
    return [(quantity_of(pure, each), unit_amount(pure, quantity_of(pure, each))) for each in sorted(amounts)]


def _beside(part: CommodityComponent, bound: Decimal) -> set[int]:
    """The last amount that may be ordered up to a bound, and the first beyond it."""
    last = part.minimum + int((bound - part.minimum) // part.step) * part.step
    return {each for each in (last, last + part.step) if part.minimum <= each <= part.maximum}


def _parts(commodity: Commodity) -> list[CommodityComponent]:
    """In their order; the reads of commodities have fetched them."""
    return list(commodity.components.all())
