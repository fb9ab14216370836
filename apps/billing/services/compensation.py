"""Making good what a customer's work lost because other work took its place."""

from decimal import Decimal
from uuid import UUID

from django.utils.translation import gettext_noop

from apps.billing.models import Charge
from apps.catalog.models import Coupon
from apps.catalog.pricing.price import price
from apps.catalog.selectors.prices import price_lines, pricing_line
from apps.catalog.services.compensation_coupons import coupon_grant
from apps.kernel.actor import Actor
from apps.kernel.money import bill_round
from apps.kernel.service import service

_NAME = gettext_noop("Compensation for interrupted work")
_NAME_ZH = "中断作业补偿"


@service(recorded=False)
def preemption_compensate(
    *, actor: Actor, workload_uid: UUID, user_id: int | None, card_seconds: int, times: int
) -> Coupon | None:
    """A coupon worth what the lost card-seconds cost at the prices of the workload's charge; None where they cost
    nothing, or nobody submitted it. `times`: the how manieth preemption it is for; for each there is one coupon,
    however often this is told."""
    charge = Charge.plain.select_related("tenant").filter(workload_uid=workload_uid).first()
    if charge is None or user_id is None:
        return None
    value = bill_round(_cost(charge, card_seconds))
    if value <= 0:
        return None
    return coupon_grant(
        actor=actor,
        tenant=charge.tenant,
        user_id=user_id,
        value=value,
        name_en=_NAME,
        name_zh=_NAME_ZH,
        key=f"preempted:{workload_uid}:{times}",
    )


def _cost(charge: Charge, card_seconds: int) -> Decimal:
    """Of all its shares together, for as long as they would take to use so many card-seconds."""
    amounts = charge.resizes.order_by("-pk").values_list("amounts", flat=True).first() or charge.amounts
    percent = amounts.get("compute_share", 100) * charge.count
    lines = [pricing_line(row) for row in price_lines(charge.price_version_id).values() if row]
    seconds = card_seconds * 100 // max(1, percent)
    return price(lines, amounts, charge.count, seconds).total if seconds else Decimal(0)
