"""The tree of categories, as operators make it."""

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.selectors.commodities import category_get, category_tree
from apps.catalog.services.categories import (
    category_change,
    category_create,
    category_delete,
    category_disable,
    category_enable,
    category_order,
)
from apps.console.selling.forms.applying import CategoryForm
from apps.identity.pages.access import go, operator_page, show
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import InvalidInput, NotFound

_LIST = "catalogue_admin:categories"


@operator_page(P.VIEW)
def categories(request: PortalRequest) -> HttpResponse:
    """The tree, in the order of the catalogue."""
    context = {"tree": category_tree(), "may_manage": request.actor.may(P.MANAGE), "tab": "categories"}
    return show(request, "catalog/operator/categories", context)


@operator_page(P.MANAGE)
def category_new(request: PortalRequest) -> HttpResponse:
    form = CategoryForm(request.POST or None, initial={"parent": request.GET.get("under", "")})
    if request.method == "POST" and form.is_valid():
        try:
            row = category_create(actor=request.actor, **form.cleaned_data)
        except InvalidInput as error:
            form.refuse(error)
        else:
            messages.success(request, _("Made: %(name)s.") % {"name": row})
            return go(request, _LIST)
    return _form_page(request, form)


@operator_page(P.MANAGE)
def category(request: PortalRequest, code: str) -> HttpResponse:
    """One category, to be renamed and moved."""
    row = category_get(code)
    shown = {"name_en": row.name_en, "name_zh": row.name_zh, "parent": row.parent.code if row.parent else ""}
    form = CategoryForm(request.POST or None, initial=shown)
    if request.method == "POST" and form.is_valid():
        try:
            category_change(actor=request.actor, code=code, **form.cleaned_data)
        except InvalidInput as error:
            form.refuse(error)
        else:
            messages.success(request, _("Saved."))
            return go(request, _LIST)
    return _form_page(request, form, row=row)


def _form_page(request: PortalRequest, form: CategoryForm, **more: object) -> HttpResponse:
    form.mark()
    context = {
        "form": form,
        "back": _LIST,
        "back_name": _("Categories"),
        "new_name": _("New category"),
        **more,
    }
    return show(request, "catalog/operator/edit", context, status=400 if form.errors else 200)


@require_POST
@operator_page(P.MANAGE)
def category_act(request: PortalRequest, code: str, act: str) -> HttpResponse:
    """Up or down among those beside it, disabled or enabled, deleted."""
    actor = request.actor
    if act in ("up", "down"):
        category_order(actor=actor, code=code, is_up=act == "up")
    elif act == "enable":
        category_enable(actor=actor, code=code)
    elif act == "disable":
        category_disable(actor=actor, code=code)
        messages.success(request, _("It is out of the catalogue, with all that is in it. Orders go on."))
    elif act == "delete":
        category_delete(actor=actor, code=code)
        messages.success(request, _("Deleted."))
    else:
        raise NotFound()
    return go(request, _LIST)
