"""What crosses the catalogue's border: quotes, and the input of its services."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.catalog.pricing.tiers import Step

# What a commodity may look like in the catalogue: the style sheet holds these (static/src/icons.txt).
ICONS = (
    "box",
    "brain",
    "code",
    "cpu",
    "cube",
    "database",
    "flask",
    "message-chatbot",
    "photo",
    "robot",
    "server",
    "video",
)


@dataclass(frozen=True, slots=True)
class ComponentRange:
    """What one share of a commodity may hold of a component, in the component's amount unit."""

    component: str
    minimum: int
    maximum: int
    default: int
    step: int = 1


@dataclass(frozen=True, slots=True)
class PriceInput:
    """A price to publish: `tiers` as `[[upto | None, "price"], ...]`, rising from 0."""

    component: str
    tiers: list[list[Any]]
    mode: str = "on_demand"
    unit: str = "hour"
    tier_method: str = "flat"


@dataclass(frozen=True, slots=True)
class QuoteLine:
    """One component of a quote. `unit_amount`: CNY for one share and one `price_unit`; `exact`: all of it."""

    component: str
    name_zh: str
    name_en: str
    amount: int
    amount_unit: str
    quantity: Decimal
    unit: str
    mode: str
    price_unit: str
    tier_method: str
    steps: tuple[Step, ...]
    unit_amount: Decimal
    exact: Decimal

    def as_json(self) -> dict[str, Any]:
        return {
            "component": self.component,
            "name_zh": self.name_zh,
            "name_en": self.name_en,
            "amount": self.amount,
            "amount_unit": self.amount_unit,
            "quantity": decimal_text(self.quantity),
            "unit": self.unit,
            "mode": self.mode,
            "price_unit": self.price_unit,
            "tier_method": self.tier_method,
            "steps": steps_json(self.steps),
            "unit_amount": decimal_text(self.unit_amount),
            "exact": decimal_text(self.exact),
        }


@dataclass(frozen=True, slots=True)
class QuoteCoupon:
    """What a coupon would take off, were the bill exactly this quote."""

    uid: str
    name_zh: str
    name_en: str
    amount: Decimal

    def as_json(self) -> dict[str, Any]:
        return {
            "uid": self.uid,
            "name_zh": self.name_zh,
            "name_en": self.name_en,
            "amount": decimal_text(self.amount),
        }


OPEN_ENDED_QUOTED_S = 30 * 86400
"""For so long the total of a quote is, of what runs without an end."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A price frozen for one order line: the price version and the amounts decide what is charged later.

    `per_hour`: CNY for all shares and an hour, exact. `total`: an estimate in CNY for the whole duration, to
    two places; what is used decides what is billed. Without `duration_s` it runs without an end, and the total is for
    `OPEN_ENDED_QUOTED_S`.
    """

    commodity: str
    commodity_number: str
    commodity_name_zh: str
    commodity_name_en: str
    commodity_version: int
    supplier: str
    price_version: str
    price_number: int
    amounts: dict[str, int]
    count: int
    duration_s: int | None
    lines: tuple[QuoteLine, ...]
    per_hour: Decimal
    total: Decimal
    at: datetime
    coupon: QuoteCoupon | None = None
    currency: str = "CNY"

    @property
    def payable(self) -> Decimal:
        return self.total - (self.coupon.amount if self.coupon else Decimal(0))

    def as_json(self) -> dict[str, Any]:
        """Plain values only: kept in orders and charges, sent by the API."""
        return {
            "commodity": self.commodity,
            "commodity_number": self.commodity_number,
            "commodity_name_zh": self.commodity_name_zh,
            "commodity_name_en": self.commodity_name_en,
            "commodity_version": self.commodity_version,
            "supplier": self.supplier,
            "price_version": self.price_version,
            "price_number": self.price_number,
            "amounts": dict(self.amounts),
            "count": self.count,
            "duration_s": self.duration_s,
            "lines": [line.as_json() for line in self.lines],
            "per_hour": decimal_text(self.per_hour),
            "total": decimal_text(self.total),
            "coupon": self.coupon.as_json() if self.coupon else None,
            "payable": decimal_text(self.payable),
            "currency": self.currency,
            "at": self.at.isoformat(),
        }


def decimal_text(amount: Decimal) -> str:
    """A decimal as text: no exponent, no idle zeros; an amount of money keeps its two places."""
    whole, dot, places = f"{amount:f}".partition(".")
    return f"{whole}.{places.rstrip('0').ljust(2, '0')}" if dot else whole


def steps_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
    """The tiers a quantity went through: `[{above, upto, quantity, price, amount}]`."""
    return [
        {
            "above": decimal_text(step.above),
            "upto": None if step.upto is None else decimal_text(step.upto),
            "quantity": decimal_text(step.quantity),
            "price": decimal_text(step.price),
            "amount": decimal_text(step.amount),
        }
        for step in steps
    ]
