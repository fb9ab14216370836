"""Submit a draft and take it back.

Locks: process before order before form (`task_decide` comes with the process locked); quota after the form.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID, uuid4

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.approvals.services import process_start, process_withdraw
from apps.assets.mounts import mounts_of
from apps.billing.errors import AccountNotOpened
from apps.billing.selectors.accounts import account_get
from apps.billing.services.charges import funds_check
from apps.catalog.models import Commodity
from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.types import Quote
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orders.models import ApplicationForm, FormLine
from apps.orders.permissions import OrdersPermission as P
from apps.orders.selectors import form_titles
from apps.orders.services.changes import change_submit
from apps.orders.services.delivered_work import delivery_of
from apps.orders.services.drafts import fields_check, form_lock, one_process_check, placed, quotes_make
from apps.orders.services.notifications import form_shown
from apps.orders.services.terminations import order_back, termination_submit
from apps.orders.states import FORM, FormKind, FormState
from apps.orders.types import SIZES, LineInput, duration_shown, ordered_work, quota_delivered
from apps.scheduling.services.quota.quotas import quota_hold, quota_release
from apps.scheduling.services.workloads.submission.order_work import order_lines_check


@service()
def form_submit(*, actor: Actor, form_uid: UUID) -> ApplicationForm:
    """Submit a draft: everything is checked again, the quotes are frozen, the quota is held in process, and the
    approval begins (PLAT-APPLY-6).

    Raises Conflict when it is submitted already, QuotaExceeded, FundsTooLow, InvalidInput; nothing has changed then.
    """
    kinds = ApplicationForm.objects.filter(uid=form_uid, applicant_id=actor.user_id)
    kind = kinds.values_list("kind", flat=True).first()
    if kind == FormKind.TERMINATION:
        return termination_submit(actor=actor, form_uid=form_uid)
    if kind == FormKind.CHANGE:
        return change_submit(actor=actor, form_uid=form_uid)
    actor.require(P.APPLY)
    form = form_lock(actor, form_uid)
    _draft_check(form)
    commodities = _freeze(actor, form)
    now = timezone.now()
    FORM.move(form, FormState.SUBMITTED, actor=actor, submitted_at=now, total=form.total, note="")
    title_zh, title_en = form_titles(form)
    process_start(
        actor=actor,
        template=commodities[0].process_app.process_template,
        subject_kind="form",
        subject_uid=form.uid,
        subject_no=form.no,
        title_zh=title_zh,
        title_en=title_en,
        applicant_id=form.applicant_id,
        data=_process_data(form),
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


def _draft_check(form: ApplicationForm) -> None:
    if not form.is_draft:
        raise Conflict(
            _("%(no)s is submitted already.") % {"no": form.no}, cure=_("Follow it under my applications.")
        )


def _freeze(actor: Actor, form: ApplicationForm) -> list[Commodity]:
    """Check as for a draft, keep the quotes and the commodities as they are now, hold the quota of each line."""
    tenant = current_tenant()
    if account_get(tenant) is None:
        # Refused now, by name, rather than at delivery after everybody has approved.
        raise AccountNotOpened()
    lines = list(form.lines.select_related("commodity"))
    commodities = [commodity_get(tenant=tenant, uid=line.commodity.uid) for line in lines]
    one_process_check(commodities)
    fields_check(actor, form.fields, form.data, is_final=True)
    inputs = [LineInput(line.commodity.uid, line.amounts, line.count, line.program) for line in lines]
    quotes = quotes_make(commodities, inputs, form.duration_s, form.coupon_uid)
    mounts_of(actor=actor, volumes=form.volumes, assets=())
    deliveries = []
    for place, (line, each) in enumerate(zip(lines, commodities, strict=True)):
        with placed(place):
            deliveries.append(delivery_of(actor, each, volumes=form.volumes, program=line.program))
    _runnable_check(form, lines, commodities, deliveries)
    metered = [quote.as_json() for quote, each in zip(quotes, commodities, strict=True) if not each.is_manual]
    funds_check(actor=actor, tenant=tenant, quotes=metered, run_s=form.duration_s)
    for line, commodity, quote, delivery in zip(lines, commodities, quotes, deliveries, strict=True):
        _line_freeze(line, commodity, quote, delivery)
        if commodity.is_manual:
            continue
        quota_hold(
            actor=actor,
            tenant=tenant,
            holder_uid=line.hold_uid,
            amounts=quota_amounts(line),
            organization=actor.organization,
        )
    form.total = sum(quote.total for quote in quotes)
    return commodities


def _runnable_check(
    form: ApplicationForm,
    lines: list[FormLine],
    commodities: Sequence[Commodity],
    deliveries: Sequence[Mapping[str, object]],
) -> None:
    """Nobody is asked to approve what no node could ever run, or the applicant may not hold."""
    order_lines_check(
        tenant=current_tenant(),
        user_id=form.applicant_id,
        lines=[
            ordered_work(line.amounts, line.count, delivery)
            for line, commodity, delivery in zip(lines, commodities, deliveries, strict=True)
            if commodity.is_scheduled
        ],
        run_timeout_s=form.duration_s,
    )


def _line_freeze(line: FormLine, commodity: Commodity, quote: Quote, delivery: Mapping[str, object]) -> None:
    """Keep what it is and costs now, and the volumes: who loses them later keeps what was approved."""
    line.quote, line.hold_uid = quote.as_json(), None if commodity.is_manual else uuid4()
    line.commodity_snapshot = {
        "uid": str(commodity.uid),
        "number": commodity.number,
        "name_zh": commodity.name_zh,
        "name_en": commodity.name_en,
        "supplier": commodity.supplier,
        "version": commodity.version,
        **delivery,
    }
    line.save(update_fields=["quote", "hold_uid", "commodity_snapshot"])


def quota_amounts(line: FormLine) -> dict[str, int]:
    """What a line takes of a quota (PLAT-TEN-10)."""
    return quota_delivered(line.amounts, line.count)


def _process_data(form: ApplicationForm) -> dict[str, object]:
    """The values that conditions of a process may read: the form's own fields, then its figures."""
    lines = list(form.lines.all())
    held = [quota_amounts(line) for line in lines if line.hold_uid]
    return {
        **form.data,
        "kind": form.kind,
        "amount": round(float(form.total or 0), 2),
        "duration_s": duration_shown(form.duration_s),
        "count": sum(line.count for line in lines),
        **{item: sum(one.get(item, 0) for one in held) for item in SIZES},
        "organization": form.organization_name,
        "business_system": form.business_system_name,
    }


def holds_release(actor: Actor, form: ApplicationForm) -> None:
    """Give back what the form's lines hold in process."""
    for line in form.lines.all():
        if line.hold_uid:
            quota_release(actor=actor, tenant=current_tenant(), holder_uid=line.hold_uid)


@service()
def form_withdraw(*, actor: Actor, form_uid: UUID) -> ApplicationForm:
    """Take the actor's own form back to draft, before anybody has decided (PLAT-APPLY-14, PLAT-APPLY-15)."""
    form = ApplicationForm.objects.filter(uid=form_uid, applicant_id=actor.user_id).first()
    if form is None:
        raise NotFound()
    process_withdraw(actor=actor, subject_uid=form.uid)
    act_subject("form", form.uid, no=form.no)
    if form.kind == FormKind.TERMINATION and form.target_order_id:
        order_back(actor, form.target_order_id)
    form = form_lock(actor, form_uid)
    FORM.move(form, FormState.DRAFT, actor=actor)
    holds_release(actor, form)
    form_shown(actor, form)
    return form
