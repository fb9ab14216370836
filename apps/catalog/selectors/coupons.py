"""Reads: coupon activities and coupons."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import (
    Case,
    Count,
    DecimalField,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.models import (
    Coupon,
    CouponActivity,
    CouponBudget,
    CouponRedemption,
)
from apps.catalog.pricing.coupons import redeemable
from apps.catalog.selectors.ids import Id, uid_of
from apps.catalog.states import ActivityState, CouponState
from apps.kernel.errors import NotFound
from apps.tenancy.models import Tenant

_VALUE = DecimalField(max_digits=28, decimal_places=10)


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


def coupon_activity_summary(*, search: str = "", state: str = "") -> QuerySet[CouponActivity]:
    """Each activity with `issued_value`, `claimed_value` and `used_value` in CNY (PLAT-OPS-35); nothing is issued of a
    draft. `search`: a part of its name."""
    used = (
        CouponRedemption.objects.across()
        .filter(coupon__activity=OuterRef("pk"))
        .order_by()
        .values("coupon__activity")
        .annotate(sum=Sum("amount"))
        .values("sum")
    )
    rows = CouponActivity.objects.all()
    if search:
        rows = rows.filter(Q(name_zh__icontains=search) | Q(name_en__icontains=search))
    if state:
        rows = rows.filter(state=state)
    return rows.annotate(
        issued_value=Case(
            When(state=ActivityState.DRAFT, then=Value(Decimal(0))),
            default=F("face_value") * F("quantity"),
            output_field=_VALUE,
        ),
        claimed_value=F("face_value") * F("claimed_count"),
        used_value=Coalesce(
            Subquery(used), Value(0), output_field=CouponRedemption._meta.get_field("amount")
        ),
    )


def coupon_activity_any_get(uid: Id) -> CouponActivity:
    """One of `coupon_activity_summary`, in whatever state."""
    row = coupon_activity_summary().filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such activity."))
    return row


def coupon_issued_value(year: int) -> Decimal:
    """What a year's issued activities may still cost in all, in CNY; of an ended one only what was claimed."""
    count = Case(When(state=ActivityState.ISSUED, then=F("quantity")), default=F("claimed_count"))
    rows = CouponActivity.objects.filter(budget_year=year)
    found = rows.aggregate(sum=Sum(F("face_value") * count, output_field=_VALUE))["sum"]
    return found or Decimal(0)


@dataclass(frozen=True, slots=True)
class BudgetFigures:
    """A year's coupon budget in CNY: what it is, what is issued of it, what is left."""

    year: int
    amount: Decimal
    issued: Decimal

    @property
    def left(self) -> Decimal:
        return self.amount - self.issued


def coupon_budgets() -> list[BudgetFigures]:
    """Each year's budget, the newest first (PLAT-OPS-34)."""
    return [
        BudgetFigures(row.year, row.amount, coupon_issued_value(row.year))
        for row in CouponBudget.objects.all()
    ]


def coupon_all(
    *, activity: CouponActivity | None = None, tenant: str = "", state: str = "", search: str = ""
) -> QuerySet[Coupon]:
    """The coupons of all tenants, newest first; of `tenant` by its code; `search`: a part of the coupon's code, or of
    the name of its activity (PLAT-OPS-33)."""
    rows = Coupon.objects.across().select_related("tenant", "activity", "claimed_by")
    if activity:
        rows = rows.filter(activity=activity)
    if tenant:
        rows = rows.filter(tenant__schema_name=tenant)
    if state:
        rows = rows.filter(state=state)
    if search:
        named = Q(activity__name_zh__icontains=search) | Q(activity__name_en__icontains=search)
        rows = rows.filter(named | Q(code__icontains=search))
    return rows


def coupon_any_get(uid: Id) -> Coupon:
    """One of `coupon_all`."""
    row = coupon_all().filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such coupon."))
    return row


@dataclass(frozen=True, slots=True)
class CouponUse:
    """What was taken from a coupon in CNY, and when. `bill_uid`: of the bill that it paid; "" for what is no bill, of
    which `reference` is all that is known."""

    reference: str
    bill_uid: str
    amount: Decimal
    created_at: datetime


def coupon_uses(coupon: Coupon) -> list[CouponUse]:
    """What was taken from a coupon, newest first."""
    found = []
    for row in CouponRedemption.objects.of(coupon.tenant).filter(coupon=coupon):
        kind, _colon, uid = row.reference.partition(":")
        bill_uid = uid if kind == "bill" else ""
        found.append(CouponUse(row.reference, bill_uid, row.amount, row.created_at))
    return found


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


def coupons_for(*, tenant: Tenant, total: Decimal) -> list[tuple[Coupon, Decimal]]:
    """The coupons that would pay something of a bill of `total` CNY now, each with what it takes, the best first: what
    takes most, of equal ones that which ends first, then that of which least is left over."""
    found = []
    for coupon in coupon_usable_list(tenant=tenant):
        takes = redeemable(
            total=total,
            remaining=coupon.remaining,
            minimum_spend=coupon.activity.minimum_spend,
            ratio_percent=coupon.activity.ratio_percent,
        )
        if takes > 0:
            found.append((coupon, takes))
    return sorted(found, key=lambda one: (-one[1], one[0].activity.valid_until, one[0].remaining, one[0].pk))


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
