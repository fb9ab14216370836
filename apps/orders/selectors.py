"""Carts, forms, attachments and orders as an actor may see them, and the cases they show to operators.

Own ones, and others' as far as the data permission goes; who was asked to decide on a form sees that form.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet, Value
from django.utils import timezone, translation
from django.utils.translation import gettext, gettext_noop

from apps.approvals.models import HumanTask, ProcessInstance
from apps.approvals.selectors import case_of as case_of_task
from apps.approvals.selectors import process_list, subjects_asked_of
from apps.cases.types import CaseData, CaseKind
from apps.catalog.states import CardUse, FieldKind
from apps.centre.selectors import tickets_are_sent
from apps.fleet.selectors import card_models
from apps.identity.models import User
from apps.identity.selectors import memberships_present
from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.planes import current_schema, current_tenant
from apps.kernel.translatable import localized
from apps.kernel.unit_text import mib_text, span_text
from apps.orders.models import ApplicationForm, Attachment, CartLine, Order, OrderRemark
from apps.orders.permissions import OrdersPermission as P
from apps.orders.permissions import orders_reached
from apps.orders.states import FINISHED, IN_PROGRESS, TERMINABLE, FormKind, FormState, OrderState
from apps.orders.types import STORAGE
from apps.orgs.permissions import OrgsPermission
from apps.orgs.selectors.people import people_reached
from apps.scheduling.models import Workload
from apps.scheduling.selectors.entitlements.resource_tickets import queue_list_of
from apps.scheduling.selectors.entitlements.unfunded import unfunded_list
from apps.scheduling.selectors.timeline import work_end_list
from apps.scheduling.selectors.workloads import queue_list
from apps.scheduling.text.end_reasons import end_sentence
from apps.tickets.models import Ticket
from apps.tickets.selectors import case_of as case_of_ticket
from apps.tickets.selectors import tickets_waiting
from apps.tickets.states import TicketState

_TOLD_BEFORE = timedelta(days=3)
TABS = ("all", "in_progress", "completed")


def cart_list(*, actor: Actor) -> QuerySet[CartLine]:
    """The actor's own cart, newest first (PLAT-APPLY-1)."""
    return CartLine.objects.filter(user_id=actor.user_id).select_related("commodity")


# --- forms -----------------------------------------------------------------------------------------------------


def _forms(actor: Actor) -> QuerySet[ApplicationForm]:
    actor.require(P.VIEW)
    rows = ApplicationForm.objects.select_related("business_system", "target_order")
    rows = rows.filter(orders_reached(actor) | Q(uid__in=subjects_asked_of(actor.user_id)))
    # A draft is its writer's own until it is submitted.
    return rows.exclude(~Q(applicant_id=actor.user_id), state=FormState.DRAFT, submitted_at=None)


def form_list(
    *, actor: Actor, tab: str = "all", search: str = "", state: str = "", business_system: str = ""
) -> QuerySet[ApplicationForm]:
    """Forms by tab, business number, state and business system's uid (PLAT-APPLY-8, -10, -13)."""
    if tab not in TABS:
        raise InvalidInput(fields={"tab": ", ".join(TABS)})
    rows = _forms(actor)
    if tab != "all":
        rows = rows.filter(state__in=IN_PROGRESS if tab == "in_progress" else FINISHED)
    if search:
        rows = rows.filter(no__icontains=search)
    if state:
        rows = rows.filter(state=state)
    return rows.filter(business_system__uid=business_system) if business_system else rows


def form_get(*, actor: Actor, uid: UUID) -> ApplicationForm:
    """One form with its lines and attachments; NotFound for one that is not for this actor."""
    rows = _forms(actor).prefetch_related("lines__commodity", "attachments", "orders")
    row = rows.filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def form_is_withdrawable(*, actor: Actor, form: ApplicationForm) -> bool:
    """Whether a page offers the withdrawal: the actor's own form, and nobody has decided yet (PLAT-APPLY-15)."""
    return form.state == FormState.SUBMITTED and form.applicant_id == actor.user_id


def attachment_get(*, actor: Actor, uid: UUID) -> Attachment:
    """An attachment of a form that the actor may see: applicant, approver, executor (PLAT-APPLY-5)."""
    row = Attachment.objects.select_related("form").filter(uid=uid, form__in=_forms(actor)).first()
    if row is None:
        raise NotFound()
    return row


def fields_open(fields: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The fields of a form that its applicant fills in."""
    return [
        field
        for field in fields
        if field.get("state", "read_write") == "read_write" and field["kind"] != FieldKind.HEADING
    ]


def field_options(kind: str, actor: Actor) -> list[tuple[str, str]] | None:
    """What a field of the current tenant's forms offers by name, each with its value: the people and the queues that
    the actor may know of, the cards that the centre has; None for a field that is written."""
    if kind == FieldKind.PERSON:
        people = memberships_present(current_tenant()).filter(people_reached(actor))
        people = people.order_by("user__display_name", "user__username")
        if not actor.may(OrgsPermission.VIEW):
            people = people.filter(user_id=actor.user_id or 0)
        return [(row.user.username, _person(row.user)) for row in people]
    if kind == FieldKind.QUEUE:
        queues = queue_list_of(current_tenant(), actor.user_id)
        return [(row.code, localized(row.name_zh, row.name_en)) for row in queues]
    if kind == FieldKind.MODEL:
        return [(row.model, row.text) for row in card_models()]
    return None


def _person(user: User) -> str:
    return f"{user} ({user.username})"


def further_shown(form: ApplicationForm) -> list[tuple[Mapping[str, Any], str]]:
    """The form's own fields with what was filled in, in the reader's words."""
    return [
        (field, _shown(field, form.data[field["name"]]))
        for field in fields_open(form.fields)
        if form.data.get(field["name"]) not in (None, "")
    ]


def _shown(field: Mapping[str, Any], value: Any) -> str:
    if field["kind"] == FieldKind.DURATION:
        return span_text(value)
    if field["kind"] == FieldKind.MEMORY:
        return mib_text(value)
    if field["kind"] == FieldKind.NUMBER:
        return f"{value:g} {field.get('unit', '')}".strip()
    if field["kind"] == FieldKind.PERSON:
        found = memberships_present(current_tenant()).filter(user__username=value).first()
        return _person(found.user) if found else str(value)
    if field["kind"] == FieldKind.QUEUE:
        queue = queue_list().filter(code=value).first()
        return localized(queue.name_zh, queue.name_en) if queue else str(value)
    return str(value)


# --- orders ----------------------------------------------------------------------------------------------------


def order_list(
    *, actor: Actor, search: str = "", state: str = "", business_system: str = "", supplier: str = ""
) -> QuerySet[Order]:
    """Orders by number or business system's name and number, state, business system's uid, supplier
    (PLAT-APPLY-18, PLAT-APPLY-21)."""
    actor.require(P.VIEW)
    rows = Order.objects.select_related("business_system", "form", "line").filter(orders_reached(actor))
    if search:
        system = Q(business_system__name__icontains=search) | Q(business_system__number__icontains=search)
        rows = rows.filter(Q(no__icontains=search) | Q(form__no__icontains=search) | system)
    if state:
        rows = rows.filter(state=state)
    if supplier:
        rows = rows.filter(supplier__icontains=supplier)
    return rows.filter(business_system__uid=business_system) if business_system else rows


def order_get(*, actor: Actor, uid: UUID) -> Order:
    """One order; NotFound for another tenant's or one that is not for this actor."""
    row = order_list(actor=actor).filter(uid=uid).first()
    if row is None:
        raise NotFound()
    return row


def remark_list(*, actor: Actor, order: Order) -> QuerySet[OrderRemark]:
    """What was said about an order that the actor sees, the oldest first."""
    actor.require(P.VIEW)
    return order.remarks.order_by("created_at", "pk")


def processes_of_order(order: Order) -> list[ProcessInstance]:
    """The time line of an order: the approval of its form, then those of later forms (PLAT-APPLY-19)."""
    runs = process_list(order.form.uid)
    for form in order.later_forms.order_by("pk"):
        runs += process_list(form.uid)
    return runs


def order_is_terminable(order: Order) -> bool:
    """Whether a page offers the termination (PLAT-APPLY-20)."""
    return order.state in TERMINABLE and not order.is_ended


def order_is_extendable(order: Order) -> bool:
    """Whether it can be given more time: it was delivered and has not ended (PLAT-APPLY-22)."""
    return order.state == OrderState.COMPLETED and order.started_at is not None and not order.is_ended


def order_is_changeable(order: Order) -> bool:
    """Whether it can be given other amounts: it runs, and is a volume or made of shares of cards (PLAT-APPLY-22)."""
    is_running = order_is_extendable(order)
    delivery = order.line.commodity_snapshot
    is_fixed = delivery.get("spec") or delivery.get("card_use", CardUse.SHARE) != CardUse.SHARE
    amounts = order.quote.get("amounts", {})
    return is_running and (STORAGE in amounts or (not is_fixed and "compute_share" in amounts))


def order_end_reason(order: Order) -> str:
    """Why the order's resource was released, in the reader's language."""
    memory = order.quote.get("amounts", {}).get("gpu_memory")
    return end_sentence(order.end_reason_code, order.end_reason, seconds=order.duration_s, mib=memory)


def orders_undelivered() -> list[UUID]:
    """The orders of the current tenant that wait for delivery: what the sweep takes up. What a person has claimed and
    not closed is that person's to deliver; where tickets are not sent by themselves, one that waits is somebody's to
    send."""
    claimed = Ticket.objects.filter(
        uid=OuterRef("ticket_uid"), assignee__isnull=False, state=TicketState.DELIVERING
    )
    rows = Order.objects.filter(~Exists(claimed), state=OrderState.PENDING)
    if not tickets_are_sent():
        rows = rows.filter(~Exists(tickets_waiting().filter(uid=OuterRef("ticket_uid"))))
    return list(rows.order_by("pk").values_list("uid", flat=True))


def volume_orders_open() -> list[UUID]:
    """The orders of the current tenant whose volume is there: what the clock meters."""
    rows = Order.objects.filter(ended_at=None, volume_uid__isnull=False, started_at__isnull=False)
    return list(rows.order_by("pk").values_list("uid", flat=True))


def orders_untold() -> list[tuple[UUID, Workload]]:
    """The orders of the current tenant whose resource went on without them: what the sweep tells them again."""
    orders = {
        row.workload_uid: row for row in Order.objects.filter(ended_at=None, workload_uid__isnull=False)
    }
    rows = Workload.objects.of(current_schema()).filter(uid__in=orders)
    return [
        (orders[row.uid].uid, row)
        for row in rows
        if row.is_final or (row.started_at and orders[row.uid].started_at is None)
    ]


def orders_end_at(orders: Iterable[Order]) -> dict[UUID, datetime]:
    """When what each order delivered is ended at the latest, by the order's uid; without those that do not run now."""
    running = [row for row in orders if order_is_extendable(row)]
    works = work_end_list([row.workload_uid for row in running if row.workload_uid is not None])
    found: dict[UUID, datetime] = {}
    for row in running:
        if row.workload_uid in works:
            found[row.uid] = works[row.workload_uid]
        elif row.volume_uid is not None and row.started_at is not None and row.duration_s is not None:
            found[row.uid] = row.started_at + timedelta(seconds=row.duration_s)
    return found


def orders_ending() -> list[tuple[UUID, datetime]]:
    """The orders of the current tenant whose end is near, and when that is: a tenth of their duration before it, three
    days at most. Without those whose applicants were told."""
    now, second = timezone.now(), Value(timedelta(milliseconds=900))
    late = ExpressionWrapper(F("started_at") + F("duration_s") * second, output_field=DateTimeField())
    rows = Order.objects.filter(state=OrderState.COMPLETED, ended_at=None, started_at__isnull=False)
    rows = rows.exclude(end_told_s=F("duration_s")).annotate(late=late).filter(late__lte=now)
    by_uid = {row.uid: row for row in rows}
    return [
        (uid, at)
        for uid, at in orders_end_at(by_uid.values()).items()
        if at - now <= min(timedelta(seconds=(by_uid[uid].duration_s or 0) / 10), _TOLD_BEFORE)
    ]


def open_orders_due() -> list[UUID]:
    """The delivered orders of the current tenant without an end whose commodity retires, or whose work is put aside for
    want of money."""
    rows = Order.objects.filter(duration_s=None, ended_at=None, workload_uid__isnull=False).order_by("pk")
    retiring = rows.filter(line__commodity__retires_at__isnull=False).values_list("uid", flat=True)
    works = {row.workload_uid: row.uid for row in rows}
    unfunded = unfunded_list(current_tenant(), [uid for uid in works if uid is not None]) if works else []
    return [*retiring, *(works[uid] for uid in unfunded if works[uid] not in retiring)]


# --- what operators see ----------------------------------------------------------------------------------------

_OPEN = (*TERMINABLE, OrderState.TERMINATING)


def in_both(msgid: str, name_zh: str, name_en: str) -> tuple[str, str]:
    """A sentence about `%(name)s` in Chinese and English: titles are kept in both, for readers of either."""
    with translation.override("zh-hans"):
        title_zh = gettext(msgid) % {"name": name_zh}
    with translation.override("en"):
        return title_zh, gettext(msgid) % {"name": name_en}


def form_titles(form: ApplicationForm) -> tuple[str, str]:
    """What a form is about, in Chinese and English."""
    if form.target_order:
        order = form.target_order
        names = (f"{order.no} {order.commodity_name_zh}", f"{order.no} {order.commodity_name_en}")
        ends = form.kind == FormKind.TERMINATION
        return in_both(
            gettext_noop("End of %(name)s") if ends else gettext_noop("Change of %(name)s"), *names
        )
    lines = list(form.lines.select_related("commodity"))
    return "、".join(one.commodity.name_zh for one in lines), ", ".join(
        one.commodity.name_en for one in lines
    )


def case_of_form(form: ApplicationForm) -> CaseData:
    title_zh, title_en = form_titles(form)
    return CaseData(
        kind=CaseKind.FORM,
        uid=form.uid,
        no=form.no,
        title_zh=title_zh,
        title_en=title_en,
        state=form.state,
        created_at=form.created_at,
        is_open=form.state in IN_PROGRESS,
        link=f"/forms/{form.uid}/",
        applicant_id=form.applicant_id,
        applicant_name=form.applicant_name,
        organization=form.organization_name,
        business_system=form.business_system_name,
    )


def case_of_order(order: Order) -> CaseData:
    return CaseData(
        kind=CaseKind.ORDER,
        uid=order.uid,
        no=order.no,
        title_zh=order.commodity_name_zh,
        title_en=order.commodity_name_en,
        state=order.state,
        created_at=order.created_at,
        is_open=order.state in _OPEN and not order.is_ended,
        link=f"/orders/{order.uid}/",
        applicant_id=order.applicant_id,
        applicant_name=order.applicant_name,
        organization=order.organization_name,
        business_system=order.business_system_name,
    )


def rows_shown() -> Iterator[CaseData]:
    """What every row of the current tenant that has a case should show there."""
    forms = ApplicationForm.objects.exclude(submitted_at=None).select_related(
        "business_system", "target_order"
    )
    yield from map(case_of_form, forms.iterator())
    yield from map(case_of_order, Order.objects.select_related("business_system").iterator())
    yield from map(case_of_ticket, Ticket.objects.iterator())
    yield from map(case_of_task, HumanTask.objects.select_related("instance").iterator())
