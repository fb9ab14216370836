"""Reads: categories and commodities, with what a tenant may see of them."""

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import (
    Category,
    Commodity,
    CommodityTenant,
    PriceVersion,
)
from apps.catalog.selectors.ids import Id, uid_of
from apps.catalog.states import ProcessAppState
from apps.kernel.errors import NotFound
from apps.tenancy.models import Tenant


def commodities_priced() -> QuerySet[Commodity]:
    """The commodities that have a price in force."""
    versions = PriceVersion.objects.filter(effective_from__lte=timezone.now())
    return Commodity.objects.filter(pk__in=versions.values("commodity"))


def commodities_listed() -> QuerySet[Commodity]:
    """What some tenant can apply for: listed, enabled, and in no disabled category."""
    rows = Commodity.objects.filter(is_listed=True, is_enabled=True, category__is_enabled=True)
    return rows.exclude(category__parent__is_enabled=False)


def category_list(*, is_enabled: bool | None = None) -> QuerySet[Category]:
    """Categories of both levels; those that are enabled, with what they are in, or all."""
    rows = Category.objects.select_related("parent")
    return rows.filter(is_enabled=True).exclude(parent__is_enabled=False) if is_enabled else rows


def categories_top() -> QuerySet[Category]:
    """The categories of the first level."""
    return category_list().filter(parent=None)


def category_tree() -> list[tuple[Category, list[Category]]]:
    """The first-level categories in their order, each with its second-level ones, and with `used`: how many
    commodities are in it."""
    rows = list(category_list().annotate(used=Count("commodities")))
    return [(top, [row for row in rows if row.parent_id == top.pk]) for top in rows if top.parent_id is None]


def category_get(code: str) -> Category:
    row = category_list().filter(code=code).first()
    if row is None:
        raise NotFound(_("There is no such category."))
    return row


def commodity_any_get(uid: Id) -> Commodity:
    """Any commodity, for operators."""
    row = commodity_all().filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such commodity."))
    return row


def _granted(tenant: Tenant) -> Q:
    return Q(is_for_all=True) | Q(pk__in=CommodityTenant.objects.of(tenant).values("commodity"))


def commodity_list(*, tenant: Tenant, search: str = "", category: str = "") -> QuerySet[Commodity]:
    """What the tenant may apply for (PLAT-SVC-1), by `search` in names and number, and by `category`."""
    rows = commodities_listed().filter(_granted(tenant))
    if search:
        rows = rows.filter(
            Q(name_zh__icontains=search) | Q(name_en__icontains=search) | Q(number__icontains=search)
        )
    if category:
        rows = rows.filter(Q(category__code=category) | Q(category__parent__code=category))
    return _joined(rows)


def commodity_get(*, tenant: Tenant, uid: Id) -> Commodity:
    """One of `commodity_list`; NotFound for what is hidden, even by address (PLAT-OPS-14)."""
    row = commodity_list(tenant=tenant).filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound()
    return row


def commodity_all(*, search: str = "", category: str = "") -> QuerySet[Commodity]:
    """Every commodity, for operators."""
    rows = Commodity.objects.all()
    if search:
        rows = rows.filter(Q(name_zh__icontains=search) | Q(name_en__icontains=search))
    if category:
        rows = rows.filter(Q(category__code=category) | Q(category__parent__code=category))
    return _joined(rows)


def _joined(rows: QuerySet[Commodity]) -> QuerySet[Commodity]:
    return rows.select_related(
        "category__parent",
        "process_app__process_template",
        "process_app__form_template",
        "termination_app__process_template",
    ).prefetch_related("components__component")


def commodity_is_open(commodity: Commodity) -> bool:
    """Whether it can be applied for: its process application is published (PLAT-CFG-14)."""
    return commodity.process_app.state == ProcessAppState.PUBLISHED
