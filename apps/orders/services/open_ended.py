"""Orders without an end: what ends them beside their owners, a commodity that retires and money that does not come."""

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.kernel.actor import Actor, act_subject
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orders.locks import order_take
from apps.orders.models import Order
from apps.orders.services.notifications import order_notify
from apps.scheduling.selectors.entitlements.unfunded import unfunded_since
from apps.scheduling.services.workloads.stopping import workload_stop

RETIRED_CODE, UNFUNDED_CODE = "commodity_retired", "unfunded"
_RETIRES = gettext_noop(
    "%(name)s, which order %(no)s runs without an end, is taken off the market: the order ends at %(at)s."
)
_UNFUNDED = gettext_noop("Order %(no)s has ended: its resource was put aside, and no money came for it.")


@service()
def open_order_follow(*, actor: Actor, order_uid: UUID) -> None:
    """Tell the applicant of an order without an end when its commodity retires, and end the order then; end it, too,
    where its work was put aside for want of money for as long as such work is kept. Coming twice changes nothing."""
    order = order_take(order_uid)
    if order is None or order.is_ended or order.duration_s is not None or order.workload_uid is None:
        return
    act_subject("order", order.uid, no=order.no)
    now = timezone.now()
    since = unfunded_since(current_tenant(), order.workload_uid)
    if since is not None and since <= now - timedelta(days=settings.WEIR_UNFUNDED_ORDER_DAYS):
        _end(actor, order, UNFUNDED_CODE)
        order_notify(actor, order, _UNFUNDED)
        return
    retires_at = order.line.commodity.retires_at
    if retires_at is None:
        return
    if retires_at <= now:
        _end(actor, order, RETIRED_CODE)
        return
    # What it will have run for by then, as of any order whose end its applicant was told of.
    told_s = int((retires_at - (order.started_at or order.created_at)).total_seconds())
    if order.end_told_s != told_s:
        order.end_told_s = told_s
        order.save(update_fields=["end_told_s"])
        at = timezone.localtime(retires_at).strftime("%Y-%m-%d %H:%M")
        order_notify(actor, order, _RETIRES, name=order.commodity_name_en, at=at)


def _end(actor: Actor, order: Order, reason_code: str) -> None:
    assert order.workload_uid is not None, "it was delivered"
    workload_stop(
        actor=actor,
        tenant=current_tenant(),
        workload_uid=order.workload_uid,
        reason=order.no,
        reason_code=reason_code,
    )
