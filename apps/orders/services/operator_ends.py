"""The computing centre ends what an order delivered: of a tenant that is shut out, or where nobody of it can ask."""

from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.kernel.actor import SYSTEM, Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orders.locks import order_take
from apps.orders.models import Order
from apps.orders.services.drafts import REMARK_MAX
from apps.orders.services.notifications import order_notify
from apps.scheduling.permissions import ResourcePermission
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.storage.services.ordered import ordered_volume_end

_ENDED = gettext_noop("The computing centre has ended the resource of order %(no)s: %(reason)s")


@service(ResourcePermission.OPERATE)
def order_end(*, actor: Actor, order_uid: UUID, reason: str) -> Order:
    """End what an order delivered, work or volume, without asking the tenant; its applicant is told why. What it used
    until now is charged, and the files of a volume are kept as after any end.

    Also of a suspended tenant. Raises Conflict for an order that delivered nothing or has ended, Forbidden for people
    of the tenant, whose way is the termination.
    """
    if actor.kind == "user":
        raise Forbidden(cure=_("Apply for its end on its page."))
    reason = reason.strip()
    if not 1 <= len(reason) <= REMARK_MAX:
        raise InvalidInput(
            fields={"reason": _("Say why, in 1 to %(most)s characters.") % {"most": REMARK_MAX}}
        )
    order = order_take(order_uid)
    if order is None:
        raise NotFound()
    act_subject("order", order.uid, no=order.no, reason=reason)
    if order.is_ended:
        raise Conflict(_("The order %(no)s has ended already.") % {"no": order.no})
    if order.volume_uid is not None:
        now = timezone.now()
        ordered_volume_end(
            actor=SYSTEM, volume_uid=order.volume_uid, at=now, reason_code="stopped", reason=reason
        )
    elif order.workload_uid is not None:
        workload_stop(actor=actor, tenant=current_tenant(), workload_uid=order.workload_uid, reason=reason)
    else:
        raise Conflict(
            _("The order %(no)s has delivered nothing yet.") % {"no": order.no},
            cure=_("Close its ticket instead."),
        )
    order_notify(actor, order, _ENDED, reason=reason)
    order.refresh_from_db()
    return order
