"""Reads: commodities side by side, with what may be ordered of each and what it costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils import timezone

from apps.catalog.models import Commodity, CommodityComponent, Component, PriceLine
from apps.catalog.selectors.price_versions import Example, price_examples_known
from apps.catalog.selectors.prices import price_lines, price_version_get


@dataclass(frozen=True, slots=True)
class Compared:
    """A commodity, its prices in force by component code (none where none is published) and what the least, the usual
    and the most of it cost an hour, in CNY for one share."""

    commodity: Commodity
    prices: dict[str, PriceLine]
    examples: Sequence[Example]

    @property
    def parts(self) -> dict[str, CommodityComponent]:
        """What may be ordered of it, by component code."""
        return {part.component.code: part for part in self.commodity.components.all()}


def commodities_compared(rows: Iterable[Commodity]) -> list[Compared]:
    """Each of some commodities with the prices that are in force now."""
    found = []
    for row in rows:
        version = price_version_get(commodity=row, at=timezone.now())
        prices = price_lines(version.pk) if version else {}
        examples = price_examples_known(row, list(prices.values())) if prices else []
        found.append(Compared(row, prices, examples))
    return found


def compared_parts(
    rows: Sequence[Compared],
) -> list[tuple[Component, list[tuple[CommodityComponent | None, PriceLine | None]]]]:
    """What any of the commodities is made of, in the order in which they have it: beside each component, for each
    commodity what may be ordered of it and its price, None where it has none."""
    known = {code: part.component for row in rows for code, part in row.parts.items()}
    return [
        (component, [(row.parts.get(code), row.prices.get(code)) for row in rows])
        for code, component in known.items()
    ]
