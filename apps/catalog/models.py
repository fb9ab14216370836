"""What is sold, how it is asked for, what it costs, and coupons. Retired, never deleted."""

import uuid
from decimal import Decimal

from django.db import models
from django.db.models import F, Q
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from apps.catalog.pricing.price import SECONDS, PriceUnit
from apps.catalog.pricing.tiers import TierMethod
from apps.catalog.states import ActivityState, CardUse, CommodityKind, CouponState, ProcessAppState
from apps.kernel.money import MoneyField
from apps.kernel.planes import TenantOwned

# What a commodity says of where it runs: the names of its columns.
PLACE = ("card_use", "vendor", "model", "resource_group", "queue", "spec", "mig_profile")


class Named(models.Model):
    """A thing named in both languages."""

    name_zh = models.CharField(_("name in Chinese"), max_length=120)
    name_en = models.CharField(_("name in English"), max_length=120)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The name in the language of the reader."""
        return self.name_zh if (get_language() or "").startswith("zh") else self.name_en


class Category(Named):
    """A class of services, in two levels (PLAT-SVC-3), shown by `position` among those beside it. What is in a disabled
    one, or below it, is not in the catalogue."""

    code = models.SlugField(_("code"), max_length=48, unique=True)
    parent = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="children",
        verbose_name=_("parent"),
    )
    position = models.PositiveIntegerField(_("position"), default=0)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("category")
        verbose_name_plural = _("categories")
        ordering = ["position", "code"]


class Component(Named):
    """A priced part of a commodity (PLAT-OPS-12). `per_unit` amount units make one priced `unit`."""

    code = models.SlugField(_("code"), max_length=48, unique=True)
    unit = models.CharField(_("unit"), max_length=16)
    amount_unit = models.CharField(_("unit of amounts"), max_length=16)
    per_unit = models.PositiveIntegerField(_("amount units per unit"), default=1)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("component")
        verbose_name_plural = _("components")
        ordering = ["pk"]
        constraints = [models.CheckConstraint(name="component_per_unit", condition=Q(per_unit__gte=1))]


class FormTemplate(Named):
    """The fields that an application form of this kind asks for, in their order; `version` rises with each change.

    An application keeps the fields that it was begun with.
    """

    class Kind(models.TextChoices):
        NEW = "new", _("New")
        CHANGE = "change", _("Change")
        TERMINATION = "termination", _("Termination")
        REGULARIZATION = "regularization", _("Regularization")

    code = models.SlugField(_("code"), max_length=48, unique=True)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind)
    fields = models.JSONField(_("fields"), default=list, blank=True)
    version = models.PositiveIntegerField(_("version"), default=1)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("form template")
        verbose_name_plural = _("form templates")
        ordering = ["code"]


class ProcessTemplate(Named):
    """One version of a BPMN process. Never changed: a new file is a new version (PLAT-CFG-21)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    key = models.SlugField(_("key"), max_length=80)
    version = models.CharField(_("version"), max_length=64)
    xml = models.TextField(_("BPMN"))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name = _("process template")
        verbose_name_plural = _("process templates")
        ordering = ["-created_at", "-pk"]
        constraints = [models.UniqueConstraint(fields=["key", "version"], name="process_template_once")]


class ProcessApp(Named):
    """Ties a process, a category and a form together (PLAT-CFG-11)."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    code = models.SlugField(_("code"), max_length=48, unique=True)
    category = models.ForeignKey(
        Category, on_delete=models.PROTECT, related_name="+", verbose_name=_("category")
    )
    form_template = models.ForeignKey(
        FormTemplate, on_delete=models.PROTECT, related_name="+", verbose_name=_("form template")
    )
    process_template = models.ForeignKey(
        ProcessTemplate, on_delete=models.PROTECT, related_name="+", verbose_name=_("process template")
    )
    state = models.CharField(
        _("state"), max_length=16, choices=ProcessAppState, default=ProcessAppState.DRAFT
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("process application")
        verbose_name_plural = _("process applications")
        ordering = ["code"]
        constraints = [
            models.CheckConstraint(name="process_app_state", condition=Q(state__in=ProcessAppState.values)),
        ]


class Commodity(Named):
    """A service in the catalogue: `kind` is what an order of it yields, `work` what a slice of it runs
    (`{"argv": [...], "env": {...}}`, of a service how it is kept alive too; empty where nothing of the centre's runs).

    With `is_own_program` the buyer says what runs.
    `environment` names the template that the work of an environment is. `image` is the version of an image of the
    centre that a service runs in, and `image_name` what that was called; without one it runs in what its node has.

    Where it is delivered: a queue, a resource group, an accelerator's vendor and model, a specification, each by its
    name or code, "" for any. With `is_open_ended` it may be ordered without an end; such orders end when it retires.
    Listed and enabled are two flags (PLAT-OPS-13); `version` rises with each change (PLAT-OPS-15).
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    number = models.CharField(_("service number"), max_length=32, unique=True)
    intro_zh = models.TextField(_("introduction in Chinese"), blank=True)
    intro_en = models.TextField(_("introduction in English"), blank=True)
    icon = models.CharField(_("icon"), max_length=48, default="cpu")
    supplier = models.CharField(_("supplier"), max_length=120, blank=True)
    category = models.ForeignKey(
        Category, on_delete=models.PROTECT, related_name="commodities", verbose_name=_("category")
    )
    kind = models.CharField(_("kind"), max_length=16, choices=CommodityKind, default=CommodityKind.WORK)
    work = models.JSONField(_("work"), default=dict, blank=True)
    environment = models.CharField(_("environment template"), max_length=36, blank=True)
    is_own_program = models.BooleanField(_("the buyer's own program"), default=False)
    image = models.CharField(_("container image"), max_length=36, blank=True)
    image_name = models.CharField(max_length=100, blank=True)
    card_use = models.CharField(_("accelerator"), max_length=8, choices=CardUse, default=CardUse.SHARE)
    vendor = models.CharField(_("vendor"), max_length=64, blank=True)
    model = models.CharField(_("card model"), max_length=200, blank=True)
    resource_group = models.CharField(_("resource group"), max_length=64, blank=True)
    queue = models.CharField(_("queue"), max_length=64, blank=True)
    spec = models.CharField(_("specification"), max_length=64, blank=True)
    mig_profile = models.CharField(_("MIG profile"), max_length=32, blank=True)
    process_app = models.ForeignKey(
        ProcessApp, on_delete=models.PROTECT, related_name="+", verbose_name=_("application for new")
    )
    termination_app = models.ForeignKey(
        ProcessApp, on_delete=models.PROTECT, related_name="+", verbose_name=_("application for termination")
    )
    is_listed = models.BooleanField(_("listed"), default=False)
    is_enabled = models.BooleanField(_("enabled"), default=True)
    is_for_all = models.BooleanField(_("for all tenants"), default=True)
    min_duration_s = models.PositiveIntegerField(_("shortest duration (s)"), default=60)
    max_duration_s = models.PositiveIntegerField(_("longest duration (s)"), default=30 * 86400)
    is_open_ended = models.BooleanField(_("may be ordered without an end"), default=False)
    retires_at = models.DateTimeField(_("retires at"), null=True, blank=True)
    max_count = models.PositiveIntegerField(_("most shares"), default=64)
    version = models.PositiveIntegerField(_("version"), default=1)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("commodity")
        verbose_name_plural = _("commodities")
        ordering = ["number"]
        constraints = [
            models.CheckConstraint(
                name="commodity_durations",
                condition=Q(min_duration_s__gte=1, max_duration_s__gte=F("min_duration_s")),
            ),
            models.CheckConstraint(name="commodity_count", condition=Q(max_count__gte=1)),
            models.CheckConstraint(name="commodity_kind", condition=Q(kind__in=CommodityKind.values)),
            models.CheckConstraint(name="commodity_card_use", condition=Q(card_use__in=CardUse.values)),
        ]

    @property
    def is_manual(self) -> bool:
        """Whether a person delivers it."""
        return self.kind == CommodityKind.MANUAL

    @property
    def is_scheduled(self) -> bool:
        """Whether it runs on the pool: a scheduler finds it room, and nodes hold it."""
        return self.kind not in (CommodityKind.VOLUME, CommodityKind.MANUAL)

    @property
    def delivery(self) -> dict[str, object]:
        """What is delivered, and where: plain values, as orders freeze them."""
        names = ("kind", "work", "is_own_program", "image", *PLACE)
        return {name: getattr(self, name) for name in names}

    @property
    def intro(self) -> str:
        return self.intro_zh if (get_language() or "").startswith("zh") else self.intro_en


class CommodityComponent(models.Model):
    """How much of a component one share of a commodity may hold, in the component's amount unit."""

    commodity = models.ForeignKey(Commodity, on_delete=models.PROTECT, related_name="components")
    component = models.ForeignKey(Component, on_delete=models.PROTECT, related_name="+")
    minimum = models.PositiveIntegerField(_("least"))
    maximum = models.PositiveIntegerField(_("most"))
    step = models.PositiveIntegerField(_("step"), default=1)
    default = models.PositiveIntegerField(_("default"))

    class Meta:
        verbose_name = _("component of a commodity")
        verbose_name_plural = _("components of a commodity")
        ordering = ["component"]
        constraints = [
            models.UniqueConstraint(fields=["commodity", "component"], name="commodity_component_once"),
            models.CheckConstraint(
                name="commodity_component_range",
                condition=Q(
                    minimum__gte=1,
                    step__gte=1,
                    maximum__gte=F("minimum"),
                    default__gte=F("minimum"),
                    default__lte=F("maximum"),
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.component} {self.minimum}–{self.maximum}"


class CommodityTenant(TenantOwned):
    """A tenant that a commodity not for all is listed for (PLAT-OPS-14)."""

    commodity = models.ForeignKey(Commodity, on_delete=models.PROTECT, related_name="grants")

    class Meta(TenantOwned.Meta):
        verbose_name = _("tenant of a commodity")
        verbose_name_plural = _("tenants of a commodity")
        constraints = [models.UniqueConstraint(fields=["commodity", "tenant"], name="commodity_tenant_once")]

    def __str__(self) -> str:
        return f"{self.commodity_id}: {self.tenant_id}"


class PriceVersion(models.Model):
    """A commodity's prices from an instant on. Append-only by trigger: what was charged stays explainable.

    Those of a specification of the computing network, which is no commodity, name it by its code in `network_spec`.
    """

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    commodity = models.ForeignKey(
        Commodity, null=True, blank=True, on_delete=models.PROTECT, related_name="price_versions"
    )
    network_spec = models.CharField(_("network specification"), max_length=64, blank=True, default="")
    number = models.PositiveIntegerField(_("number"))
    effective_from = models.DateTimeField(_("effective from"))
    published_at = models.DateTimeField(_("published at"))

    class Meta:
        verbose_name = _("price version")
        verbose_name_plural = _("price versions")
        ordering = ["commodity", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["commodity", "number"], name="price_version_once"),
            models.UniqueConstraint(
                fields=["network_spec", "number"],
                name="price_version_network_once",
                condition=Q(commodity__isnull=True),
            ),
            models.CheckConstraint(
                name="price_version_of",
                condition=Q(commodity__isnull=False, network_spec="")
                | (Q(commodity__isnull=True) & ~Q(network_spec="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.commodity_id or self.network_spec} v{self.number}"


class PriceLine(models.Model):
    """A component's price in a price version: mode, unit, tiers and their method (PLAT-OPS-48 to 50)."""

    class Mode(models.TextChoices):
        ON_DEMAND = "on_demand", _("On demand")
        SUBSCRIPTION = "subscription", _("Subscription")
        PER_USE = "per_use", _("Per use")

    _UNIT_NAMES = (_("Hour"), _("Use"), _("Day"), _("Month"), _("Year"))
    _METHOD_NAMES = (_("One price"), _("Progressive"), _("Whole amount"))
    UNITS = list(zip((unit.value for unit in PriceUnit), _UNIT_NAMES, strict=True))
    OFFERED_UNITS = [(unit, name) for unit, name in UNITS if unit in SECONDS]
    """Those by which use can be rated."""
    METHODS = list(zip((method.value for method in TierMethod), _METHOD_NAMES, strict=True))

    price_version = models.ForeignKey(PriceVersion, on_delete=models.PROTECT, related_name="lines")
    component = models.ForeignKey(Component, on_delete=models.PROTECT, related_name="+")
    mode = models.CharField(_("mode"), max_length=16, choices=Mode)
    unit = models.CharField(_("unit"), max_length=8, choices=UNITS)
    tier_method = models.CharField(_("tier method"), max_length=16, choices=METHODS)
    tiers = models.JSONField(_("tiers"))

    class Meta:
        verbose_name = _("price")
        verbose_name_plural = _("prices")
        ordering = ["component"]
        constraints = [models.UniqueConstraint(fields=["price_version", "component"], name="price_line_once")]

    def __str__(self) -> str:
        return f"{self.component}/{self.unit}"


class CouponBudget(models.Model):
    """What may be issued in coupons in a year (PLAT-OPS-34)."""

    year = models.PositiveIntegerField(_("year"), unique=True)
    amount = MoneyField(_("amount"))
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("coupon budget")
        verbose_name_plural = _("coupon budgets")
        ordering = ["-year"]
        constraints = [models.CheckConstraint(name="coupon_budget_amount", condition=Q(amount__gte=0))]

    def __str__(self) -> str:
        return str(self.year)


class CouponActivity(Named):
    """Coupons of one kind and their conditions of use (PLAT-OPS-26, -35). `ratio_percent`: most of a bill."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    state = models.CharField(_("state"), max_length=16, choices=ActivityState, default=ActivityState.DRAFT)
    face_value = MoneyField(_("face value"))
    quantity = models.PositiveIntegerField(_("quantity"))
    claimed_count = models.PositiveIntegerField(_("claimed"), default=0)
    per_tenant_limit = models.PositiveIntegerField(_("most per tenant"), default=1)
    minimum_spend = MoneyField(_("minimum spend"), default=Decimal(0))
    ratio_percent = models.PositiveSmallIntegerField(_("most of a bill (%)"), default=100)
    valid_from = models.DateTimeField(_("valid from"))
    valid_until = models.DateTimeField(_("valid until"))
    issued_at = models.DateTimeField(_("issued at"), null=True, blank=True)
    budget_year = models.PositiveIntegerField(_("budget of the year"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("coupon activity")
        verbose_name_plural = _("coupon activities")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="coupon_activity_state", condition=Q(state__in=ActivityState.values)),
            models.CheckConstraint(
                name="coupon_activity_claims", condition=Q(claimed_count__lte=F("quantity"))
            ),
            models.CheckConstraint(
                name="coupon_activity_rules",
                condition=Q(
                    face_value__gt=0,
                    quantity__gte=1,
                    per_tenant_limit__gte=1,
                    minimum_spend__gte=0,
                    ratio_percent__gte=1,
                    ratio_percent__lte=100,
                    valid_until__gt=F("valid_from"),
                ),
            ),
        ]

    @property
    def left_count(self) -> int:
        return self.quantity - self.claimed_count


class Coupon(TenantOwned):
    """A compute coupon in a tenant's hands: pays bills until nothing remains."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    activity = models.ForeignKey(CouponActivity, on_delete=models.PROTECT, related_name="coupons")
    code = models.CharField(_("code"), max_length=32, unique=True)
    face_value = MoneyField(_("face value"))
    remaining = MoneyField(_("remaining"))
    state = models.CharField(_("state"), max_length=16, choices=CouponState, default=CouponState.CLAIMED)
    claimed_by = models.ForeignKey(
        "identity.User", on_delete=models.PROTECT, related_name="+", verbose_name=_("claimed by")
    )
    created_at = models.DateTimeField(_("claimed at"), auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("coupon")
        verbose_name_plural = _("coupons")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(name="coupon_state", condition=Q(state__in=CouponState.values)),
            models.CheckConstraint(
                name="coupon_remaining", condition=Q(remaining__gte=0, remaining__lte=F("face_value"))
            ),
        ]

    def __str__(self) -> str:
        return self.code


class CouponRedemption(TenantOwned):
    """An amount taken from a coupon for `reference` (a bill's uid). Append-only by trigger."""

    uid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    coupon = models.ForeignKey(Coupon, on_delete=models.PROTECT, related_name="redemptions")
    reference = models.CharField(_("reference"), max_length=64)
    amount = MoneyField(_("amount"))
    created_at = models.DateTimeField(_("time"), auto_now_add=True)

    class Meta(TenantOwned.Meta):
        verbose_name = _("coupon redemption")
        verbose_name_plural = _("coupon redemptions")
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["coupon", "reference"], name="coupon_redemption_once"),
            models.CheckConstraint(name="coupon_redemption_amount", condition=Q(amount__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.coupon_id}: {self.amount}"
