"""Write, change and delete drafts of application forms. Nothing else is touched until a draft is submitted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.assets.mounts import mounts_of
from apps.cases.services import case_drop
from apps.cases.types import CaseKind
from apps.catalog.models import Commodity, FormTemplate
from apps.catalog.selectors.commodities import commodity_get, commodity_is_open
from apps.catalog.selectors.prices import quote_get
from apps.catalog.services.form_templates import field_fits
from apps.catalog.states import FieldKind
from apps.catalog.types import Quote
from apps.identity.models import User
from apps.kernel.actor import Actor, act_subject
from apps.kernel.control_characters import control_fault
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.kernel.unit_text import mib_text, span_text
from apps.orders.models import ApplicationForm, CartLine, FormLine
from apps.orders.permissions import OrdersPermission as P
from apps.orders.selectors import field_options, fields_open
from apps.orders.services.delivered_work import program_check
from apps.orders.states import FormKind
from apps.orders.types import MOUNTING, LineInput
from apps.orgs.models import BusinessSystem
from apps.orgs.selectors.business_systems import business_system_get
from apps.orgs.selectors.organizations import organization_of
from apps.orgs.services.default_systems import default_system_use
from apps.orgs.services.numbers import number_next

LINES_MAX = 20
REMARK_MAX = 1000


def form_lock(actor: Actor, form_uid: UUID) -> ApplicationForm:
    """The actor's own form, its row locked; NotFound for anybody else's."""
    rows = ApplicationForm.objects.select_for_update(no_key=True, of=("self",))
    row = rows.filter(uid=form_uid, applicant_id=actor.user_id).first()
    if row is None:
        raise NotFound()
    act_subject("form", row.uid, no=row.no)
    return row


def draft_check(form: ApplicationForm) -> None:
    if not form.is_draft:
        raise Conflict(
            _("%(no)s is submitted: only a draft can be changed.") % {"no": form.no},
            cure=_("Withdraw it first, while nobody has decided on it."),
        )


@service(P.APPLY)
def form_draft(
    *,
    actor: Actor,
    lines: Sequence[LineInput],
    duration_s: int | None,
    business_system_uid: UUID | None = None,
    remark: str = "",
    data: Mapping[str, Any] | None = None,
    coupon_uid: UUID | None = None,
    cart_uids: Iterable[UUID] = (),
    volumes: Sequence[str] = (),
) -> ApplicationForm:
    """A draft for one or several services together (PLAT-APPLY-3, PLAT-APPLY-4); the cart lines it was made of are
    taken out of the cart. Without a business system it is for the applicant's default. `duration_s` in seconds; None:
    without an end. Raises InvalidInput naming each wrong figure."""
    user = User.objects.get(pk=actor.user_id)
    organization = organization_of(user.pk)
    if business_system_uid is None:
        default = default_system_use(actor)
        business_system_uid = default.uid if default else None
    form = ApplicationForm(
        applicant=user,
        applicant_name=str(user),
        organization=organization,
        organization_name=organization.name if organization else "",
    )
    commodities = _fill(actor, form, lines, duration_s, business_system_uid, remark, data, coupon_uid)
    _volumes_put(actor, form, commodities, volumes)
    form.no = number_next(actor=actor, letter="F")
    form.save()
    _lines_make(form, lines, commodities)
    CartLine.objects.filter(user_id=actor.user_id, uid__in=list(cart_uids)).delete()
    act_subject("form", form.uid, no=form.no)
    return form


@service(P.APPLY)
def form_update(
    *,
    actor: Actor,
    form_uid: UUID,
    lines: Sequence[LineInput],
    duration_s: int | None,
    business_system_uid: UUID | None = None,
    remark: str = "",
    data: Mapping[str, Any] | None = None,
    coupon_uid: UUID | None = None,
    volumes: Sequence[str] = (),
) -> ApplicationForm:
    """Replace what a draft says (PLAT-APPLY-11)."""
    form = form_lock(actor, form_uid)
    draft_check(form)
    if form.kind != FormKind.NEW:
        raise Conflict(
            _("%(no)s is about an order: it has no services to change.") % {"no": form.no},
            cure=_("Delete it, and apply anew on the order's page."),
        )
    commodities = _fill(actor, form, lines, duration_s, business_system_uid, remark, data, coupon_uid)
    _volumes_put(actor, form, commodities, volumes)
    form.save()
    form.lines.all().delete()
    _lines_make(form, lines, commodities)
    return form


def _fill(
    actor: Actor,
    form: ApplicationForm,
    lines: Sequence[LineInput],
    duration_s: int | None,
    business_system_uid: UUID | None,
    remark: str,
    data: Mapping[str, Any] | None,
    coupon_uid: UUID | None,
) -> list[Commodity]:
    if not 1 <= len(lines) <= LINES_MAX:
        raise InvalidInput(fields={"lines": _("Ask for 1 to %(most)s services.") % {"most": LINES_MAX}})
    if len(remark) > REMARK_MAX:
        raise InvalidInput(fields={"remark": _("At most %(most)s characters.") % {"most": REMARK_MAX}})
    commodities = [commodity_get(tenant=current_tenant(), uid=line.commodity_uid) for line in lines]
    one_process_check(commodities)
    quotes_make(commodities, lines, duration_s, coupon_uid)
    for place, (commodity, line) in enumerate(zip(commodities, lines, strict=True)):
        with placed(place):
            program_check(commodity, line.program)
    form.business_system = _business_system(actor, business_system_uid)
    form.duration_s, form.remark, form.coupon_uid = duration_s, remark.strip(), coupon_uid
    _fields_freeze(form, commodities[0].process_app.form_template)
    form.data = fields_check(
        actor, form.fields, data if data is not None else _defaults(form.fields), is_final=False
    )
    return commodities


def _volumes_put(
    actor: Actor, form: ApplicationForm, commodities: Sequence[Commodity], volumes: Sequence[str]
) -> None:
    """Volumes that can be mounted, and something ordered that can mount them; InvalidInput else."""
    mounts_of(actor=actor, volumes=volumes, assets=())
    if volumes and not any(commodity.kind in MOUNTING for commodity in commodities):
        reason = _("Nothing of this application runs a program that could use volumes.")
        raise InvalidInput(reason, fields={"volumes": reason})
    form.volumes = list(volumes)


def _fields_freeze(form: ApplicationForm, template: FormTemplate) -> None:
    """A form keeps the fields that it was begun with, unless its services are asked for by another template now."""
    if form.template_code != template.code:
        form.template_code, form.fields = template.code, template.fields


def _defaults(fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {field["name"]: field["default"] for field in fields_open(fields) if "default" in field}


def _business_system(actor: Actor, uid: UUID | None) -> BusinessSystem | None:
    """One that the actor takes part in and that is enabled (PLAT-TEN-20)."""
    if uid is None:
        return None
    row = business_system_get(actor=actor, uid=uid)
    if not row.is_enabled:
        reason = _("The business system %(name)s is disabled.") % {"name": row.name}
        raise InvalidInput(reason, fields={"business_system": reason})
    return row


def _lines_make(form: ApplicationForm, lines: Sequence[LineInput], commodities: Sequence[Commodity]) -> None:
    FormLine.objects.bulk_create(
        FormLine(
            form=form,
            commodity=commodity,
            amounts=dict(line.amounts),
            count=line.count,
            program=dict(line.program),
        )
        for line, commodity in zip(lines, commodities, strict=True)
    )


def one_process_check(commodities: Sequence[Commodity]) -> None:
    """All services of a form go through one process, which is open for applications (PLAT-CFG-14)."""
    for commodity in commodities:
        if not commodity_is_open(commodity):
            reason = _("%(name)s cannot be applied for now.") % {"name": commodity.name}
            raise InvalidInput(
                reason, fields={"lines": reason}, cure=_("Ask the operators to publish its process.")
            )
    if len({commodity.process_app_id for commodity in commodities}) > 1:
        reason = _("These services are approved in different ways.")
        raise InvalidInput(reason, fields={"lines": reason}, cure=_("Apply for them with separate forms."))


def quotes_make(
    commodities: Sequence[Commodity],
    lines: Sequence[LineInput],
    duration_s: int | None,
    coupon_uid: UUID | None,
) -> list[Quote]:
    """The quote of each line now; a coupon stands on the first line, so that it is not counted twice."""
    tenant, now, quotes, wrong = current_tenant(), timezone.now(), [], {}
    for place, (commodity, line) in enumerate(zip(commodities, lines, strict=True)):
        try:
            quotes.append(
                quote_get(
                    tenant=tenant,
                    commodity=commodity,
                    amounts=dict(line.amounts),
                    count=line.count,
                    duration_s=duration_s,
                    at=now,
                    coupon=coupon_uid if place == 0 else None,
                )
            )
        except InvalidInput as error:
            if not error.fields:
                raise
            wrong |= {_placed(name, place): text for name, text in error.fields.items()}
    if wrong:
        raise InvalidInput(fields=wrong)
    return quotes


@contextmanager
def placed(place: int) -> Iterator[None]:
    """What is wrong with a line is said of that line."""
    try:
        yield
    except InvalidInput as error:
        fields = {f"lines.{place}.{name}": text for name, text in error.fields.items()}
        raise InvalidInput(error.message, fields=fields, cure=error.cure) from error


def _placed(name: str, place: int) -> str:
    return name if name in ("duration_s", "coupon") else f"lines.{place}.{name}"


# --- the further fields of the form's template -----------------------------------------------------------------


def fields_check(
    actor: Actor, fields: Sequence[Mapping[str, Any]], data: Mapping[str, Any], *, is_final: bool
) -> dict[str, Any]:
    """The values for the form's own fields (PLAT-APPLY-4); at submitting, required ones must be there."""
    asked = {one["name"]: one for one in fields_open(fields)}
    wrong: dict[str, object] = {
        f"data.{name}": _("The form has no such field.") for name in set(data) - set(asked)
    }
    for name, field in asked.items():
        value = data.get(name)
        if value in (None, ""):
            if is_final and field.get("is_required"):
                wrong[f"data.{name}"] = _("Fill this in.")
        elif isinstance(value, str) and (fault := control_fault(value)):
            wrong[f"data.{name}"] = fault
        elif not _fits(actor, field, value):
            wrong[f"data.{name}"] = _bounds_sentence(field)
    if wrong:
        raise InvalidInput(fields=wrong)
    return dict(data)


def _fits(actor: Actor, field: Mapping[str, Any], value: Any) -> bool:
    if not field_fits(field, value):
        return False
    options = field_options(field["kind"], actor)
    return options is None or value in {one for one, _label in options}


def _bounds_sentence(field: Mapping[str, Any]) -> str:
    """What may stand in a field, where it has bounds."""
    figure = {FieldKind.DURATION: span_text, FieldKind.MEMORY: mib_text}.get(field["kind"], _figure)
    least, most = field.get("minimum"), field.get("maximum")
    if least is not None and most is not None:
        return _("%(least)s to %(most)s") % {"least": figure(least), "most": figure(most)}
    if least is not None:
        return _("at least %(least)s") % {"least": figure(least)}
    if most is not None:
        return _("at most %(most)s") % {"most": figure(most)}
    return _("This is no valid value here.")


def _figure(value: float) -> str:
    return f"{value:g}"


# --- deleting --------------------------------------------------------------------------------------------------


@service(P.APPLY)
def form_delete(*, actor: Actor, form_uid: UUID) -> None:
    """Delete the actor's own draft with its attachments (PLAT-APPLY-7)."""
    form = form_lock(actor, form_uid)
    draft_check(form)
    files = [(one.file.storage, one.file.name) for one in form.attachments.all()]
    form.delete()
    case_drop(actor=actor, kind=CaseKind.FORM, uid=form_uid)
    # Files cannot be rolled back: they go once the rows are gone for good.
    for storage, name in files:
        transaction.on_commit(lambda storage=storage, name=name: storage.delete(name))
