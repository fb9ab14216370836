"""Who ordered something is told before it ends, so that there is time to ask for more."""

from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.orders.locks import order_lock
from apps.orders.selectors import order_is_extendable
from apps.orders.services.notifications import order_notify

_ENDS = gettext_noop(
    "The resource of order %(no)s ends at %(at)s. If you need it longer, apply for more time on the page of the order."
)


@service(recorded=False)
def order_end_tell(*, actor: Actor, order_uid: UUID, ends_at: datetime) -> None:
    """Tell the applicant that it ends; once for each duration that the order has had."""
    order = order_lock(order_uid)
    if order is None or not order_is_extendable(order) or order.end_told_s == order.duration_s:
        return
    order.end_told_s = order.duration_s
    order.save(update_fields=["end_told_s"])
    at = timezone.localtime(ends_at).strftime("%Y-%m-%d %H:%M")
    order_notify(actor, order, _ENDS, at=at)
