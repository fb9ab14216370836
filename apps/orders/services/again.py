"""An order is placed anew: a draft with what an earlier one had."""

from uuid import UUID

from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.orders.models import ApplicationForm
from apps.orders.permissions import OrdersPermission as P
from apps.orders.selectors import order_get
from apps.orders.services.drafts import form_draft
from apps.orders.types import LineInput


@service(P.APPLY)
def order_again(*, actor: Actor, order_uid: UUID) -> ApplicationForm:
    """A draft of the actor's with the service, the amounts, the program, the volumes and the duration that an order had
    in the end, at the prices of now.

    Raises what `form_draft` raises: for a service that is sold no more, or an amount that is out of range by now.
    """
    order = order_get(actor=actor, uid=order_uid)
    line, form = order.line, order.form
    system = order.business_system
    return form_draft(
        actor=actor,
        lines=[
            LineInput(
                line.commodity.uid, order.quote.get("amounts") or line.amounts, line.count, line.program
            )
        ],
        duration_s=order.duration_s,
        business_system_uid=system.uid if system is not None and system.is_enabled else None,
        data=form.data,
        volumes=form.volumes,
    )
