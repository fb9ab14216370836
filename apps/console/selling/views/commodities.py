"""Commodities as operators make them, price them, and list them."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.catalog.models import Commodity
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.selectors.commodities import commodity_all, commodity_any_get
from apps.catalog.selectors.price_versions import price_versions_compared
from apps.catalog.services.commodities import (
    commodity_copy,
    commodity_delist,
    commodity_disable,
    commodity_enable,
    commodity_list_,
    commodity_retire,
    commodity_tenants_set,
)
from apps.catalog.states import CommodityKind
from apps.console.selling.forms.selling import (
    CommodityForm,
    RetireForm,
    TenantsForm,
    category_choices,
    commodity_initial,
)
from apps.console.selling.forms.services import service_initial
from apps.console.selling.services import commodity_put
from apps.identity.pages.access import cleaned, go, operator_page, show
from apps.identity.pages.lists.declared import Column, PageList
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import PortalRequest
from apps.kernel.errors import InvalidInput, NotFound, WeirError
from apps.kernel.translatable import localized

_LIST, _ONE = "catalogue_admin:commodities", "catalogue_admin:commodity"
KINDS = (
    (
        CommodityKind.WORK,
        "code",
        gettext_lazy("A program of the centre's that runs on a share of a card, or on CPU."),
    ),
    (
        CommodityKind.ENVIRONMENT,
        "flask",
        gettext_lazy("A development environment that is opened in the browser, such as JupyterLab."),
    ),
    (
        CommodityKind.SESSION,
        "plug-connected",
        gettext_lazy(
            "A card of the pool for a script elsewhere: the order shows the key and the line to paste."
        ),
    ),
    (
        CommodityKind.SERVICE,
        "world",
        gettext_lazy(
            "A program with an HTTP port that is kept alive, with an address for browsers and programs."
        ),
    ),
    (
        CommodityKind.VOLUME,
        "database",
        gettext_lazy("Storage by size: the order delivers a volume for files, paid by its size and time."),
    ),
    (
        CommodityKind.MANUAL,
        "users",
        gettext_lazy("A person carries it out: the order opens a ticket, and its answer delivers it."),
    ),
)
# What the form of a new commodity begins with.
_BEGIN = {
    "icon": "cpu", "shortest": 1, "shortest_unit": 60, "longest": 30, "longest_unit": 86400, "max_count": 8,
    "gpu_memory_unit": 1024, "memory_unit": 1024,
}  # fmt: skip


COMMODITIES = PageList(
    Column("name", gettext_lazy("Name"), sort=lambda: localized("name_zh", "name_en"), value="name"),
    Column("number", gettext_lazy("Number"), sort="number", value="number", is_extra=True),
    Column("kind", gettext_lazy("Yields"), sort="kind", value="get_kind_display"),
    Column(
        "category",
        gettext_lazy("Category"),
        sort=lambda: localized("category__name_zh", "category__name_en"),
        value="category.name",
    ),
    Column("tenants", gettext_lazy("Open to all tenants"), sort="is_for_all", value="is_for_all"),
    Column("version", gettext_lazy("Version"), sort="version", value="version"),
    Column("listed", gettext_lazy("On sale"), sort=("is_listed", "is_enabled"), value="is_listed"),
)


@operator_page(P.VIEW)
def commodities(request: PortalRequest) -> HttpResponseBase:
    """All of them, listed or not."""
    chosen = {name: request.GET.get(name, "")[:80] for name in ("search", "category")}
    context = {
        "chosen": chosen,
        "categories": category_choices(),
        "may_manage": request.actor.may(P.MANAGE),
        "tab": "commodities",
    }
    return show_list(request, "catalog/operator/commodities", COMMODITIES, commodity_all(**chosen), context)


@operator_page(P.MANAGE)
def commodity_kinds(request: PortalRequest) -> HttpResponse:
    """What a new commodity is to yield."""
    kinds = [(kind.value, kind.label, icon, text) for kind, icon, text in KINDS]
    return show(request, "catalog/operator/commodity_kinds", {"kinds": kinds})


@operator_page(P.MANAGE)
def commodity_new(request: PortalRequest, kind: str) -> HttpResponse:
    if kind not in CommodityKind.values:
        raise NotFound()
    form = CommodityForm(request.POST or None, kind=kind, is_new=True, initial=_BEGIN | service_initial())
    return _edit(request, form, lambda: commodity_put(actor=request.actor, draft=form.draft()), kind=kind)


@operator_page(P.MANAGE)
def commodity_edit(request: PortalRequest, uid: UUID) -> HttpResponse:
    """A new version of one: orders made before keep theirs."""
    row = commodity_any_get(uid)
    form = CommodityForm(request.POST or None, kind=row.kind, is_new=False, initial=commodity_initial(row))

    def put() -> Commodity:
        version = request.POST.get("version", "")
        if not version.isdecimal() or len(version) > 9:
            raise InvalidInput(fields={"version": _("A whole number is wanted.")})
        return commodity_put(actor=request.actor, draft=form.draft(), commodity_uid=uid, version=int(version))

    return _edit(request, form, put, kind=row.kind, row=row)


def _edit(
    request: PortalRequest,
    form: CommodityForm,
    put: Callable[[], Commodity],
    *,
    kind: str,
    row: Commodity | None = None,
) -> HttpResponse:
    if request.method == "POST" and form.is_valid():
        try:
            made = put()
        except WeirError as error:
            form.refuse(error)
        else:
            told = (
                _("Saved as version %(n)s; orders made before keep theirs.") if row else _("Made: %(name)s.")
            )
            messages.success(request, told % {"n": made.version, "name": made})
            return go(request, _ONE, made.uid)
    form.mark()
    context = {"form": form, "kind": CommodityKind(kind).label, "row": row}
    return show(request, "catalog/operator/commodity_edit", context, status=400 if form.errors else 200)


@operator_page(P.VIEW)
def commodity(request: PortalRequest, uid: UUID) -> HttpResponse:
    """One commodity: what it yields and where, who may apply, its prices, and what may be done with it."""
    row = commodity_any_get(uid)
    context = {
        "row": row,
        "prices": price_versions_compared(row),
        "tenants": [grant.tenant for grant in row.grants.select_related("tenant")],
        "may_manage": request.actor.may(P.MANAGE),
    }
    return show(request, "catalog/operator/commodity", context)


@require_POST
@operator_page(P.MANAGE)
def commodity_act(request: PortalRequest, uid: UUID, act: str) -> HttpResponse:
    """Listed or off it, enabled or disabled, copied."""
    acts: dict[str, Callable[..., Commodity]] = {
        "list": commodity_list_,
        "delist": commodity_delist,
        "enable": commodity_enable,
        "disable": commodity_disable,
        "copy": commodity_copy,
    }
    told = {
        "list": _("%(name)s is in the catalogue."),
        "delist": _("%(name)s is out of the catalogue."),
        "enable": _("%(name)s can be applied for."),
        "disable": _("%(name)s cannot be applied for."),
        "copy": _("Made: %(name)s."),
    }
    if act not in acts:
        raise NotFound()
    row = acts[act](actor=request.actor, commodity_uid=uid)
    messages.success(request, told[act] % {"name": row})
    return go(request, _ONE, row.uid)


@require_POST
@operator_page(P.MANAGE)
def commodity_retirement(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Taken off the market: what runs of it without an end is ended then."""
    given = cleaned(RetireForm(request.POST))
    row = commodity_retire(actor=request.actor, commodity_uid=uid, at=given["at"])
    messages.success(
        request, _("%(name)s retires. Those who ordered it without an end are told.") % {"name": row}
    )
    return go(request, _ONE, row.uid)


@operator_page(P.MANAGE)
def commodity_tenants(request: PortalRequest, uid: UUID) -> HttpResponse:
    """Who may apply for it (PLAT-OPS-14)."""
    row = commodity_any_get(uid)
    shown = {
        "is_for_all": "1" if row.is_for_all else "0",
        "tenants": [grant.tenant.schema_name for grant in row.grants.select_related("tenant")],
    }
    form = TenantsForm(request.POST or None, initial=shown)
    if request.method == "POST" and form.is_valid():
        commodity_tenants_set(
            actor=request.actor,
            commodity_uid=uid,
            is_for_all=form.cleaned_data["is_for_all"],
            tenants=form.chosen(),
        )
        messages.success(request, _("Who may apply for %(name)s is changed.") % {"name": row})
        return go(request, _ONE, uid)
    form.mark()
    context = {"form": form, "back": _LIST, "back_name": _("Commodities"), "row": row}
    return show(request, "catalog/operator/edit", context, status=400 if form.errors else 200)
