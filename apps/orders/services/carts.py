"""The cart."""

from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.selectors import commodity_get, quote_get
from apps.kernel.acts import Actor, act_subject
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orders.models import CartLine
from apps.orders.permissions import OrdersPermission as P

CART_MAX = 50


@service(P.APPLY)
def cart_add(
    *, actor: Actor, commodity_uid: UUID, amounts: dict[str, int] | None = None, count: int = 1
) -> CartLine:
    """Put one line into the actor's cart (PLAT-APPLY-1); without amounts, the commodity's usual ones."""
    tenant = current_tenant()
    commodity = commodity_get(tenant=tenant, uid=commodity_uid)
    chosen = amounts or {row.component.code: row.default for row in commodity.components.all()}
    quote_get(
        tenant=tenant,
        commodity=commodity,
        amounts=chosen,
        count=count,
        duration_s=commodity.min_duration_s,
        at=timezone.now(),
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
