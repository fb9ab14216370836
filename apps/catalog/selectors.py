"""Reading the catalogue. What a tenant may see is decided here: listed, enabled, and for that tenant."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import (
    Category,
    Commodity,
    CommodityTenant,
    Coupon,
    CouponActivity,
    CouponRedemption,
    FormTemplate,
    PriceLine,
    PriceVersion,
    ProcessApp,
    ProcessTemplate,
)
from apps.catalog.pricing.coupons import redeemable
from apps.catalog.pricing.price import SECONDS, Line, Priced, PricedLine, PriceUnit, price
from apps.catalog.pricing.tiers import TierError, tiers_read
from apps.catalog.states import ActivityState, CouponState, ProcessAppState
from apps.catalog.types import Quote, QuoteCoupon, QuoteLine
from apps.identity.selectors import operators_who_may, usernames_enabled
from apps.kernel.errors import InvalidInput, NotFound
from apps.kernel.money import bill_round, exact
from apps.tenancy.models import Tenant
from workflows.engine import Definition, Node, load

Id = UUID | str
# Permission of the approvals, which stand above.
_DECIDE = "approvals.decide"


def uid_of(value: Id) -> UUID:
    """A uid out of an address or a form; NotFound for anything that is none."""
    try:
        return value if isinstance(value, UUID) else UUID(value)
    except (ValueError, AttributeError, TypeError):
        raise NotFound() from None


def process_definition(template: ProcessTemplate) -> Definition:
    """The loaded process of a template."""
    # The catalogue's keys may hold hyphens, the engine's only underscores.
    return load(template.xml.encode(), key=template.key.lower().replace("-", "_"))


def steps_undecidable(template: ProcessTemplate) -> list[Node]:
    """The steps of a process that are the centre's, and that nobody of it can decide now.

    Whom a tenant has for its own steps is looked at when it applies.
    """
    return [node for node in process_definition(template).nodes if not _is_decidable(node)]


def _is_decidable(node: Node) -> bool:
    accounts = [one.value for one in node.candidates if one.kind == "user"]
    roles = operator_roles_asked(node)
    if len(accounts) + len(roles) < len(node.candidates):
        return True
    return bool(operators_who_may(_DECIDE, roles=roles) or usernames_enabled(accounts))


def operator_roles_asked(node: Node) -> list[str]:
    """The codes of the operators' roles that may decide a step."""
    return [one.value for one in node.candidates if (one.kind, one.side) == ("role", "operator")]


def process_apps_published() -> QuerySet[ProcessApp]:
    """Those that can be applied by."""
    return ProcessApp.objects.filter(state=ProcessAppState.PUBLISHED).select_related("process_template")


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


def form_template_list() -> QuerySet[FormTemplate]:
    return FormTemplate.objects.all()


def form_template_get(code: str) -> FormTemplate:
    row = FormTemplate.objects.filter(code=code).first()
    if row is None:
        raise NotFound(_("There is no such form template."))
    return row


def process_app_list() -> QuerySet[ProcessApp]:
    """Every process application, with its three parts (PLAT-CFG-11)."""
    return ProcessApp.objects.select_related("category", "form_template", "process_template")


def process_app_get(uid: Id) -> ProcessApp:
    row = process_app_list().filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such process application."))
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


def process_template_list() -> QuerySet[ProcessTemplate]:
    """Every version, newest first, without the file itself."""
    return ProcessTemplate.objects.defer("xml")


def process_template_get(uid: Id) -> ProcessTemplate:
    row = process_template_list().filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such process."))
    return row


def commodity_is_open(commodity: Commodity) -> bool:
    """Whether it can be applied for: its process application is published (PLAT-CFG-14)."""
    return commodity.process_app.state == ProcessAppState.PUBLISHED


def price_version_get(*, commodity: Commodity, at: datetime) -> PriceVersion | None:
    """The prices in force at an instant; None before the first."""
    rows = PriceVersion.objects.filter(commodity=commodity, effective_from__lte=at)
    return rows.order_by("-effective_from", "-number").first()


def prices_least(rows: Sequence[Commodity]) -> dict[int, Decimal]:
    """What the least of each commodity costs an hour, by its key: one share with the least of each component, at the
    prices in force. Without a commodity that has no price; a card's components are to be prefetched."""
    versions = PriceVersion.objects.filter(
        commodity__in=[row.pk for row in rows], effective_from__lte=timezone.now()
    )
    newest = versions.order_by("commodity_id", "-effective_from", "-number").distinct("commodity_id")
    found = {}
    for version in newest.prefetch_related("lines__component"):
        row = next(each for each in rows if each.pk == version.commodity_id)
        least = {part.component.code: part.minimum for part in row.components.all()}
        lines = [pricing_line(line) for line in version.lines.all()]
        try:
            found[row.pk] = price(lines, least, 1, SECONDS[PriceUnit.HOUR]).total
        except TierError:
            # Its prices do not say what the least of it costs: the card says nothing either.
            continue
    return found


def price_version_list(*, commodity: Commodity) -> QuerySet[PriceVersion]:
    """All price versions of a commodity, newest first, with their lines."""
    return PriceVersion.objects.filter(commodity=commodity).prefetch_related("lines__component")


def price_lines(price_version_id: int) -> dict[str, PriceLine]:
    """The prices of one version by component code."""
    rows = PriceLine.objects.filter(price_version=price_version_id).select_related("component")
    return {row.component.code: row for row in rows}


def pricing_line(row: PriceLine) -> Line:
    """A stored price as the pure pricing code wants it."""
    return Line(
        component=row.component.code,
        per_unit=row.component.per_unit,
        unit=row.unit,
        method=row.tier_method,
        tiers=tiers_read(row.tiers),
    )


def quote_get(
    *,
    tenant: Tenant,
    commodity: Commodity,
    amounts: dict[str, int],
    count: int,
    duration_s: int,
    at: datetime,
    coupon: Coupon | Id | None = None,
) -> Quote:
    """What `count` shares of `amounts` cost over `duration_s` at the prices in force at `at` (PLAT-OPS-5).

    `amounts` by component code, in the component's amount unit, per share; all of the commodity's components.
    InvalidInput names every figure that is out of range.
    """
    wrong = _amount_errors(commodity, amounts) | _figure_errors(commodity, count, duration_s)
    if wrong:
        raise InvalidInput(_("The order cannot be priced as it stands."), fields=wrong)
    if commodity.is_manual:
        return _unmetered(commodity, count, duration_s, at)
    version, rows = _prices_at(commodity, at)
    priced = _priced(commodity, rows, amounts, count, duration_s)
    lines = tuple(_quote_line(rows[line.component], line) for line in priced.lines)
    total = sum((bill_round(line.exact) for line in lines), Decimal(0))
    return Quote(
        commodity=str(commodity.uid),
        commodity_number=commodity.number,
        commodity_name_zh=commodity.name_zh,
        commodity_name_en=commodity.name_en,
        commodity_version=commodity.version,
        supplier=commodity.supplier,
        price_version=str(version.uid),
        price_number=version.number,
        amounts=dict(amounts),
        count=count,
        duration_s=duration_s,
        lines=lines,
        per_hour=_per_hour(rows, priced, count),
        total=total,
        at=at,
        coupon=_quote_coupon(tenant, coupon, total, at),
    )


def _unmetered(commodity: Commodity, count: int, duration_s: int, at: datetime) -> Quote:
    """What a person delivers costs nothing by the meter."""
    return Quote(
        commodity=str(commodity.uid),
        commodity_number=commodity.number,
        commodity_name_zh=commodity.name_zh,
        commodity_name_en=commodity.name_en,
        commodity_version=commodity.version,
        supplier=commodity.supplier,
        price_version="",
        price_number=0,
        amounts={},
        count=count,
        duration_s=duration_s,
        lines=(),
        per_hour=Decimal(0),
        total=Decimal(0),
        at=at,
    )


def _prices_at(commodity: Commodity, at: datetime) -> tuple[PriceVersion, dict[str, PriceLine]]:
    version = price_version_get(commodity=commodity, at=at)
    if version is None:
        raise _unpriced(commodity)
    return version, price_lines(version.pk)


def _priced(
    commodity: Commodity, rows: Mapping[str, PriceLine], amounts: dict[str, int], count: int, duration_s: int
) -> Priced:
    try:
        return price([pricing_line(row) for row in rows.values()], amounts, count, duration_s)
    except TierError as error:
        raise _unpriced(commodity) from error


def _unpriced(commodity: Commodity) -> InvalidInput:
    reason = _("%(commodity)s has no price for this yet.") % {"commodity": commodity.name}
    return InvalidInput(reason, cure=_("Ask the operator to publish a price."))


def _amount_errors(commodity: Commodity, amounts: Mapping[str, int]) -> dict[str, object]:
    ranges = {row.component.code: row for row in commodity.components.all()}
    wrong: dict[str, object] = {
        f"amounts.{code}": _("The commodity has no such component.") for code in set(amounts) - set(ranges)
    }
    for code, row in ranges.items():
        amount = amounts.get(code)
        is_whole = isinstance(amount, int) and not isinstance(amount, bool)
        if not is_whole or not row.minimum <= amount <= row.maximum or (amount - row.minimum) % row.step:
            text = _("%(name)s must be from %(minimum)s to %(maximum)s %(unit)s in steps of %(step)s.")
            wrong[f"amounts.{code}"] = text % {
                "name": row.component.name,
                "minimum": row.minimum,
                "maximum": row.maximum,
                "unit": row.component.amount_unit,
                "step": row.step,
            }
    return wrong


def _figure_errors(commodity: Commodity, count: int, duration_s: int) -> dict[str, object]:
    wrong: dict[str, object] = {}
    if not _whole(count, 1, commodity.max_count):
        text = _("The number of shares must be from 1 to %(maximum)s.")
        wrong["count"] = text % {"maximum": commodity.max_count}
    if not _whole(duration_s, commodity.min_duration_s, commodity.max_duration_s):
        text = _("The duration must be from %(minimum)s to %(maximum)s seconds.")
        wrong["duration_s"] = text % {
            "minimum": commodity.min_duration_s,
            "maximum": commodity.max_duration_s,
        }
    return wrong


def _whole(value: object, minimum: int, maximum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= maximum


def _quote_line(row: PriceLine, line: PricedLine) -> QuoteLine:
    return QuoteLine(
        component=line.component,
        name_zh=row.component.name_zh,
        name_en=row.component.name_en,
        amount=line.amount,
        amount_unit=row.component.amount_unit,
        quantity=line.quantity,
        unit=row.component.unit,
        mode=row.mode,
        price_unit=row.unit,
        tier_method=row.tier_method,
        steps=line.steps,
        unit_amount=line.unit_amount,
        exact=exact(line.cost),
    )


def _per_hour(rows: Mapping[str, PriceLine], priced: Priced, count: int) -> Decimal:
    parts = (line.unit_amount * count * 3600 / SECONDS[rows[line.component].unit] for line in priced.lines)
    return exact(sum(parts, Decimal(0)))


def _quote_coupon(
    tenant: Tenant, coupon: Coupon | Id | None, total: Decimal, at: datetime
) -> QuoteCoupon | None:
    if not coupon:
        return None
    row = coupon if isinstance(coupon, Coupon) else coupon_get(tenant=tenant, uid=coupon)
    activity = row.activity
    is_usable = row.state == CouponState.CLAIMED and activity.valid_from <= at < activity.valid_until
    if row.tenant_id != tenant.pk or not is_usable:
        reason = _("The coupon cannot be used now.")
        raise InvalidInput(reason, fields={"coupon": reason}, cure=_("Choose another coupon, or none."))
    amount = redeemable(
        total=total,
        remaining=row.remaining,
        minimum_spend=activity.minimum_spend,
        ratio_percent=activity.ratio_percent,
    )
    return QuoteCoupon(str(row.uid), activity.name_zh, activity.name_en, amount)


def coupon_activity_list(
    *, tenant: Tenant, search: str = "", claimable: bool = False
) -> QuerySet[CouponActivity]:
    """Issued activities as the coupon centre shows them, each with `claimed_by_tenant` (PLAT-OPS-29, -30)."""
    own = Coupon.objects.of(tenant).filter(activity=OuterRef("pk")).order_by().values("activity")
    rows = CouponActivity.objects.filter(state=ActivityState.ISSUED).annotate(
        claimed_by_tenant=Coalesce(
            Subquery(own.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), Value(0)
        )
    )
    if search:
        rows = rows.filter(Q(name_zh__icontains=search) | Q(name_en__icontains=search))
    if claimable:
        now = timezone.now()
        rows = rows.filter(
            valid_from__lte=now,
            valid_until__gt=now,
            claimed_count__lt=F("quantity"),
            claimed_by_tenant__lt=F("per_tenant_limit"),
        )
    return rows


def coupon_activity_summary() -> QuerySet[CouponActivity]:
    """Each activity with `issued_value`, `claimed_value` and `used_value` in CNY (PLAT-OPS-35)."""
    used = (
        CouponRedemption.objects.across()
        .filter(coupon__activity=OuterRef("pk"))
        .order_by()
        .values("coupon__activity")
        .annotate(sum=Sum("amount"))
        .values("sum")
    )
    return CouponActivity.objects.annotate(
        issued_value=F("face_value") * F("quantity"),
        claimed_value=F("face_value") * F("claimed_count"),
        used_value=Coalesce(
            Subquery(used), Value(0), output_field=CouponRedemption._meta.get_field("amount")
        ),
    )


def coupon_list(*, tenant: Tenant, state: str = "", search: str = "") -> QuerySet[Coupon]:
    """The tenant's coupons, newest first."""
    rows = Coupon.objects.of(tenant).select_related("activity")
    if state:
        rows = rows.filter(state=state)
    if search:
        rows = rows.filter(Q(activity__name_zh__icontains=search) | Q(activity__name_en__icontains=search))
    return rows


def coupon_usable_list(*, tenant: Tenant) -> QuerySet[Coupon]:
    """Coupons that could pay now: claimed, valid, something left."""
    now = timezone.now()
    return coupon_list(tenant=tenant, state=CouponState.CLAIMED).filter(
        remaining__gt=0, activity__valid_from__lte=now, activity__valid_until__gt=now
    )


def coupon_get(*, tenant: Tenant, uid: Id) -> Coupon:
    row = coupon_list(tenant=tenant).filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such coupon."))
    return row


def coupon_claim_totals() -> list[dict[str, object]]:
    """Per tenant: coupons claimed, their face value, what remains (PLAT-OPS-36)."""
    rows = (
        Coupon.objects.across().order_by("tenant__schema_name").values("tenant__schema_name", "tenant__name")
    )
    return list(rows.annotate(count=Count("pk"), face_value=Sum("face_value"), remaining=Sum("remaining")))
