"""Publishing prices (PLAT-OPS-45 to -50)."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.catalog.models import Commodity, CommodityComponent, PriceLine, PriceVersion
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.pricing.price import SECONDS, Line, quantity_of, unit_amount
from apps.catalog.pricing.tiers import TierError, TierMethod, tiers_raw, tiers_read
from apps.catalog.selectors.ids import uid_of
from apps.catalog.types import PriceInput
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.service import service


@service(P.MANAGE)
def price_publish(
    *,
    actor: Actor,
    commodity_uid: UUID | str,
    lines: Sequence[PriceInput],
    effective_from: datetime | None = None,
) -> PriceVersion:
    """Publish prices for all of a commodity's components, from now or from a later instant on.

    Published prices never change: a new price is a new version, and what runs keeps the one it was quoted.
    InvalidInput names each component whose tiers overlap, leave a gap, or end below a permitted amount.
    """
    commodity = Commodity.objects.select_for_update(no_key=True).filter(uid=uid_of(commodity_uid)).first()
    if commodity is None:
        raise NotFound(_("There is no such commodity."))
    now = timezone.now()
    start = effective_from or now
    if start < now:
        reason = _("A price cannot begin in the past.")
        raise InvalidInput(reason, fields={"effective_from": reason})
    made = price_lines_drafted(commodity, lines)
    number = PriceVersion.objects.filter(commodity=commodity).count() + 1
    version = PriceVersion.objects.create(
        commodity=commodity, number=number, effective_from=start, published_at=now
    )
    for line in made:
        line.price_version = version
    PriceLine.objects.bulk_create(made)
    act_subject("price_version", version.uid, commodity=commodity.number, number=number)
    return version


def price_lines_drafted(commodity: Commodity, lines: Sequence[PriceInput]) -> list[PriceLine]:
    """The prices as publishing would keep them, checked as it checks them, and kept nowhere: what a preview shows.

    InvalidInput names each component whose price is missing or unsound.
    """
    ranges = {row.component.code: row for row in commodity.components.select_related("component")}
    codes = [line.component for line in lines]
    wrong: dict[str, object] = {
        code: _("Every component needs one price.") for code in set(ranges) - set(codes)
    }
    made = []
    for line in lines:
        if line.component not in ranges or codes.count(line.component) > 1:
            wrong[line.component] = _("Each component of the commodity is priced once, and no other.")
            continue
        try:
            made.append(_line(ranges[line.component], line))
        except TierError as error:
            wrong[line.component] = tier_sentence(error)
    if wrong:
        raise InvalidInput(_("The prices are not complete and sound."), fields=wrong)
    return made


def _line(row: CommodityComponent, line: PriceInput) -> PriceLine:
    if line.mode != PriceLine.Mode.ON_DEMAND or line.unit not in SECONDS:
        raise TierError("unit_not_timed", unit=line.unit)
    if line.tier_method not in TierMethod._value2member_map_:
        raise TierError("method_unknown", method=line.tier_method)
    tiers = tiers_read(line.tiers)
    if line.tier_method == TierMethod.FLAT and len(tiers) > 1:
        raise TierError("flat_tiers")
    pure = Line(line.component, row.component.per_unit, line.unit, line.tier_method, tiers)
    unit_amount(pure, quantity_of(pure, row.maximum))
    return PriceLine(
        component=row.component,
        mode=line.mode,
        unit=line.unit,
        tier_method=line.tier_method,
        tiers=tiers_raw(tiers),
    )


def tier_sentence(error: TierError) -> str:
    """What is wrong with a price, for people."""
    shown = {
        key: f"{value:f}" if isinstance(value, Decimal) else value for key, value in error.params.items()
    }
    return str(_SENTENCES[error.code] % shown)


_SENTENCES = {
    "tiers_missing": gettext_lazy("At least one tier is needed."),
    "tier_shape": gettext_lazy("A tier is a bound and a price."),
    "tier_overlap": gettext_lazy("Tier %(tier)s overlaps the one before it."),
    "tier_gap": gettext_lazy("There is a gap before tier %(tier)s."),
    "tier_bound": gettext_lazy("%(value)s is not a bound of a tier."),
    "tier_price": gettext_lazy(
        "%(value)s is not a price: 0 or more, with at most ten decimal places, as text."
    ),
    "tier_beyond": gettext_lazy("The tiers end at %(upto)s, and up to %(quantity)s may be ordered."),
    "flat_tiers": gettext_lazy("One price has one tier. Choose progressive or whole amount for several."),
    "method_unknown": gettext_lazy("%(method)s is not a tier method."),
    "unit_not_timed": gettext_lazy(
        "Use that is metered by the second is priced on demand, by the hour or the day."
    ),
}
