"""What was applied for once is applied for anew: a draft with what an earlier order or form had."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.utils.translation import gettext as _

from apps.assets.mounts import mounts_of
from apps.catalog.models import Commodity
from apps.catalog.selectors.commodities import commodity_get, commodity_is_open
from apps.catalog.types import Quote
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.money import ZERO, bill_round
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.kernel.translatable import localized
from apps.kernel.unit_text import span_text
from apps.orders.models import ApplicationForm, FormLine
from apps.orders.permissions import OrdersPermission as P
from apps.orders.selectors import fields_open, form_get, order_get
from apps.orders.services.drafts import fields_check, form_draft, quotes_make
from apps.orders.states import FINISHED, FormKind
from apps.orders.types import LineInput, quota_delivered
from apps.orgs.selectors.business_systems import business_system_get
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.states import QuotaItem

_DAY_S = 86400


@dataclass(frozen=True, slots=True)
class Again:
    """A draft made of a former form, and what of it is not as it was, in sentences for the applicant."""

    form: ApplicationForm
    changed: list[str]


@service(P.APPLY)
def order_again(*, actor: Actor, order_uid: UUID) -> ApplicationForm:
    """A draft of the actor's with the service, the amounts, the program, the volumes and the duration that an order had
    in the end, at the prices of now.

    Raises what `form_draft` raises: for a service that is sold no more, or an amount that is out of range by now.
    """
    order = order_get(actor=actor, uid=order_uid)
    line, form = order.line, order.form
    system = order.business_system
    return form_draft(
        actor=actor,
        lines=[
            LineInput(
                line.commodity.uid, order.quote.get("amounts") or line.amounts, line.count, line.program
            )
        ],
        duration_s=order.duration_s,
        business_system_uid=system.uid if system is not None and system.is_enabled else None,
        data=form.data,
        volumes=form.volumes,
    )


@service(P.APPLY)
def form_again(*, actor: Actor, form_uid: UUID) -> Again:
    """A draft of the actor's with what a refused or ended application had, as far as it can be had now.

    What is no longer offered is left out, and an amount out of range becomes the nearest that is sold; each is named,
    as are another price and a quota without room. Raises Conflict for a form that is not over or is about an order,
    and where nothing of it is sold any more.
    """
    former = form_get(actor=actor, uid=form_uid)
    act_subject("form", former.uid, no=former.no)
    if former.kind != FormKind.NEW or former.state not in FINISHED:
        raise Conflict(_("%(no)s cannot be applied for again.") % {"no": former.no})
    changed: list[str] = []
    found = _lines(former, changed)
    if not found:
        raise Conflict(
            _("Nothing of %(no)s is offered any more.") % {"no": former.no},
            cure=_("Choose another service in the catalogue."),
        )
    commodities, lines = [one for one, _line in found], [line for _one, line in found]
    duration_s = _duration(former, commodities, changed)
    draft = form_draft(
        actor=actor,
        lines=lines,
        duration_s=duration_s,
        business_system_uid=_system(actor, former, changed),
        remark=former.remark,
        data=_data(actor, former, commodities[0], changed),
        volumes=_volumes(actor, former, changed),
    )
    _price_tell(former, quotes_make(commodities, lines, duration_s, None), changed)
    _quota_tell(commodities, lines, changed)
    return Again(draft, changed)


def _lines(former: ApplicationForm, changed: list[str]) -> list[tuple[Commodity, LineInput]]:
    """The lines that can still be asked for, each with its commodity as it is now."""
    found = []
    for line in former.lines.select_related("commodity"):
        try:
            commodity = commodity_get(tenant=current_tenant(), uid=line.commodity.uid)
        except NotFound:
            commodity = None
        if commodity is None or not commodity_is_open(commodity):
            changed.append(_("%(name)s is not offered any more.") % {"name": line.commodity.name})
            continue
        found.append((commodity, _line(commodity, line, changed)))
    return found


def _line(commodity: Commodity, line: FormLine, changed: list[str]) -> LineInput:
    amounts: dict[str, int] = {}
    for part in commodity.components.select_related("component"):
        code, before = part.component.code, line.amounts.get(part.component.code)
        wanted = part.default if before is None else before
        stepped = part.minimum + (wanted - part.minimum) // part.step * part.step
        amounts[code] = min(max(stepped, part.minimum), part.maximum)
        if amounts[code] != before:
            words = {
                "name": commodity.name,
                "part": localized(part.component.name_zh, part.component.name_en),
            }
            changed.append(_("%(name)s: %(part)s is sold in other amounts now.") % words)
    if set(line.amounts) - set(amounts):
        changed.append(_("%(name)s: a part of it is not sold any more.") % {"name": commodity.name})
    count = min(line.count, commodity.max_count)
    if count != line.count:
        words = {"name": commodity.name, "most": str(count)}
        changed.append(_("%(name)s: at most %(most)s shares are sold together now.") % words)
    program = line.program if commodity.is_own_program else {}
    return LineInput(commodity.uid, amounts, count, program)


def _duration(former: ApplicationForm, commodities: Sequence[Commodity], changed: list[str]) -> int | None:
    """As long as before, where that is sold; else the nearest."""
    before = former.duration_s
    if before is None and all(one.is_open_ended and one.retires_at is None for one in commodities):
        return None
    least = max(one.min_duration_s for one in commodities)
    most = min(one.max_duration_s for one in commodities)
    nearest = max(least, min(_DAY_S if before is None else before, most))
    if nearest != before:
        changed.append(_("It is not sold for as long: %(span)s now.") % {"span": span_text(nearest)})
    return nearest


def _system(actor: Actor, former: ApplicationForm, changed: list[str]) -> UUID | None:
    if former.business_system is None:
        return None
    try:
        row = business_system_get(actor=actor, uid=former.business_system.uid)
    except NotFound:
        row = None
    if row is None or not row.is_enabled:
        changed.append(
            _("The project %(name)s cannot be chosen any more.") % {"name": former.business_system.name}
        )
        return None
    return row.uid


def _data(
    actor: Actor, former: ApplicationForm, commodity: Commodity, changed: list[str]
) -> dict[str, object]:
    """What was filled in, without what the form of now does not ask or take."""
    fields = commodity.process_app.form_template.fields
    data = dict(former.data)
    try:
        return fields_check(actor, fields, data, is_final=False)
    except InvalidInput as error:
        labels = {
            one["name"]: localized(one["label_zh"], one["label_en"]) for one in fields_open(former.fields)
        }
        for name in (key.removeprefix("data.") for key in error.fields):
            data.pop(name, None)
            changed.append(
                _("What stood in %(field)s does not fit any more.") % {"field": labels.get(name, name)}
            )
    return data


def _volumes(actor: Actor, former: ApplicationForm, changed: list[str]) -> list[str]:
    kept = []
    for word in former.volumes:
        try:
            mounts_of(actor=actor, volumes=[word], assets=())
        except (InvalidInput, NotFound):
            changed.append(
                _("The volume %(name)s cannot be mounted any more.") % {"name": word.split(":")[0]}
            )
        else:
            kept.append(word)
    return kept


def _price_tell(former: ApplicationForm, quotes: Sequence[Quote], changed: list[str]) -> None:
    now = sum((quote.total for quote in quotes), ZERO)
    if former.total is not None and bill_round(Decimal(former.total)) != bill_round(now):
        words = {"before": bill_round(former.total), "now": bill_round(now)}
        changed.append(_("It costs ¥%(now)s now; it was ¥%(before)s.") % words)


def _quota_tell(commodities: Sequence[Commodity], lines: Sequence[LineInput], changed: list[str]) -> None:
    left = {item: figures.left for item, figures in quota_get(current_tenant()).items()}
    wanted: dict[str, int] = {}
    for commodity, line in zip(commodities, lines, strict=True):
        if not commodity.is_manual:
            for item, amount in quota_delivered(line.amounts, line.count).items():
                wanted[item] = wanted.get(item, 0) + amount
    for item, amount in wanted.items():
        if amount > left.get(item, 0):
            label = QuotaItem(item).label
            changed.append(_("The quota has no room for it now: %(item)s.") % {"item": label})
