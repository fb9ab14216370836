"""Give the resource of an order another share or size, or more time: applied for and approved like the order itself
(PLAT-APPLY-22).

Locks: process before workload or volume before order before form.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.approvals.services import process_start
from apps.billing.services.charges import funds_check
from apps.catalog.models import ProcessApp
from apps.catalog.selectors.prices import quote_get
from apps.catalog.states import ProcessAppState
from apps.catalog.types import Quote
from apps.kernel.actor import SYSTEM, Actor
from apps.kernel.errors import Conflict, InvalidInput, NotFound, WeirError
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orders.locks import order_take
from apps.orders.models import ApplicationForm, FormLine, Order
from apps.orders.permissions import OrdersPermission as P
from apps.orders.selectors import form_titles, order_get, order_is_changeable, order_is_extendable
from apps.orders.services.drafts import draft_check, form_lock
from apps.orders.services.later_forms import later_form_make
from apps.orders.services.notifications import form_notify, form_shown, order_shown
from apps.orders.services.volume_orders import volume_order_resize
from apps.orders.states import FORM, IN_PROGRESS, FormKind, FormState
from apps.orders.types import SIZES, STORAGE, amounts_delivered, duration_shown, quota_delivered
from apps.scheduling.services.workloads.resizing.extending import order_work_extend
from apps.scheduling.services.workloads.resizing.resizing import order_work_resize

CHANGED = gettext_noop("Application %(no)s is carried out: the resource has what was applied for.")
NOT_CHANGED = gettext_noop("Application %(no)s could not be carried out: %(reason)s")
# What a node can change of running work, and the size of a volume; the rest stays as it was ordered.
CHANGEABLE = ("compute_share", "gpu_memory", STORAGE)


class _Tried(Exception):
    """Nothing of what was tried is to stay."""


def change_quote(order: Order, amounts: Mapping[str, int], duration_s: int | None = None) -> Quote:
    """What the order would cost with these amounts, and for so long in all, at the prices that it was made at.

    Conflict where it does not run, InvalidInput naming each amount that is out of range or cannot be changed.
    """
    before = order.quote["amounts"]
    is_resized = any(before.get(code) != amount for code, amount in amounts.items())
    if not order_is_extendable(order) or (is_resized and not order_is_changeable(order)):
        raise Conflict(_("The order %(no)s has nothing running that could be changed.") % {"no": order.no})
    duration_s = order.duration_s if duration_s is None else duration_s
    if order.duration_s is None and duration_s is not None:
        raise InvalidInput(fields={"duration_s": _("It runs without an end.")})
    if duration_s is not None and order.duration_s is not None and duration_s < order.duration_s:
        raise InvalidInput(
            fields={"duration_s": _("It can only be made longer.")},
            cure=_("To end it earlier, apply for its end."),
        )
    fixed = {
        f"amounts.{code}": _("This stays as long as it runs.")
        for code in amounts
        if code in before and code not in CHANGEABLE and amounts[code] != before[code]
    }
    if fixed:
        raise InvalidInput(fields=fixed, cure=_("Apply for another resource, and end this one."))
    return quote_get(
        tenant=current_tenant(),
        commodity=order.line.commodity,
        amounts={**before, **amounts},
        count=order.quote["count"],
        duration_s=duration_s,
        at=datetime.fromisoformat(order.quote["at"]),
    )


@service(P.APPLY)
def order_change(
    *,
    actor: Actor,
    order_uid: UUID,
    amounts: Mapping[str, int],
    reason: str,
    duration_s: int | None = None,
) -> ApplicationForm:
    """Make a change form of an order and submit it. Until it is granted the resource stays what it is.

    `amounts` by component code, per share; what is not named stays. `duration_s`: for how long it is to run in all,
    None: as it is. What could not be carried out now is refused, so
    that nobody approves it: DeviceUnavailable, QuotaExceeded, FundsTooLow. Conflict while another change is under way.
    """
    order = _taken(actor, order_uid)
    form = later_form_make(actor, order, FormKind.CHANGE, reason, duration_s=duration_s)
    FormLine.objects.create(
        form=form,
        commodity=order.line.commodity,
        commodity_snapshot=order.line.commodity_snapshot,
        amounts={**order.quote["amounts"], **amounts},
        count=order.quote["count"],
    )
    return _submit(actor, form, order)


@service(P.APPLY)
def change_submit(*, actor: Actor, form_uid: UUID) -> ApplicationForm:
    """Submit a change form again that was withdrawn or sent back."""
    forms = ApplicationForm.objects.filter(uid=form_uid, applicant_id=actor.user_id)
    target = forms.values_list("target_order__uid", flat=True).first()
    if target is None:
        raise NotFound()
    order = _taken(actor, target)
    form = form_lock(actor, form_uid)
    draft_check(form)
    return _submit(actor, form, order)


def _taken(actor: Actor, order_uid: UUID) -> Order:
    """An order that the actor may see, it and its resource locked."""
    order_get(actor=actor, uid=order_uid)
    order = order_take(order_uid)
    if order is None:
        raise NotFound()
    return order


def _submit(actor: Actor, form: ApplicationForm, order: Order) -> ApplicationForm:
    line = form.lines.get()
    quote = change_quote(order, line.amounts, form.duration_s)
    if quote.amounts == order.quote["amounts"] and form.duration_s == order.duration_s:
        raise InvalidInput(
            _("The resource of %(no)s has just these amounts.") % {"no": order.no},
            cure=_("Choose other amounts, or more time."),
        )
    if other := order.changes.filter(state__in=IN_PROGRESS).first():
        raise Conflict(
            _("A change of %(no)s is under way already: %(form)s.") % {"no": order.no, "form": other.no},
            cure=_("Wait for it, or withdraw it."),
        )
    _try(order, quote)
    line.quote = quote.as_json()
    line.save(update_fields=["quote"])
    FORM.move(form, FormState.SUBMITTED, actor=actor, submitted_at=timezone.now(), total=quote.total, note="")
    title_zh, title_en = form_titles(form)
    held = quota_delivered(quote.amounts, quote.count)
    process_start(
        actor=actor,
        template=_process_app(order).process_template,
        subject_kind="form",
        subject_uid=form.uid,
        subject_no=form.no,
        title_zh=title_zh,
        title_en=title_en,
        applicant_id=form.applicant_id,
        data={
            "kind": form.kind,
            "amount": round(float(quote.total), 2),
            "duration_s": duration_shown(form.duration_s),
            "count": quote.count,
            **{item: held.get(item, 0) for item in SIZES},
            "organization": form.organization_name,
            "business_system": form.business_system_name,
        },
        organization_id=form.organization_id,
        organization_name=form.organization_name,
        business_system_id=form.business_system_id,
        business_system_name=form.business_system_name,
        amount=form.total,
    )
    # A process without anybody to ask has decided by now.
    form.refresh_from_db()
    form_shown(actor, form)
    return form


def _process_app(order: Order) -> ProcessApp:
    """A change is approved as the commodity's applications are; the process sees that its kind is `change`."""
    app: ProcessApp = order.line.commodity.process_app
    if app.state != ProcessAppState.PUBLISHED:
        raise Conflict(
            _("%(name)s has no published process for applications.") % {"name": order.commodity_name},
            cure=_("Ask the operators to publish one."),
        )
    return app


def _try(order: Order, quote: Quote) -> None:
    """Whether it could be carried out now: done, and taken back."""
    try:
        with transaction.atomic():
            _carry_out(order, quote.as_json())
            raise _Tried
    except _Tried:
        pass


def _carry_out(order: Order, quote: dict[str, Any]) -> None:
    """The resource, and what its order says of it, as in the quote."""
    more_s = 0 if order.duration_s is None else quote["duration_s"] - order.duration_s
    if quote["amounts"] != order.quote["amounts"]:
        _resize(order, quote["amounts"])
    if more_s > 0:
        tenant = current_tenant()
        funds_check(actor=SYSTEM, tenant=tenant, quotes=[quote], run_s=more_s)
        # A volume is there as long as its order says.
        if order.workload_uid is not None:
            order_work_extend(actor=SYSTEM, tenant=tenant, workload_uid=order.workload_uid, more_s=more_s)
    order.quote, order.duration_s = quote, quote["duration_s"]
    order.save(update_fields=["quote", "duration_s", "updated_at"])


def _resize(order: Order, amounts: Mapping[str, int]) -> None:
    if order.volume_uid is not None:
        volume_order_resize(actor=SYSTEM, order_uid=order.uid, amounts=amounts)
        return
    if order.workload_uid is None or order.line.hold_uid is None:
        raise Conflict(_("The order %(no)s has ended already.") % {"no": order.no})
    asked = amounts_delivered(amounts, order.quote["count"])
    order_work_resize(
        actor=SYSTEM,
        tenant=current_tenant(),
        workload_uid=order.workload_uid,
        compute_percent=asked.compute_percent,
        memory_mib=asked.memory_mib,
        holder_uid=order.line.hold_uid,
    )


def change_granted(actor: Actor, form: ApplicationForm) -> None:
    """Give the resource what was applied for, and the order its new quote. What cannot be given any more leaves all as
    it is: the form is completed with the reason, and its applicant told."""
    order = order_take(Order.objects.values_list("uid", flat=True).get(later_forms=form))
    assert order is not None, "orders stay"
    quote = form.lines.get().quote or {}
    reason = ""
    try:
        with transaction.atomic():
            if not order_is_extendable(order):
                raise Conflict(_("The order %(no)s has ended already.") % {"no": order.no})
            _carry_out(order, quote)
    except WeirError as error:
        reason = str(error.message)[:400]
    for state in (FormState.APPROVED, FormState.DELIVERING):
        FORM.move(form, state, actor=actor)
    FORM.move(form, FormState.COMPLETED, actor=actor, note=reason)
    form_shown(actor, form)
    order_shown(actor, order)
    if reason:
        form_notify(actor, form, NOT_CHANGED, reason=reason)
    else:
        form_notify(actor, form, CHANGED)
