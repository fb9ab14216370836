"""When a form with several orders is in delivery, and when it is done."""

from django.utils.translation import gettext_noop

from apps.kernel.actor import SYSTEM
from apps.orders.models import ApplicationForm, Order
from apps.orders.services.notifications import form_notify, form_shown
from apps.orders.states import FORM, FormState, OrderState

FORM_DONE = gettext_noop("Application %(no)s is completed.")
NOTE_FAILED = gettext_noop("Not everything could be delivered.")
_SETTLED = (OrderState.COMPLETED, OrderState.FAILED, OrderState.TERMINATED)


def _lock(form_id: int) -> ApplicationForm:
    return ApplicationForm.objects.select_for_update(no_key=True, of=("self",)).get(pk=form_id)


def form_delivering(form_id: int) -> None:
    """The first of the form's orders is being delivered."""
    form = _lock(form_id)
    if form.state == FormState.APPROVED:
        FORM.move(form, FormState.DELIVERING, actor=SYSTEM)
        form_shown(SYSTEM, form)


def form_settle(form_id: int) -> None:
    """Complete the form once each of its orders is delivered or over. The lock makes two orders that end at once
    see each other."""
    form = _lock(form_id)
    if form.state not in (FormState.APPROVED, FormState.DELIVERING):
        return
    orders = list(form.orders.all())
    if not all(_is_settled(one) for one in orders):
        return
    if form.state == FormState.APPROVED:
        FORM.move(form, FormState.DELIVERING, actor=SYSTEM)
    note = NOTE_FAILED if any(one.started_at is None for one in orders) else ""
    FORM.move(form, FormState.COMPLETED, actor=SYSTEM, note=note)
    form_shown(SYSTEM, form)
    form_notify(SYSTEM, form, FORM_DONE)


def _is_settled(order: Order) -> bool:
    return order.state in _SETTLED or order.started_at is not None or order.is_ended
