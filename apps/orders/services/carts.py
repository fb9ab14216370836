"""The cart."""

from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.selectors.prices import quote_get
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orders.models import CartLine
from apps.orders.permissions import OrdersPermission as P
from apps.orders.services.delivered_work import delivery_of
from apps.orders.types import ordered_work
from apps.scheduling.services.workloads.submission.order_work import order_lines_check

CART_MAX = 50


@service(P.APPLY)
def cart_add(
    *,
    actor: Actor,
    commodity_uid: UUID,
    amounts: dict[str, int] | None = None,
    count: int = 1,
    duration_s: int | None = None,
    is_open_ended: bool = False,
) -> CartLine:
    """Put one line into the actor's cart (PLAT-APPLY-1); without amounts, the commodity's usual ones.

    `duration_s`: for how long it is meant to be applied for; None: nobody has said yet; with
    `is_open_ended` it is to run without an end. Raises InvalidInput for amounts and times that the commodity does not
    offer, and what `order_lines_check` raises for what could never run.
    """
    tenant = current_tenant()
    commodity = commodity_get(tenant=tenant, uid=commodity_uid)
    chosen = amounts or {row.component.code: row.default for row in commodity.components.all()}
    wanted_s = commodity.min_duration_s if duration_s is None and not is_open_ended else duration_s
    quote_get(
        tenant=tenant,
        commodity=commodity,
        amounts=chosen,
        count=count,
        duration_s=wanted_s,
        at=timezone.now(),
    )
    order_lines_check(
        tenant=tenant,
        user_id=actor.user_id,
        lines=[ordered_work(chosen, count, delivery_of(actor, commodity))] if commodity.is_scheduled else [],
        run_timeout_s=wanted_s,
    )
    if CartLine.objects.filter(user_id=actor.user_id).count() >= CART_MAX:
        raise InvalidInput(
            _("The cart holds %(most)s lines.") % {"most": CART_MAX}, cure=_("Apply for some of them first.")
        )
    line = CartLine.objects.create(user_id=actor.user_id, commodity=commodity, amounts=chosen, count=count)
    act_subject("commodity", commodity.uid)
    return line


@service(P.APPLY)
def cart_remove(*, actor: Actor, line_uid: UUID) -> None:
    """Take a line out of the actor's own cart."""
    act_subject("cart_line", line_uid)
    if not CartLine.objects.filter(user_id=actor.user_id, uid=line_uid).delete()[0]:
        raise NotFound()
