"""Deliver an order, and follow its resource to the end.

Locks: workload before order before ticket before form. Handlers of what happens to a workload never refuse: what
they are told may come twice or late, and then changes nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.billing.services.charges import charge_close, charge_open
from apps.billing.types import CostLabels
from apps.catalog.states import CommodityKind
from apps.centre.selectors import tickets_are_sent
from apps.kernel.actor import SYSTEM, Actor, act_subject
from apps.kernel.errors import Busy, Conflict, Forbidden, InvalidInput, NotFound, WeirError
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orders.locks import order_lock
from apps.orders.models import Order
from apps.orders.services.form_progress import form_delivering, form_settle
from apps.orders.services.notifications import order_notify, order_shown
from apps.orders.services.terminations import order_ended_write, order_terminated
from apps.orders.services.volume_orders import volume_deliver, volume_meter
from apps.orders.states import ORDER, FormState, OrderState
from apps.orders.types import ordered_work
from apps.scheduling.models import Workload
from apps.scheduling.selectors.entitlements.quotas import hold_organization
from apps.scheduling.services.quota.quotas import quota_release, quota_use
from apps.scheduling.services.workloads.submission.order_work import workload_submit
from apps.scheduling.states import WorkloadState
from apps.scheduling.text.end_reasons import end_message
from apps.storage.services.ordered import mounted_check, mounted_lock
from apps.tickets.models import Ticket
from apps.tickets.permissions import TicketsPermission
from apps.tickets.selectors import ticket_get
from apps.tickets.services.life import meant_check, ticket_claim, ticket_done, ticket_executed, ticket_fail
from apps.tickets.states import OPEN, TicketState

DELIVERED = gettext_noop("Order %(no)s is delivered: its resource is running.")
ANSWERED = gettext_noop("Order %(no)s is carried out: the answer is on its page.")
FAILED = gettext_noop("Order %(no)s could not be delivered: %(reason)s")
ENDED = gettext_noop("The resource of order %(no)s has ended and is released.")
ENDED_BECAUSE = gettext_noop("The resource of order %(no)s has ended and is released. %(why)s")


@service()
def order_deliver(*, actor: Actor, order_uid: UUID) -> Order:
    """Deliver a pending order: claim its ticket, ask the scheduler for the resource, open the charge (annex C).

    By the system as soon as the order is made, or once its ticket is sent where the centre wants that (PLAT-CFG-45);
    or by the operator who has claimed the ticket (PLAT-TODO-12). Any further
    call changes nothing: one workload, one charge.

    Raises Busy where something is away for a moment: the order waits on, and the sweep tries again.
    """
    volumes = mounted_lock(_mounts(order_uid))
    order = order_lock(order_uid)
    if order is None:
        raise NotFound()
    act_subject("order", order.uid, no=order.no)
    ticket = Ticket.objects.get(uid=order.ticket_uid)
    if order.state != OrderState.PENDING:
        _repeated(actor, order)
        return order
    if order.is_manual:
        # It waits for whoever claims its ticket, and for his answer.
        return order
    if not _ticket_taken(actor, ticket):
        return order
    ORDER.move(order, OrderState.PROCESSING, actor=actor)
    form_delivering(order.form_id)
    try:
        with transaction.atomic():
            mounted_check(_mounts(order_uid), volumes)
            _resource_make(order)
    except Busy:
        raise
    except WeirError as error:
        # What was made is undone: the order has neither.
        order.volume_uid = order.workload_uid = None
        _fail(order, str(error))
    if order.volume_uid is not None and order.state == OrderState.PROCESSING:
        order_started(actor=SYSTEM, order_uid=order.uid, at=timezone.now())
        order.refresh_from_db()
    order_shown(actor, order)
    return order


@service(TicketsPermission.WORK)
def ticket_send(*, actor: Actor, ticket_uid: UUID) -> Order:
    """Send a waiting delivery ticket: its order is delivered as if it had gone out by itself (PLAT-CFG-45)."""
    ticket = ticket_get(actor=actor, uid=ticket_uid)
    order_uid = ticket.order_uid()
    meant_check(actor, ticket)
    act_subject("ticket", ticket.uid, no=ticket.no)
    order = order_lock(order_uid)
    if order is not None and order.is_manual:
        raise Conflict(
            _("The ticket %(no)s is carried out by a person.") % {"no": ticket.no}, cure=_("Claim it first.")
        )
    ticket_claim(actor=SYSTEM, ticket_uid=ticket_uid)
    return order_deliver(actor=SYSTEM, order_uid=order_uid)


@service()
def ticket_execute(*, actor: Actor, ticket_uid: UUID, note: str = "") -> Order:
    """Carry out a delivery ticket that the actor has claimed: its order is delivered now (PLAT-TODO-12).

    Page and API both come here. `note`: what the actor says of it, kept with the ticket.
    """
    ticket = ticket_get(actor=actor, uid=ticket_uid)
    order = order_lock(ticket.order_uid())
    if order is None:
        raise NotFound()
    if order.is_manual:
        return _answered(actor, order, ticket, note.strip())
    order = order_deliver(actor=actor, order_uid=order.uid)
    if ticket_get(actor=actor, uid=ticket_uid).state == TicketState.DELIVERING:
        ticket_executed(actor=actor, ticket_uid=ticket_uid, note=note)
    return order


def _answered(actor: Actor, order: Order, ticket: Ticket, answer: str) -> Order:
    """What a person carried out is delivered with his answer, and over: nothing of it runs on."""
    act_subject("order", order.uid, no=order.no)
    if order.state != OrderState.PENDING:
        _repeated(actor, order)
        return order
    _ticket_taken(actor, ticket)
    if not answer:
        reason = _("Say what was done: the answer delivers the order.")
        raise InvalidInput(reason, fields={"text": reason})
    now = timezone.now()
    for state in (OrderState.PROCESSING, OrderState.SHIPPED, OrderState.COMPLETED):
        ORDER.move(order, state, actor=actor)
    order.started_at = now
    order.save(update_fields=["started_at", "updated_at"])
    order_ended_write(order, now, "answered", "")
    ticket_executed(actor=actor, ticket_uid=ticket.uid, note=answer)
    ticket_done(actor=SYSTEM, ticket_uid=ticket.uid)
    order_shown(actor, order)
    order_notify(actor, order, ANSWERED)
    form_settle(order.form_id)
    return order


def _repeated(actor: Actor, order: Order) -> None:
    """A message that comes twice is no mistake; a person who asks twice is told."""
    if actor.is_user:
        raise Conflict(_("The order %(no)s is in delivery already, or over.") % {"no": order.no})


def _ticket_taken(actor: Actor, ticket: Ticket) -> bool:
    """Whether this actor delivers: the system takes what waits if tickets are sent by themselves, leaves what a person
    has claimed, and delivers what was sent, or closed with nothing delivered."""
    if actor.kind == "system":
        if ticket.state == TicketState.WAITING:
            if not tickets_are_sent():
                return False
            ticket_claim(actor=actor, ticket_uid=ticket.uid)
            return True
        return ticket.state != TicketState.DELIVERING or ticket.assignee_id is None
    if ticket.state != TicketState.DELIVERING or ticket.assignee_id != actor.user_id:
        raise Forbidden(_("The ticket %(no)s is not yours.") % {"no": ticket.no}, cure=_("Claim it first."))
    return True


def _mounts(order_uid: UUID) -> list[Mapping[str, Any]]:
    """The volumes that the work of an order is to find in its place, as they were frozen with it."""
    snapshots = Order.objects.filter(uid=order_uid).values_list("line__commodity_snapshot", flat=True)
    return list(((snapshots.first() or {}).get("work") or {}).get("volumes", []))


def _resource_make(order: Order) -> None:
    """Volume or workload, quota and charge in the order's own transaction."""
    tenant, line = current_tenant(), order.line
    organization = hold_organization(tenant, line.hold_uid)
    labels = {
        "business_system": order.business_system_name,
        "organization": order.organization_name,
        "person": order.applicant_name,
    }
    run_s: int | None = order.duration_s
    if line.commodity_snapshot["kind"] == CommodityKind.VOLUME:
        uid = volume_deliver(order)
    else:
        uid, run_s = _workload_ask(order, organization, labels)
    quota_use(actor=SYSTEM, tenant=tenant, holder_uid=line.hold_uid)
    charge_open(
        actor=SYSTEM,
        tenant=tenant,
        order_uid=order.uid,
        order_no=order.no,
        workload_uid=uid,
        quote=order.quote,
        labels=CostLabels(
            **labels,
            business_system_uid=order.business_system.uid if order.business_system else None,
            organization_uid=organization,
            user_id=order.applicant_id,
        ),
        run_s=run_s,
    )


def _workload_ask(
    order: Order, organization: UUID | None, labels: Mapping[str, str]
) -> tuple[UUID, int | None]:
    """The workload of an order, and for how long it may run."""
    line = order.line
    workload = workload_submit(
        actor=SYSTEM,
        tenant=current_tenant(),
        user_id=order.applicant_id,
        organization=organization,
        business_system=order.business_system.uid if order.business_system else None,
        order_uid=order.uid,
        order_no=order.no,
        name_en=order.commodity_name_en,
        name_zh=order.commodity_name_zh,
        ordered=ordered_work(line.amounts, line.count, line.commodity_snapshot),
        run_timeout_s=order.duration_s,
        labels=labels,
    )
    order.workload_uid = workload.uid
    order.save(update_fields=["workload_uid", "updated_at"])
    return workload.uid, workload.run_timeout_s


# --- what happens to the workload ------------------------------------------------------------------------------


@service()
def order_started(*, actor: Actor, order_uid: UUID, at: datetime) -> None:
    """The resource runs: the ticket is done, the order shipped and completed, and so is the form when all of it
    is delivered."""
    order = order_lock(order_uid)
    if order is None or order.started_at or order.is_ended:
        return
    act_subject("order", order.uid, no=order.no)
    order.started_at = at
    order.save(update_fields=["started_at", "updated_at"])
    _ticket_end(order, "")
    if order.state == OrderState.PROCESSING:
        ORDER.move(order, OrderState.SHIPPED, actor=actor)
        ORDER.move(order, OrderState.COMPLETED, actor=actor)
    elif order.state == OrderState.TERMINATING:
        order.state_before = OrderState.COMPLETED
        order.save(update_fields=["state_before", "updated_at"])
    order_shown(actor, order)
    order_notify(actor, order, DELIVERED)
    form_settle(order.form_id)


@service()
def order_ended(
    *,
    actor: Actor,
    order_uid: UUID,
    at: datetime,
    failed: bool = False,
    reason_code: str = "",
    reason: str = "",
) -> None:
    """The resource is released: quota back, charge closed to the second. An order that never ran has failed; one
    whose termination was granted is terminated; any other stays completed, with its end beside it."""
    order = order_lock(order_uid)
    if order is None or order.is_ended:
        return
    act_subject("order", order.uid, no=order.no, reason=reason_code, failed=failed)
    quota_release(actor=SYSTEM, tenant=current_tenant(), holder_uid=order.line.hold_uid)
    if order.volume_uid is not None:
        volume_meter(order, at)
    charge_close(actor=SYSTEM, workload_uid=order.charged_uid, at=at)
    order_ended_write(order, at, reason_code, reason)
    _ticket_end(order, reason or reason_code or "ended")
    why = end_message(reason_code, reason, seconds=order.duration_s)
    if order.state == OrderState.TERMINATING:
        _ended_while_terminating(actor, order)
    elif order.started_at is None:
        _failed_write(order, reason or reason_code, why=why or reason_code)
    elif why and reason_code != "completed":
        order_notify(actor, order, ENDED_BECAUSE, why=why)
    else:
        order_notify(actor, order, ENDED)
    order_shown(actor, order)


@service()
def order_follow(*, actor: Actor, order_uid: UUID, work: Workload) -> None:
    """Bring an order to where its resource is: what it was not told when it happened. Again changes nothing."""
    if work.started_at:
        order_started(actor=actor, order_uid=order_uid, at=work.started_at)
    if work.is_final and work.ended_at:
        order_ended(
            actor=actor,
            order_uid=order_uid,
            at=work.ended_at,
            failed=work.state != WorkloadState.FINISHED,
            reason_code=work.reason_code,
            reason=str(work.reason.get("text", "")),
        )


def _ended_while_terminating(actor: Actor, order: Order) -> None:
    if order.terminations.filter(state=FormState.DELIVERING).exists():
        order_terminated(actor, order)
    elif order.started_at is None:
        # Not decided yet: should the termination be refused, the order turns out to have failed.
        order.state_before = OrderState.FAILED
        order.save(update_fields=["state_before", "updated_at"])
    if order.started_at is None:
        form_settle(order.form_id)


def _fail(order: Order, reason: str) -> None:
    """Delivery was refused before there was a resource."""
    quota_release(actor=SYSTEM, tenant=current_tenant(), holder_uid=order.line.hold_uid)
    _ticket_end(order, reason)
    _failed_write(order, reason)


def _failed_write(order: Order, reason: str, *, why: object = "") -> None:
    """`why`: the reason as a sentence of its own, where there is one."""
    ORDER.move(order, OrderState.FAILED, actor=SYSTEM, note=reason[:500])
    order_shown(SYSTEM, order)
    order_notify(SYSTEM, order, FAILED, reason=why or reason)
    form_settle(order.form_id)


def _ticket_end(order: Order, failure: str) -> None:
    """Finish the order's ticket if it is open still: done without a failure, else failed.

    Locked first: whoever holds the ticket may give it back at this moment.
    """
    rows = Ticket.objects.select_for_update(no_key=True, of=("self",))
    ticket = rows.filter(uid=order.ticket_uid, state__in=OPEN).first()
    if ticket is None:
        return
    if failure:
        ticket_fail(actor=SYSTEM, ticket_uid=ticket.uid, reason=failure)
        return
    if ticket.state == TicketState.WAITING:
        # Carried out and given back since: what it was for is done all the same.
        ticket_claim(actor=SYSTEM, ticket_uid=ticket.uid)
    ticket_done(actor=SYSTEM, ticket_uid=ticket.uid, result={"workload": str(order.charged_uid)})
