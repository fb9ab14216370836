"""Ask for the end of an order, and what follows when that is granted or not (PLAT-APPLY-20)."""

from datetime import datetime
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.approvals.services import process_start
from apps.catalog.models import ProcessApp
from apps.catalog.states import ProcessAppState
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.events import emit
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.service import service
from apps.orders.events import OrderMade
from apps.orders.locks import order_lock, order_take
from apps.orders.models import ApplicationForm, Order
from apps.orders.permissions import OrdersPermission as P
from apps.orders.selectors import form_titles, order_get, order_is_terminable
from apps.orders.services.drafts import draft_check, form_lock
from apps.orders.services.form_progress import form_settle
from apps.orders.services.later_forms import later_form_make
from apps.orders.services.notifications import form_notify, form_shown, order_notify, order_shown
from apps.orders.states import FORM, ORDER, FormKind, FormState, OrderState
from apps.scheduling.services.quota.quotas import quota_release
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.storage.services.ordered import ordered_volume_end
from apps.tickets.services.life import ticket_fail

TERMINATED = gettext_noop("Order %(no)s is terminated and its resource released.")
TERMINATED_FORM = gettext_noop("Application %(no)s is carried out: the resource is released.")


@service(P.TERMINATE)
def order_terminate(*, actor: Actor, order_uid: UUID, reason: str) -> ApplicationForm:
    """Make a termination form of an order and submit it. Until it is granted the order runs and is charged.

    Raises Conflict when the order has ended, or a termination is under way.
    """
    order_get(actor=actor, uid=order_uid)
    order = order_take(order_uid)
    if order is None:
        raise NotFound()
    form = later_form_make(actor, order, FormKind.TERMINATION, reason)
    return _submit(actor, form, order)


@service(P.TERMINATE)
def termination_submit(*, actor: Actor, form_uid: UUID) -> ApplicationForm:
    """Submit a termination form again that was withdrawn or sent back."""
    uids = ApplicationForm.objects.filter(uid=form_uid, applicant_id=actor.user_id)
    target = uids.values_list("target_order__uid", flat=True).first()
    order = order_take(target) if target else None
    if order is None:
        raise NotFound()
    form = form_lock(actor, form_uid)
    draft_check(form)
    return _submit(actor, form, order)


def _submit(actor: Actor, form: ApplicationForm, order: Order) -> ApplicationForm:
    _terminable_check(order)
    process_app = _process_app(order)
    ORDER.move(order, OrderState.TERMINATING, actor=actor, state_before=order.state)
    FORM.move(form, FormState.SUBMITTED, actor=actor, submitted_at=timezone.now(), note="")
    title_zh, title_en = form_titles(form)
    process_start(
        actor=actor,
        template=process_app.process_template,
        subject_kind="form",
        subject_uid=form.uid,
        subject_no=form.no,
        title_zh=title_zh,
        title_en=title_en,
        applicant_id=form.applicant_id,
        data={"kind": form.kind, "organization": form.organization_name},
        organization_id=form.organization_id,
        organization_name=form.organization_name,
        business_system_id=form.business_system_id,
        business_system_name=form.business_system_name,
    )
    # A process without anybody to ask has decided by now.
    form.refresh_from_db()
    order.refresh_from_db()
    form_shown(actor, form)
    order_shown(actor, order)
    return form


def _terminable_check(order: Order) -> None:
    if order.state == OrderState.TERMINATING:
        raise Conflict(_("The termination of %(no)s is under way already.") % {"no": order.no})
    if not order_is_terminable(order):
        raise Conflict(_("The order %(no)s has ended already.") % {"no": order.no})


def _process_app(order: Order) -> ProcessApp:
    app = order.line.commodity.termination_app
    if app.state != ProcessAppState.PUBLISHED:
        raise Conflict(
            _("%(name)s has no published process for terminations.") % {"name": order.commodity_name},
            cure=_("Ask the operators to publish one."),
        )
    return app


def order_back(actor: Actor, order_id: int) -> None:
    """A termination was withdrawn, refused or sent back: the order is what it was before."""
    uid = Order.objects.values_list("uid", flat=True).get(pk=order_id)
    order = order_lock(uid)
    if order is None or order.state != OrderState.TERMINATING:
        return
    ORDER.move(order, order.state_before, actor=actor, state_before="")
    order_shown(actor, order)
    if order.state == OrderState.PENDING:
        emit(OrderMade(schema=current_schema(), order_uid=order.uid), actor=actor)


def termination_refused(actor: Actor, form: ApplicationForm, state: FormState) -> None:
    """The form ends as `state` (rejected, or draft when sent back) and the order goes on."""
    order_back(actor, form.target_order_id)
    FORM.move(form, state, actor=actor)
    form_shown(actor, form)


def termination_granted(actor: Actor, form: ApplicationForm) -> None:
    """Stop the resource; the order is terminated when it is released, at once if it runs no more.

    Workload and volume are locked before the order, as they are where they end by themselves.
    """
    order = Order.objects.get(pk=form.target_order_id)
    if order.volume_uid and not order.is_ended:
        now = timezone.now()
        ordered_volume_end(
            actor=SYSTEM, volume_uid=order.volume_uid, at=now, reason_code="stopped", reason=form.no
        )
    if order.workload_uid and not order.is_ended:
        tenant = current_tenant()
        workload_stop(actor=SYSTEM, tenant=tenant, workload_uid=order.workload_uid, reason=form.no)
    order = order_lock(order.uid)
    FORM.move(form, FormState.APPROVED, actor=actor)
    FORM.move(form, FormState.DELIVERING, actor=actor)
    form_shown(actor, form)
    if order.charged_uid is None:
        _never_delivered(order)
    if order.is_ended:
        order_terminated(actor, order)


def _never_delivered(order: Order) -> None:
    if order.line.hold_uid:
        quota_release(actor=SYSTEM, tenant=current_tenant(), holder_uid=order.line.hold_uid)
    order_ended_write(order, timezone.now(), "terminated", "")
    ticket_fail(actor=SYSTEM, ticket_uid=order.ticket_uid, reason="terminated")
    form_settle(order.form_id)


def order_ended_write(order: Order, at: datetime, reason_code: str, reason: str) -> None:
    """Write beside the state when and why the resource was released."""
    order.ended_at, order.end_reason_code, order.end_reason = at, reason_code[:32], reason[:500]
    order.save(update_fields=["ended_at", "end_reason_code", "end_reason", "updated_at"])


def order_terminated(actor: Actor, order: Order) -> None:
    """The resource of an order whose termination was granted is released: both are done."""
    ORDER.move(order, OrderState.TERMINATED, actor=actor, state_before="")
    order_shown(actor, order)
    order_notify(actor, order, TERMINATED)
    form = order.terminations.select_for_update(no_key=True, of=("self",)).get(state=FormState.DELIVERING)
    FORM.move(form, FormState.COMPLETED, actor=actor)
    form_shown(actor, form)
    if form.applicant_id != order.applicant_id:
        form_notify(actor, form, TERMINATED_FORM)
