"""Form templates, and the designer of their fields (PLAT-CFG-23)."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.catalog.models import FormTemplate
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.selectors.processes import form_template_get, form_template_list
from apps.catalog.services.form_templates import (
    form_field_order,
    form_field_put,
    form_field_remove,
    form_template_create,
    form_template_delete,
    form_template_rename,
)
from apps.catalog.states import FieldKind
from apps.console.selling.forms.applying import FieldForm, FormNamesForm, FormTemplateForm, field_initial
from apps.identity.pages.access import go, operator_page, paged, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import InvalidInput, NotFound
from apps.orders.forms import preview

_LIST, _ONE = "catalogue_admin:form_templates", "catalogue_admin:form_template"
ICONS = {
    FieldKind.TEXT: "file-text",
    FieldKind.NUMBER: "adjustments",
    FieldKind.CHOICE: "list",
    FieldKind.DATE: "calendar-event",
    FieldKind.DURATION: "clock",
    FieldKind.MEMORY: "database",
    FieldKind.PERSON: "users",
    FieldKind.QUEUE: "list-tree",
    FieldKind.MODEL: "cpu",
    FieldKind.HEADING: "layout-grid",
}


def _kinds() -> list[tuple[str, list[tuple[str, Any, str]]]]:
    """The kinds of field by group, each with its name and icon."""
    written = (
        FieldKind.TEXT, FieldKind.NUMBER, FieldKind.CHOICE, FieldKind.DATE, FieldKind.DURATION, FieldKind.MEMORY,
    )  # fmt: skip
    groups = (
        (_("Basic"), written),
        (_("Built-in"), (FieldKind.PERSON, FieldKind.QUEUE, FieldKind.MODEL)),
        (_("Layout"), (FieldKind.HEADING,)),
    )
    return [(name, [(kind.value, kind.label, ICONS[kind]) for kind in kinds]) for name, kinds in groups]


@operator_page(P.VIEW)
def form_templates(request: PortalRequest) -> HttpResponse:
    context = {
        "rows": paged(request, form_template_list()),
        "may_manage": request.actor.may(P.MANAGE),
        "tab": "forms",
    }
    return show(request, "catalog/operator/form_templates", context)


@operator_page(P.MANAGE)
def form_template_new(request: PortalRequest) -> HttpResponse:
    form = FormTemplateForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            row = form_template_create(actor=request.actor, **form.cleaned_data)
        except InvalidInput as error:
            form.refuse(error)
        else:
            messages.success(request, _("Made: %(name)s.") % {"name": row})
            return go(request, _ONE, row.code)
    return _form_page(request, form)


@operator_page(P.MANAGE)
def form_template_names(request: PortalRequest, code: str) -> HttpResponse:
    row = form_template_get(code)
    form = FormNamesForm(request.POST or None, initial={"name_en": row.name_en, "name_zh": row.name_zh})
    if request.method == "POST" and form.is_valid():
        form_template_rename(actor=request.actor, code=code, **form.cleaned_data)
        messages.success(request, _("Saved."))
        return go(request, _ONE, code)
    return _form_page(request, form, row=row)


def _form_page(
    request: PortalRequest, form: FormTemplateForm | FormNamesForm, **more: object
) -> HttpResponse:
    form.mark()
    context = {
        "form": form,
        "back": _LIST,
        "back_name": _("Form templates"),
        "new_name": _("New form"),
        **more,
    }
    return show(request, "catalog/operator/edit", context, status=400 if form.errors else 200)


@operator_page(P.VIEW)
def form_template(request: PortalRequest, code: str) -> HttpResponse:
    """The designer: the fields in their order, what may be added, and the form as its applicants see it."""
    row = form_template_get(code)
    context = {
        "row": row,
        "fields": [
            (field, FieldKind(field["kind"]).label, ICONS[FieldKind(field["kind"])]) for field in row.fields
        ],
        "kinds": _kinds(),
        "preview": preview(row.fields),
        "may_manage": request.actor.may(P.MANAGE),
    }
    return show(request, "catalog/operator/form_template", context)


@require_POST
@operator_page(P.MANAGE)
def form_template_remove(request: PortalRequest, code: str) -> HttpResponse:
    form_template_delete(actor=request.actor, code=code)
    messages.success(request, _("Deleted."))
    return go(request, _LIST)


@operator_page(P.MANAGE)
def field_new(request: PortalRequest, code: str, kind: str) -> HttpResponse:
    """Ask for a field of a kind, which goes to the end of the form."""
    if kind not in FieldKind.values:
        raise NotFound()
    return _field_page(request, form_template_get(code), kind)


@operator_page(P.MANAGE)
def field(request: PortalRequest, code: str, name: str) -> HttpResponse:
    """One field, to be changed."""
    row = form_template_get(code)
    found = next((one for one in row.fields if one["name"] == name), None)
    if found is None:
        raise NotFound()
    return _field_page(request, row, found["kind"], found)


def _field_page(
    request: PortalRequest, row: FormTemplate, kind: str, found: dict[str, Any] | None = None
) -> HttpResponse:
    form = FieldForm(request.POST or None, kind=kind, initial=field_initial(found) if found else {})
    if request.method == "POST" and form.is_valid():
        try:
            form_field_put(
                actor=request.actor,
                code=row.code,
                version=_version(request),
                draft=form.draft(),
                name=found["name"] if found else "",
            )
        except InvalidInput as error:
            form.refuse(error)
        else:
            return go(request, _ONE, row.code)
    form.mark()
    context = {"form": form, "template": row, "kind": FieldKind(kind).label, "field": found}
    return show(request, "catalog/operator/field", context, status=400 if form.errors else 200)


@require_POST
@operator_page(P.MANAGE)
def field_act(request: PortalRequest, code: str, name: str, act: str) -> HttpResponse:
    """Up, down, or away."""
    actor, version = request.actor, _version(request)
    if act == "remove":
        form_field_remove(actor=actor, code=code, version=version, name=name)
    elif act in ("up", "down"):
        form_field_order(actor=actor, code=code, version=version, name=name, is_up=act == "up")
    else:
        raise NotFound()
    return go(request, _ONE, code)


def _version(request: PortalRequest) -> int:
    """The version that the page showed."""
    text = request.POST.get("version", "")
    if not text.isdecimal() or len(text) > 9:
        raise InvalidInput(fields={"version": _("A whole number is wanted.")})
    return int(text)
