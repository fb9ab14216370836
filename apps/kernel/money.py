"""Money: exact decimals in CNY, rounded in this one place and only when a bill line is made (PLAT-OPS-50)."""

from decimal import ROUND_HALF_UP, Decimal

from django.db import models

# The one currency of the ledger.
CURRENCY = "CNY"
CENT = Decimal("0.01")
ZERO = Decimal(0)
EXACT_PLACES = 10


def bill_round(amount: Decimal) -> Decimal:
    """To two places, half up: what a bill line shows and what is paid."""
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def exact(amount: Decimal | int | str) -> Decimal:
    """To ten places, half up: how unrounded amounts are stored, the same in Python and PostgreSQL."""
    return Decimal(amount).quantize(Decimal(1).scaleb(-EXACT_PLACES), rounding=ROUND_HALF_UP)


class MoneyField(models.DecimalField):
    """An amount in CNY with ten places: numeric(28, 10)."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        kwargs.setdefault("max_digits", 28)
        kwargs.setdefault("decimal_places", EXACT_PLACES)
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
