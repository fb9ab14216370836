"""What an approval means for its form (PLAT-OPS-22). Called in the transaction that decides."""

from uuid import UUID

from django.utils.translation import gettext_noop

from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.planes import current_schema
from apps.kernel.service import service
from apps.orders.events import OrderMade
from apps.orders.models import ApplicationForm, FormLine, Order
from apps.orders.selectors import in_both
from apps.orders.services.changes import change_granted
from apps.orders.services.notifications import form_notify, form_shown, order_shown
from apps.orders.services.submissions import holds_release
from apps.orders.services.terminations import termination_granted, termination_refused
from apps.orders.states import FORM, FormKind, FormState
from apps.orgs.services.numbers import number_next
from apps.tickets.services.life import ticket_open

APPROVED = gettext_noop("Your application %(no)s is approved.")
REJECTED = gettext_noop("Your application %(no)s is rejected.")
SENT_BACK = gettext_noop("Your application %(no)s was sent back: change it and submit it again.")


@service()
def form_approving(*, actor: Actor, form_uid: UUID) -> None:
    """The first decision closes the withdrawal (PLAT-APPLY-15). Any later one changes nothing."""
    form = ApplicationForm.objects.filter(uid=form_uid, state=FormState.SUBMITTED).first()
    if form is None:
        return
    FORM.move(form, FormState.APPROVING, actor=actor)
    form_shown(actor, form)


@service()
def form_decided(*, actor: Actor, form_uid: UUID, outcome: str) -> None:
    """The approval of a form is over: `outcome` is approved, rejected or sent_back."""
    form_approving(actor=actor, form_uid=form_uid)
    form = ApplicationForm.objects.get(uid=form_uid)
    if outcome == "approved":
        _approved(actor, form)
    else:
        _refused(actor, form, outcome)


def _refused(actor: Actor, form: ApplicationForm, outcome: str) -> None:
    state = FormState.REJECTED if outcome == "rejected" else FormState.DRAFT
    if form.kind == FormKind.TERMINATION:
        termination_refused(actor, form, state)
    else:
        FORM.move(form, state, actor=actor)
        holds_release(actor, form)
        form_shown(actor, form)
    form_notify(actor, form, REJECTED if outcome == "rejected" else SENT_BACK)


def _approved(actor: Actor, form: ApplicationForm) -> None:
    form_notify(actor, form, APPROVED)
    if form.kind == FormKind.TERMINATION:
        termination_granted(actor, form)
        return
    if form.kind == FormKind.CHANGE:
        change_granted(actor, form)
        return
    FORM.move(form, FormState.APPROVED, actor=actor)
    for line in form.lines.all():
        _order_make(actor, form, line)
    form_shown(actor, form)


def _order_make(actor: Actor, form: ApplicationForm, line: FormLine) -> Order:
    """The order of a line, pending, with its ticket: made at once, linked to the form (PLAT-OPS-22)."""
    snapshot = line.commodity_snapshot
    order = Order(
        no=number_next(actor=actor, letter="O"),
        form=form,
        line=line,
        commodity_name_zh=snapshot["name_zh"],
        commodity_name_en=snapshot["name_en"],
        supplier=snapshot["supplier"],
        applicant_id=form.applicant_id,
        applicant_name=form.applicant_name,
        organization=form.organization,
        organization_name=form.organization_name,
        business_system=form.business_system,
        duration_s=form.duration_s,
        quote=line.quote,
    )
    title = gettext_noop("Carry out %(name)s") if order.is_manual else gettext_noop("Deliver %(name)s")
    title_zh, title_en = in_both(title, order.commodity_name_zh, order.commodity_name_en)
    ticket = ticket_open(
        actor=actor,
        is_manual=order.is_manual,
        subject_kind="order",
        subject_uid=order.uid,
        subject_no=order.no,
        title_zh=title_zh,
        title_en=title_en,
        submitter_id=form.applicant_id,
        organization_id=form.organization_id,
        organization_name=form.organization_name,
        business_system_id=form.business_system_id,
        business_system_name=form.business_system_name,
    )
    order.ticket_uid = ticket.uid
    order.save()
    order_shown(actor, order)
    emit(OrderMade(schema=current_schema(), order_uid=order.uid), actor=actor)
    return order
