"""What tenant and operator say to each other about an order (PLAT-APPLY-17)."""

from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.identity.selectors import operators_who_may, user_names
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.notices.services import notice_send
from apps.orders.locks import order_lock
from apps.orders.models import Order, OrderRemark
from apps.orders.permissions import OrdersPermission as P
from apps.orders.selectors import order_get
from apps.orders.services.notifications import order_shown

TEXT_MOST, REMARKS_MOST = 2000, 500
SAID = gettext_noop("%(name)s on order %(no)s: %(text)s")
# Who of the computing centre hears of the first remark on an order; later on also who has answered.
HEARING = ("operations_manager", "front_line")
_SHOWN = 120


@service(P.VIEW)
def order_remark(*, actor: Actor, order_uid: UUID, text: str) -> OrderRemark:
    """Say something about an order that one sees; those on the other side, and who took part, are told. Nothing of the
    order changes by it. Raises Conflict where too much was said already."""
    order_get(actor=actor, uid=order_uid)
    order = order_lock(order_uid)
    assert order is not None, "orders stay"
    act_subject("order", order.uid, no=order.no)
    if actor.user_id is None:
        raise Forbidden()
    text = text.strip()
    if not 1 <= len(text) <= TEXT_MOST:
        raise InvalidInput(fields={"text": _("Give 1 to %(longest)s characters.") % {"longest": TEXT_MOST}})
    if order.remarks.count() >= REMARKS_MOST:
        raise Conflict(
            _("There are %(most)s remarks on %(no)s.") % {"most": REMARKS_MOST, "no": order.no},
            cure=_("Open a ticket instead."),
        )
    row = OrderRemark.objects.create(
        order=order,
        author_id=actor.user_id,
        author_name=user_names({actor.user_id})[actor.user_id],
        by_operator=actor.kind == "operator",
        text=text,
    )
    _tell(actor, order, row)
    order_shown(actor, order)
    return row


def _tell(actor: Actor, order: Order, row: OrderRemark) -> None:
    """A message to everybody who took part but the author, and to the centre's people who answer."""
    spoken = set(order.remarks.values_list("author_id", "by_operator"))
    members = {order.applicant_id} | {pk for pk, is_operator in spoken if not is_operator}
    operators = {pk for pk, is_operator in spoken if is_operator}
    if not row.by_operator:
        operators |= operators_who_may(P.VIEW, roles=HEARING)
    short = row.text if len(row.text) <= _SHOWN else f"{row.text[:_SHOWN]}…"
    params = {"name": row.author_name, "no": order.no, "text": short}
    link, tenant = f"/orders/{order.uid}/", current_tenant()
    author = {row.author_id}
    notice_send(actor=actor, user_ids=members - author, msgid=SAID, params=params, link=link, tenant=tenant)
    under = f"/t/{tenant.schema_name}{link}"
    notice_send(actor=actor, user_ids=operators - author, msgid=SAID, params=params, link=under)
