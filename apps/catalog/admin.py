"""The catalogue on the operator pages: what is sold, by which process, at what price, with which coupons."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from apps.catalog import admin_acts as acts
from apps.catalog.models import (
    Category,
    Commodity,
    CommodityComponent,
    Component,
    Coupon,
    CouponActivity,
    CouponBudget,
    CouponRedemption,
    FormTemplate,
    PriceLine,
    PriceVersion,
    ProcessApp,
    ProcessTemplate,
)
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.permissions import CouponPermission
from apps.catalog.selectors.coupons import coupon_activity_summary
from apps.catalog.selectors.processes import process_template_list
from apps.identity.admin_base import Act, OperatorAdmin, OperatorInline, column, money


@admin.register(Category)
class CategoryAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("catalogue_admin:category", "code")
    page_permission = P.MANAGE
    list_display = ["code", "name_zh", "name_en", "parent", "is_enabled"]
    list_select_related = ["parent"]
    search_fields = ["code", "name_zh", "name_en"]
    add_page = (P.MANAGE, "catalogue_admin:category_new")


@admin.register(Component)
class ComponentAdmin(OperatorAdmin):
    view_permission = P.VIEW
    list_display = ["code", "name_zh", "name_en", "unit", "amount_unit", "per_unit"]
    search_fields = ["code", "name_zh", "name_en"]
    add_act = Act("add", _("Make a component"), P.MANAGE, acts.component_create, acts.ComponentForm)


@admin.register(FormTemplate)
class FormTemplateAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("catalogue_admin:form_template", "code")
    list_display = ["code", "kind", "name_zh", "name_en", "created_at"]
    list_filter = ["kind"]
    search_fields = ["code", "name_zh", "name_en"]
    add_page = (P.MANAGE, "catalogue_admin:form_template_new")


@admin.register(ProcessTemplate)
class ProcessTemplateAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("catalogue_admin:process_version", "uid")
    list_display = ["key", "short_version", "name_zh", "name_en", "created_at"]
    list_filter = ["key"]
    search_fields = ["key", "version", "name_zh", "name_en"]
    add_page = (P.MANAGE, "catalogue_admin:process_import")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProcessTemplate]:
        return process_template_list()

    @column(description=_("version"))
    def short_version(self, row: ProcessTemplate) -> str:
        return row.version[:12]


@admin.register(ProcessApp)
class ProcessAppAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("catalogue_admin:process", "uid")
    page_permission = P.MANAGE
    list_display = ["code", "name_zh", "category", "form_template", "process_template", "shown_state"]
    list_filter = ["state", "category"]
    list_select_related = ["category", "form_template", "process_template"]
    search_fields = ["code", "name_zh", "name_en"]
    add_page = (P.MANAGE, "catalogue_admin:process_new")

    @column(description=_("state"), is_state=True)
    def shown_state(self, row: ProcessApp) -> tuple[str, str]:
        return row.state, row.get_state_display()


class ComponentInline(OperatorInline):
    model = CommodityComponent
    fields = ["component", "minimum", "maximum", "default", "step"]


class PriceVersionInline(OperatorInline):
    model = PriceVersion
    fields = ["number", "effective_from", "published_at"]
    show_change_link = True


@admin.register(Commodity)
class CommodityAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("catalogue_admin:commodity", "uid")
    list_display = [
        "number",
        "name_zh",
        "name_en",
        "kind",
        "category",
        "is_listed",
        "is_enabled",
        "is_for_all",
        "version",
    ]
    list_filter = ["kind", "is_listed", "is_enabled", "is_for_all", "category"]
    list_select_related = ["category"]
    search_fields = ["number", "name_zh", "name_en", "supplier"]
    inlines = [ComponentInline, PriceVersionInline]
    add_page = (P.MANAGE, "catalogue_admin:commodity_kinds")


class PriceLineInline(OperatorInline):
    model = PriceLine
    fields = ["component", "mode", "unit", "tier_method", "tiers"]


@admin.register(PriceVersion)
class PriceVersionAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("catalogue_admin:commodity_price", "commodity__uid")
    page_permission = P.MANAGE
    list_display = ["commodity", "number", "effective_from", "published_at"]
    list_filter = ["commodity"]
    list_select_related = ["commodity"]
    search_fields = ["commodity__number", "commodity__name_zh", "commodity__name_en"]
    inlines = [PriceLineInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[PriceVersion]:
        """Prices of specifications of the computing network are set at those."""
        return super().get_queryset(request).filter(commodity__isnull=False)


@admin.register(CouponBudget)
class CouponBudgetAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("operator:coupon_budgets", "")
    list_display = ["year", "amount_cny", "updated_at"]
    fields = ["year", "amount_cny", "updated_at"]
    readonly_fields = ["amount_cny"]
    add_page = (CouponPermission.MANAGE, "operator:coupon_budgets")

    @column(description=_("amount (CNY)"), ordering="amount")
    def amount_cny(self, row: CouponBudget) -> str:
        return money(row.amount)


@admin.register(CouponActivity)
class CouponActivityAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("operator:coupon_activity", "uid")
    list_display = [
        "name_zh", "name_en", "shown_state", "value", "quantity", "claimed_count", "issued", "claimed", "used",
        "valid_until",
    ]  # fmt: skip
    list_filter = ["state", "budget_year"]
    fields = [
        "name_zh", "name_en", "state", "value", "quantity", "per_tenant_limit", "least", "ratio_percent",
        "valid_from", "valid_until", "issued_at", "budget_year", "claimed_count", "issued", "claimed", "used",
    ]  # fmt: skip
    readonly_fields = ["value", "least", "issued", "claimed", "used"]
    search_fields = ["name_zh", "name_en"]
    add_page = (CouponPermission.MANAGE, "operator:coupon_activity_new")

    def get_queryset(self, request: HttpRequest) -> QuerySet[CouponActivity]:
        return coupon_activity_summary()

    @column(description=_("state"), is_state=True)
    def shown_state(self, row: CouponActivity) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @column(description=_("face value (CNY)"), ordering="face_value")
    def value(self, row: CouponActivity) -> str:
        return money(row.face_value)

    @column(description=_("minimum spend (CNY)"))
    def least(self, row: CouponActivity) -> str:
        return money(row.minimum_spend)

    @column(description=_("issued (CNY)"))
    def issued(self, row: CouponActivity) -> str:
        return money(row.issued_value)

    @column(description=_("claimed (CNY)"))
    def claimed(self, row: CouponActivity) -> str:
        return money(row.claimed_value)

    @column(description=_("used (CNY)"))
    def used(self, row: CouponActivity) -> str:
        return money(row.used_value)


class RedemptionInline(OperatorInline):
    model = CouponRedemption
    fields = ["reference", "shown_amount", "created_at"]

    @column(description=_("amount (CNY)"))
    def shown_amount(self, row: CouponRedemption) -> str:
        return money(row.amount)


@admin.register(Coupon)
class CouponAdmin(OperatorAdmin):
    view_permission = P.VIEW
    page = ("operator:coupon", "uid")
    list_display = ["code", "tenant", "activity", "shown_state", "value", "rest", "claimed_by", "created_at"]
    list_filter = ["state", "tenant", "activity"]
    list_select_related = ["tenant", "activity", "claimed_by"]
    search_fields = ["code", "claimed_by__username"]
    inlines = [RedemptionInline]
    fields = ["code", "tenant", "activity", "state", "value", "rest", "claimed_by", "created_at"]
    readonly_fields = ["value", "rest"]

    @column(description=_("state"), is_state=True)
    def shown_state(self, row: Coupon) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @column(description=_("face value (CNY)"), ordering="face_value")
    def value(self, row: Coupon) -> str:
        return money(row.face_value)

    @column(description=_("remaining (CNY)"), ordering="remaining")
    def rest(self, row: Coupon) -> str:
        return money(row.remaining)
