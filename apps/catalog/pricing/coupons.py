"""How much of a bill a coupon may pay. Pure."""

from decimal import Decimal


def redeemable(*, total: Decimal, remaining: Decimal, minimum_spend: Decimal, ratio_percent: int) -> Decimal:
    """CNY that a coupon takes off a bill of `total` (two places): at most what remains and `ratio_percent`.

    0 where the bill is below `minimum_spend`. A share of a bill that is no whole cent is cut, never raised.
    """
    if total < minimum_spend:
        return Decimal(0)
    cents = int(total * 100) * ratio_percent // 100
    return min(remaining, Decimal(cents) / 100)
