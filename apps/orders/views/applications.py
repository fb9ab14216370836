"""Application forms: the list, one in its six parts, the draft and its attachments."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.approvals.progress import runs_of
from apps.approvals.selectors import has_decisions
from apps.assets.selectors import asset_list
from apps.catalog.selectors.commodities import commodity_get
from apps.catalog.selectors.coupons import coupon_usable_list
from apps.fleet.services.secrets import secrets_seen
from apps.identity.pages.access import cleaned, go, page, show
from apps.identity.pages.lists.acts import ListAct, chosen_rows
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import TenantRequest
from apps.images.selectors import versions_opened
from apps.kernel.actor import Actor
from apps.kernel.attached_files import KINDS, file_answer
from apps.kernel.errors import InvalidInput, WeirError
from apps.orders.forms import (
    WITHOUT_END,
    ApplicationFormForm,
    FieldAsked,
    FormsForm,
    QuoteForm,
    asked,
    further_of,
    lines_of,
    program_shown,
)
from apps.orders.models import ApplicationForm, FormLine
from apps.orders.selectors import (
    attachment_get,
    field_options,
    fields_open,
    form_get,
    form_list,
    further_shown,
)
from apps.orders.services.again import form_again
from apps.orders.services.attachments import attachment_add, attachment_remove
from apps.orders.services.drafts import form_delete, form_update
from apps.orders.services.submissions import form_submit, form_withdraw
from apps.orders.states import FINISHED, FormKind, FormState
from apps.orders.types import MOUNTING
from apps.orders.views.cart import quote_context
from apps.orders.weighing import form_weighed
from apps.orgs.selectors.business_systems import business_systems_known
from apps.storage.mounts import mount_read
from apps.tenancy.models import Tenant
from apps.tickets.selectors import tickets_of

# A list of more proposals is no longer read; a name is typed then.
_OFFERED = 100


FORMS = PageList(
    Column("no", gettext_lazy("Number"), sort="no", value="no"),
    Column("kind", gettext_lazy("Kind"), sort=ranked("kind", FormKind.values), value="get_kind_display"),
    Column("unit", gettext_lazy("Applying unit"), sort="organization_name", value="organization_name"),
    Column(
        "applicant", gettext_lazy("Applicant"), sort="applicant_name", value="applicant_name", is_extra=True
    ),
    Column(
        "system",
        gettext_lazy("Business system"),
        sort="business_system__name",
        value="business_system_name",
    ),
    Column(
        "state", gettext_lazy("Form state"), sort=ranked("state", FormState.values), value="get_state_display"
    ),
    Column("made", gettext_lazy("Created at"), sort="created_at", value="created_at", is_extra=True),
    Column("sent", gettext_lazy("Application time"), sort="submitted_at", value="submitted_at"),
    usual={"tab": "all"},
)


@page("orders.view")
def forms(request: TenantRequest) -> HttpResponseBase:
    """My applications (PLAT-APPLY-8, -9, -10, -13)."""
    chosen = cleaned(FormsForm(request.GET))
    wanted = chosen | {"business_system": str(chosen["business_system"] or "")}
    context = {
        "acts": [
            ListAct(
                reverse("orders:forms_delete"),
                gettext_lazy("Delete the drafts"),
                "trash",
                confirm=gettext_lazy("Delete the chosen drafts with their files?"),
                is_danger=True,
            )
        ],
        "chosen": chosen,
        "states": FormState.choices,
        "systems": business_systems_known(actor=request.actor),
    }
    rows = form_list(actor=request.actor, **wanted)
    return show_list(request, "orders/forms", FORMS, rows, context)


def parts_of(actor: Actor, form: ApplicationForm) -> dict[str, object]:
    """The six parts of a form (PLAT-APPLY-12)."""
    orders = list(form.orders.all()) or ([form.target_order] if form.target_order else [])
    return {
        "form": form,
        "further_shown": further_shown(form),
        "volumes_shown": [mount_read(word) for word in form.volumes],
        "orders": orders,
        "tickets": [ticket for order in orders for ticket in tickets_of(order.uid)],
        "runs": runs_of(form.uid),
        "live": [f"form.{form.uid}", *(f"order.{order.uid}" for order in orders)],
    }


@page("orders.view")
def form(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One form, with what its applicant may do now."""
    actor = request.actor
    row = form_get(actor=actor, uid=uid)
    is_mine = row.applicant_id == actor.user_id
    context = parts_of(actor, row) | {
        "may_edit": is_mine and row.is_draft and row.kind == FormKind.NEW,
        "may_submit": is_mine and row.is_draft,
        "may_withdraw": is_mine and row.state == FormState.SUBMITTED and not has_decisions(row.uid),
        "may_apply_again": actor.may("orders.apply") and row.kind == FormKind.NEW and row.state in FINISHED,
        "may_attach": is_mine and row.state not in FINISHED,
        "accepted": ",".join(KINDS),
    }
    return show(request, "orders/form", context)


@page()
def parts(request: TenantRequest, uid: UUID) -> HttpResponse:
    """The six parts alone, below what it takes: what an approver's page shows beside the decision (PLAT-TODO-4)."""
    row = form_get(actor=request.actor, uid=uid)
    context = parts_of(request.actor, row) | {"weighed": form_weighed(request.actor, row)}
    return render(request, "orders/_decided_on.html", context)


# --- the draft -------------------------------------------------------------------------------------------------


@page("orders.apply")
def edit(request: TenantRequest, uid: UUID) -> HttpResponse:
    """The draft of an application form: services, duration, business system, further fields, files."""
    row = form_get(actor=request.actor, uid=uid)
    if not row.is_draft or row.applicant_id != request.actor.user_id or row.kind != FormKind.NEW:
        return go(request, "orders:form", row.uid)
    tenant = request.entered_tenant
    lines = [_line(tenant, line) for line in row.lines.all()]
    context = {
        "form": row,
        "lines": lines,
        "quote_parts": sum(len(line["components"]) for line in lines),
        "duration": _duration(row.duration_s),
        "may_be_open_ended": all(line["commodity"].is_open_ended for line in lines),
        "further": _further(request.actor, row),
        "systems": business_systems_known(actor=request.actor).filter(is_enabled=True),
        "coupons": coupon_usable_list(tenant=tenant),
        "accepted": ",".join(KINDS),
        "may_attach": True,
        "may_mount": request.actor.may("storage.view")
        and row.lines.filter(commodity__kind__in=MOUNTING).exists(),
        "volumes_chosen": urlencode([("chosen", word) for word in row.volumes]),
    }
    if any(line.commodity.is_own_program for line in row.lines.all()):
        context |= _program_offered(tenant, request.actor)
    return show(request, "orders/form_edit", context)


def _program_offered(tenant: Tenant, actor: Actor) -> dict[str, object]:
    """The images, assets and secrets that the page proposes for a program; by name any other may be typed."""
    may_read = actor.may("storage.view")
    return {
        "images_open": versions_opened(actor)[:_OFFERED] if actor.may("images.view") else [],
        "secrets_open": secrets_seen(tenant, actor).values_list("name", flat=True).distinct()[:_OFFERED],
        "assets_open": asset_list(actor=actor)[:_OFFERED] if may_read else [],
    }


def _line(tenant: Tenant, line: FormLine) -> dict[str, Any]:
    commodity = commodity_get(tenant=tenant, uid=line.commodity.uid)
    components = [
        (row, line.amounts.get(row.component.code, row.default)) for row in commodity.components.all()
    ]
    return {
        "commodity": commodity,
        "components": components,
        "count": line.count,
        "program": program_shown(line.program),
    }


def _duration(seconds: int | None) -> tuple[int, str | int]:
    """A duration as the figure and the largest unit that shows it whole; seconds are rounded up to minutes."""
    if seconds is None:
        return 1, WITHOUT_END[0]
    for unit in (86400, 3600):
        if seconds % unit == 0:
            return seconds // unit, unit
    return -(-seconds // 60), 60


def _further(actor: Actor, form: ApplicationForm) -> list[FieldAsked]:
    """The form's own fields as its page asks for them, headings too."""
    shown = [field for field in form.fields if field.get("state", "read_write") == "read_write"]
    return [
        asked(field, form.data.get(field["name"], ""), field_options(field["kind"], actor)) for field in shown
    ]


@require_POST
@page("orders.apply")
def form_quote(request: TenantRequest) -> HttpResponse:
    """What the form on the page costs as it stands, saved or not."""
    try:
        given = cleaned(QuoteForm(request.POST))
        context = quote_context(request.entered_tenant, lines_of(request.POST), given)
    except WeirError as error:
        context = {"error": error}
    return render(request, "orders/_quote.html", context)


@require_POST
@page("orders.apply")
def save(request: TenantRequest, uid: UUID) -> HttpResponseBase:
    """Keep the draft, and submit it when that was the button."""
    row = form_get(actor=request.actor, uid=uid)
    given = cleaned(ApplicationFormForm(request.POST))
    form_update(
        actor=request.actor,
        form_uid=uid,
        lines=lines_of(request.POST),
        duration_s=given["seconds"],
        business_system_uid=given["business_system"],
        remark=given["remark"],
        data=further_of(request.POST, fields_open(row.fields)),
        coupon_uid=given["coupon"],
        volumes=[word for word in request.POST.getlist("volumes") if word],
    )
    if request.POST.get("act") == "submit":
        return submit(request, uid)
    messages.success(request, _("The draft is kept."))
    return go(request, "orders:form_edit", uid)


@require_POST
@page("orders.view")
def submit(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = form_submit(actor=request.actor, form_uid=uid)
    messages.success(request, _("%(no)s is submitted.") % {"no": row.no})
    return go(request, "orders:form", uid)


@require_POST
@page("orders.view")
def withdraw(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = form_withdraw(actor=request.actor, form_uid=uid)
    messages.success(request, _("%(no)s is a draft again.") % {"no": row.no})
    return go(request, "orders:form", uid)


@require_POST
@page("orders.apply")
def again(request: TenantRequest, uid: UUID) -> HttpResponse:
    """A draft with what a refused or ended application had; what is not as it was is named above it."""
    made = form_again(actor=request.actor, form_uid=uid)
    for sentence in made.changed:
        messages.warning(request, sentence)
    return go(request, "orders:form_edit", made.form.uid)


@require_POST
@page("orders.apply")
def delete(request: TenantRequest) -> HttpResponse:
    """Delete one or several drafts together, all or none (PLAT-APPLY-7)."""
    chosen = chosen_rows(request)["chosen"]
    with transaction.atomic():
        for uid in chosen:
            form_delete(actor=request.actor, form_uid=uid)
    messages.success(request, _("Deleted."))
    return go(request, "orders:forms")


# --- attachments -----------------------------------------------------------------------------------------------


@require_POST
@page("orders.apply")
def attach(request: TenantRequest, uid: UUID) -> HttpResponse:
    file = request.FILES.get("file")
    if file is None:
        raise InvalidInput(_("No file was sent."), cure=_("Choose a file first."))
    attachment_add(actor=request.actor, form_uid=uid, file=file, name=file.name)
    return _attachments(request, uid)


@require_POST
@page("orders.apply")
def detach(request: TenantRequest, uid: UUID) -> HttpResponse:
    form_uid = attachment_get(actor=request.actor, uid=uid).form.uid
    attachment_remove(actor=request.actor, attachment_uid=uid)
    return _attachments(request, form_uid)


def _attachments(request: TenantRequest, form_uid: UUID) -> HttpResponse:
    row = form_get(actor=request.actor, uid=form_uid)
    if not request.htmx:
        return go(request, "orders:form", form_uid)
    context = {"form": row, "accepted": ",".join(KINDS), "may_attach": True}
    return render(request, "orders/_attachments.html", context)


@page()
def attachment(request: TenantRequest, uid: UUID) -> HttpResponse:
    """Download a file, or view it online with `?view=1` where a browser can without running anything."""
    row = attachment_get(actor=request.actor, uid=uid)
    return file_answer(row, is_inline="view" in request.GET)
