"""The catalogue, one commodity to be configured, and the coupon centre."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.catalog.charts import curve_option
from apps.catalog.forms import CommodityFilterForm, CouponCentreForm
from apps.catalog.models import Category, Commodity, PriceLine
from apps.catalog.selectors.commodities import category_list, commodity_get, commodity_is_open, commodity_list
from apps.catalog.selectors.comparison import Compared, commodities_compared, compared_parts
from apps.catalog.selectors.coupons import coupon_activity_list, coupon_list, coupon_usable_list
from apps.catalog.selectors.price_versions import price_examples_known
from apps.catalog.selectors.prices import price_lines, price_version_get, prices_least
from apps.catalog.services.coupons import coupon_claim
from apps.catalog.states import CouponState
from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import TenantRequest
from apps.kernel.errors import InvalidInput
from apps.kernel.translatable import localized

CARDS_PER_PAGE = 24
COMPARED_MOST = 3


@page("catalog.view")
def commodities(request: TenantRequest) -> HttpResponse:
    """The services the tenant may apply for (PLAT-SVC-1 to -5)."""
    chosen = cleaned(CommodityFilterForm(request.GET))
    rows = commodity_list(tenant=request.entered_tenant, search=chosen["search"], category=chosen["category"])
    shown = paged(request, rows, CARDS_PER_PAGE)
    prices = prices_least(list(shown))
    for row in shown:
        row.least_price = prices.get(row.pk)
    context = {"rows": shown, "chosen": chosen, "tree": _tree()}
    return show(request, "catalog/commodities", context)


def _tree() -> list[tuple[Category, list[Category]]]:
    """The first-level categories, each with its second-level ones."""
    rows = list(category_list(is_enabled=True))
    return [(top, [row for row in rows if row.parent_id == top.pk]) for top in rows if top.parent_id is None]


@page("catalog.view")
def commodity(request: TenantRequest, uid: UUID) -> HttpResponse:
    """One service with its prices, to be configured and put into the cart."""
    tenant = request.entered_tenant
    row = commodity_get(tenant=tenant, uid=uid)
    version = price_version_get(commodity=row, at=timezone.now())
    lines = list(price_lines(version.pk).values()) if version else []
    examples = price_examples_known(row, lines) if lines else []
    context = {
        "commodity": row,
        "is_open": commodity_is_open(row),
        "version": version,
        "prices": lines,
        "curves": _curves(row, lines) if examples else [],
        "examples": examples,
        "coupons": coupon_usable_list(tenant=tenant),
    }
    return show(request, "catalog/commodity", context)


def _curves(row: Commodity, lines: Iterable[PriceLine]) -> list[tuple[PriceLine, dict[str, Any]]]:
    """Each component's price with what draws it over all that may be ordered."""
    parts = {part.component.code: part for part in row.components.all()}
    return [
        (line, curve_option(line, parts[line.component.code]))
        for line in lines
        if line.component.code in parts
    ]


@page("catalog.view")
def compare(request: TenantRequest) -> HttpResponse:
    """Up to three services side by side; which ones is in the address."""
    tenant = request.entered_tenant
    asked = list(dict.fromkeys(uid for uid in request.GET.getlist("which") if uid))
    if len(asked) > COMPARED_MOST:
        raise InvalidInput(fields={"which": _("At most %(most)s.") % {"most": COMPARED_MOST}})
    rows = [commodity_get(tenant=tenant, uid=uid) for uid in asked]
    found = commodities_compared(rows)
    context = {
        "rows": [(each, _without(rows, each)) for each in found],
        "parts": compared_parts(found),
        "others": [row for row in commodity_list(tenant=tenant) if row not in rows],
        "has_room": len(rows) < COMPARED_MOST,
    }
    return show(request, "catalog/compare", context)


def _without(rows: Iterable[Commodity], gone: Compared) -> str:
    """The address of the same comparison without one of them."""
    return urlencode([("which", str(row.uid)) for row in rows if row.pk != gone.commodity.pk])


_CNY = gettext_lazy("CNY")
COUPONS = PageList(
    Column(
        "coupon",
        gettext_lazy("Coupon"),
        sort=lambda: localized("activity__name_zh", "activity__name_en"),
        value="activity.name",
    ),
    Column("code", gettext_lazy("Code"), sort="code", value="code"),
    Column("face", gettext_lazy("Face value"), sort="face_value", value="face_value", unit=_CNY),
    Column("remaining", gettext_lazy("Remaining"), sort="remaining", value="remaining", unit=_CNY),
    Column(
        "state", gettext_lazy("State"), sort=ranked("state", CouponState.values), value="get_state_display"
    ),
    Column("until", gettext_lazy("Valid until"), sort="activity__valid_until", value="activity.valid_until"),
    # The conditions of the page narrow the activities above it.
    places=("search",),
)


@page()
def coupons(request: TenantRequest) -> HttpResponseBase:
    """Activities whose coupons can be claimed, and the tenant's own coupons (PLAT-OPS-29, PLAT-OPS-30)."""
    chosen = cleaned(CouponCentreForm(request.GET))
    tenant = request.entered_tenant
    context = {
        "activities": coupon_activity_list(tenant=tenant, **chosen),
        "chosen": chosen,
        "now": timezone.now(),
    }
    return show_list(request, "catalog/coupons", COUPONS, coupon_list(tenant=tenant), context)


@require_POST
@page("coupons.claim")
def claim(request: TenantRequest, uid: UUID) -> HttpResponse:
    row = coupon_claim(actor=request.actor, activity_uid=uid)
    messages.success(request, _("The coupon %(code)s is yours.") % {"code": row.code})
    return go(request, "catalog:coupons")
