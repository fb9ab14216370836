"""The catalogue, one commodity to be configured, and the coupon centre."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from apps.catalog.forms import CommodityFilterForm, CouponCentreForm
from apps.catalog.models import Category
from apps.catalog.selectors.commodities import category_list, commodity_get, commodity_is_open, commodity_list
from apps.catalog.selectors.coupons import coupon_activity_list, coupon_list, coupon_usable_list
from apps.catalog.selectors.prices import price_lines, price_version_get, prices_least
from apps.catalog.services.coupons import coupon_claim
from apps.catalog.states import CouponState
from apps.identity.pages.access import cleaned, go, page, paged, show
from apps.identity.pages.lists.declared import Column, PageList, ranked
from apps.identity.pages.lists.pages import show_list
from apps.identity.pages.requests import TenantRequest
from apps.kernel.translatable import localized

CARDS_PER_PAGE = 24


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
    context = {
        "commodity": row,
        "is_open": commodity_is_open(row),
        "version": version,
        "prices": list(price_lines(version.pk).values()) if version else [],
        "coupons": coupon_usable_list(tenant=tenant),
    }
    return show(request, "catalog/commodity", context)


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
