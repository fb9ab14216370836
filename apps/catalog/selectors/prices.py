"""Reads: prices and quotes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import (
    Commodity,
    Coupon,
    PriceLine,
    PriceVersion,
)
from apps.catalog.pricing.coupons import redeemable
from apps.catalog.pricing.price import SECONDS, Line, Priced, PricedLine, PriceUnit, price
from apps.catalog.pricing.tiers import TierError, tiers_read
from apps.catalog.selectors.coupons import coupon_get
from apps.catalog.selectors.ids import Id
from apps.catalog.states import CouponState
from apps.catalog.types import OPEN_ENDED_QUOTED_S, Quote, QuoteCoupon, QuoteLine
from apps.kernel.errors import InvalidInput
from apps.kernel.money import bill_round, exact
from apps.tenancy.models import Tenant


def price_version_get(*, commodity: Commodity, at: datetime) -> PriceVersion | None:
    """The prices in force at an instant; None before the first."""
    rows = PriceVersion.objects.filter(commodity=commodity, effective_from__lte=at)
    return rows.order_by("-effective_from", "-number").first()


def prices_least(rows: Sequence[Commodity]) -> dict[int, Decimal]:
    """What the least of each commodity costs an hour, by its key: one share with the least of each component, at the
    prices in force. Without a commodity that has no price; a card's components are to be prefetched."""
    versions = PriceVersion.objects.filter(
        commodity__in=[row.pk for row in rows], effective_from__lte=timezone.now()
    )
    newest = versions.order_by("commodity_id", "-effective_from", "-number").distinct("commodity_id")
    found = {}
    for version in newest.prefetch_related("lines__component"):
        row = next(each for each in rows if each.pk == version.commodity_id)
        least = {part.component.code: part.minimum for part in row.components.all()}
        lines = [pricing_line(line) for line in version.lines.all()]
        try:
            found[row.pk] = price(lines, least, 1, SECONDS[PriceUnit.HOUR]).total
        except TierError:
            # Its prices do not say what the least of it costs: the card says nothing either.
            continue
    return found


def price_version_list(*, commodity: Commodity) -> QuerySet[PriceVersion]:
    """All price versions of a commodity, newest first, with their lines."""
    return PriceVersion.objects.filter(commodity=commodity).prefetch_related("lines__component")


def price_lines(price_version_id: int) -> dict[str, PriceLine]:
    """The prices of one version by component code."""
    rows = PriceLine.objects.filter(price_version=price_version_id).select_related("component")
    return {row.component.code: row for row in rows}


def pricing_line(row: PriceLine) -> Line:
    """A stored price as the pure pricing code wants it."""
    return Line(
        component=row.component.code,
        per_unit=row.component.per_unit,
        unit=row.unit,
        method=row.tier_method,
        tiers=tiers_read(row.tiers),
    )


def quote_get(
    *,
    tenant: Tenant,
    commodity: Commodity,
    amounts: dict[str, int],
    count: int,
    duration_s: int | None,
    at: datetime,
    coupon: Coupon | Id | None = None,
) -> Quote:
    """What `count` shares of `amounts` cost over `duration_s` at the prices in force at `at` (PLAT-OPS-5); without one,
    of what runs without an end, over `OPEN_ENDED_QUOTED_S`.

    `amounts` by component code, in the component's amount unit, per share; all of the commodity's components.
    InvalidInput names every figure that is out of range.
    """
    wrong = _amount_errors(commodity, amounts) | _figure_errors(commodity, count, duration_s)
    if wrong:
        raise InvalidInput(_("The order cannot be priced as it stands."), fields=wrong)
    if commodity.is_manual:
        return _unmetered(commodity, count, duration_s, at)
    version, rows = _prices_at(commodity, at)
    quoted_s = OPEN_ENDED_QUOTED_S if duration_s is None else duration_s
    priced = _priced(commodity, rows, amounts, count, quoted_s)
    lines = tuple(_quote_line(rows[line.component], line) for line in priced.lines)
    total = sum((bill_round(line.exact) for line in lines), Decimal(0))
    return Quote(
        commodity=str(commodity.uid),
        commodity_number=commodity.number,
        commodity_name_zh=commodity.name_zh,
        commodity_name_en=commodity.name_en,
        commodity_version=commodity.version,
        supplier=commodity.supplier,
        price_version=str(version.uid),
        price_number=version.number,
        amounts=dict(amounts),
        count=count,
        duration_s=duration_s,
        lines=lines,
        per_hour=_per_hour(rows, priced, count),
        total=total,
        at=at,
        coupon=_quote_coupon(tenant, coupon, total, at),
    )


def _unmetered(commodity: Commodity, count: int, duration_s: int | None, at: datetime) -> Quote:
    """What a person delivers costs nothing by the meter."""
    return Quote(
        commodity=str(commodity.uid),
        commodity_number=commodity.number,
        commodity_name_zh=commodity.name_zh,
        commodity_name_en=commodity.name_en,
        commodity_version=commodity.version,
        supplier=commodity.supplier,
        price_version="",
        price_number=0,
        amounts={},
        count=count,
        duration_s=duration_s,
        lines=(),
        per_hour=Decimal(0),
        total=Decimal(0),
        at=at,
    )


def _prices_at(commodity: Commodity, at: datetime) -> tuple[PriceVersion, dict[str, PriceLine]]:
    version = price_version_get(commodity=commodity, at=at)
    if version is None:
        raise _unpriced(commodity)
    return version, price_lines(version.pk)


def _priced(
    commodity: Commodity, rows: Mapping[str, PriceLine], amounts: dict[str, int], count: int, duration_s: int
) -> Priced:
    try:
        return price([pricing_line(row) for row in rows.values()], amounts, count, duration_s)
    except TierError as error:
        raise _unpriced(commodity) from error


def _unpriced(commodity: Commodity) -> InvalidInput:
    reason = _("%(commodity)s has no price for this yet.") % {"commodity": commodity.name}
    return InvalidInput(reason, cure=_("Ask the operator to publish a price."))


def _amount_errors(commodity: Commodity, amounts: Mapping[str, int]) -> dict[str, object]:
    ranges = {row.component.code: row for row in commodity.components.all()}
    wrong: dict[str, object] = {
        f"amounts.{code}": _("The commodity has no such component.") for code in set(amounts) - set(ranges)
    }
    for code, row in ranges.items():
        amount = amounts.get(code)
        is_whole = isinstance(amount, int) and not isinstance(amount, bool)
        if not is_whole or not row.minimum <= amount <= row.maximum or (amount - row.minimum) % row.step:
            text = _("%(name)s must be from %(minimum)s to %(maximum)s %(unit)s in steps of %(step)s.")
            wrong[f"amounts.{code}"] = text % {
                "name": row.component.name,
                "minimum": row.minimum,
                "maximum": row.maximum,
                "unit": row.component.amount_unit,
                "step": row.step,
            }
    return wrong


def _figure_errors(commodity: Commodity, count: int, duration_s: int | None) -> dict[str, object]:
    wrong: dict[str, object] = {}
    if not _whole(count, 1, commodity.max_count):
        text = _("The number of shares must be from 1 to %(maximum)s.")
        wrong["count"] = text % {"maximum": commodity.max_count}
    if duration_s is None:
        if not commodity.is_open_ended or commodity.retires_at is not None:
            wrong["duration_s"] = _("It is not sold without an end: say for how long.")
    elif not _whole(duration_s, commodity.min_duration_s, commodity.max_duration_s):
        text = _("The duration must be from %(minimum)s to %(maximum)s seconds.")
        wrong["duration_s"] = text % {
            "minimum": commodity.min_duration_s,
            "maximum": commodity.max_duration_s,
        }
    return wrong


def _whole(value: object, minimum: int, maximum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= maximum


def _quote_line(row: PriceLine, line: PricedLine) -> QuoteLine:
    return QuoteLine(
        component=line.component,
        name_zh=row.component.name_zh,
        name_en=row.component.name_en,
        amount=line.amount,
        amount_unit=row.component.amount_unit,
        quantity=line.quantity,
        unit=row.component.unit,
        mode=row.mode,
        price_unit=row.unit,
        tier_method=row.tier_method,
        steps=line.steps,
        unit_amount=line.unit_amount,
        exact=exact(line.cost),
    )


def _per_hour(rows: Mapping[str, PriceLine], priced: Priced, count: int) -> Decimal:
    parts = (line.unit_amount * count * 3600 / SECONDS[rows[line.component].unit] for line in priced.lines)
    return exact(sum(parts, Decimal(0)))


def _quote_coupon(
    tenant: Tenant, coupon: Coupon | Id | None, total: Decimal, at: datetime
) -> QuoteCoupon | None:
    if not coupon:
        return None
    row = coupon if isinstance(coupon, Coupon) else coupon_get(tenant=tenant, uid=coupon)
    activity = row.activity
    is_usable = row.state == CouponState.CLAIMED and activity.valid_from <= at < activity.valid_until
    if row.tenant_id != tenant.pk or not is_usable:
        reason = _("The coupon cannot be used now.")
        raise InvalidInput(reason, fields={"coupon": reason}, cure=_("Choose another coupon, or none."))
    amount = redeemable(
        total=total,
        remaining=row.remaining,
        minimum_spend=activity.minimum_spend,
        ratio_percent=activity.ratio_percent,
    )
    return QuoteCoupon(str(row.uid), activity.name_zh, activity.name_en, amount)
