"""Tell people and open pages what became of a form or an order, and keep the operators' index true."""

from collections.abc import Iterable

from apps.cases.services import case_put
from apps.kernel.actor import Actor
from apps.kernel.planes import current_tenant
from apps.notices.push import push
from apps.notices.services import notice_send
from apps.orders.models import ApplicationForm, Order
from apps.orders.selectors import case_of_form, case_of_order


def form_shown(actor: Actor, form: ApplicationForm) -> None:
    """The form's case is as the form is, and open pages fetch it again."""
    case_put(actor=actor, data=case_of_form(form))
    push(f"form.{form.uid}")
    push(f"user.{form.applicant_id}", "form")


def order_shown(actor: Actor, order: Order) -> None:
    case_put(actor=actor, data=case_of_order(order))
    push(f"order.{order.uid}")
    push(f"user.{order.applicant_id}", "order")


def form_notify(actor: Actor, form: ApplicationForm, msgid: str, **params: object) -> None:
    """A message to the form's applicant."""
    _tell(actor, [form.applicant_id], msgid, {"no": form.no, **params}, f"/forms/{form.uid}/")


def order_notify(actor: Actor, order: Order, msgid: str, **params: object) -> None:
    """A message to the order's applicant."""
    _tell(actor, [order.applicant_id], msgid, {"no": order.no, **params}, f"/orders/{order.uid}/")


def _tell(actor: Actor, user_ids: Iterable[int], msgid: str, params: dict[str, object], link: str) -> None:
    notice_send(
        actor=actor, user_ids=user_ids, msgid=msgid, params=params, link=link, tenant=current_tenant()
    )
