"""Coupons from budget to redemption (PLAT-OPS-24 to -37). Every figure moves under a row lock."""

import secrets
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.catalog.errors import BudgetExceeded, CouponNotClaimable, CouponNotUsable
from apps.catalog.models import Coupon, CouponActivity, CouponBudget, CouponRedemption
from apps.catalog.permissions import CouponPermission as P
from apps.catalog.pricing.coupons import redeemable
from apps.catalog.selectors.coupons import coupon_issued_value
from apps.catalog.selectors.ids import uid_of
from apps.catalog.services.rows import row_check
from apps.catalog.states import ACTIVITY, COUPON, ActivityState, CouponState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound
from apps.kernel.money import bill_round
from apps.kernel.service import service
from apps.tenancy.models import Tenant

_EXPIRE_BATCH = 500
# What every reader of the database can show, in any zone.
_YEARS = (1999, 9999)
# What a draft says, and may say otherwise until it is issued.
CHANGEABLE = frozenset(
    {
        "name_zh", "name_en", "face_value", "quantity", "valid_from", "valid_until", "per_tenant_limit",
        "minimum_spend", "ratio_percent",
    }
)  # fmt: skip


@service(P.MANAGE)
def coupon_budget_set(*, actor: Actor, year: int, amount: Decimal) -> CouponBudget:
    """Set what may be issued in a year, in CNY; never below what already is (PLAT-OPS-34)."""
    if not 2000 <= year <= 9999 or amount < 0 or amount != bill_round(amount):
        raise InvalidInput(
            fields={"amount": _("A year, and an amount of 0 or more with at most two places.")}
        )
    CouponBudget.objects.get_or_create(year=year, defaults={"amount": Decimal(0)})
    row = CouponBudget.objects.select_for_update(no_key=True).get(year=year)
    issued = coupon_issued_value(year)
    if amount < issued:
        raise BudgetExceeded(
            _("¥%(issued)s is issued already in %(year)s.") % {"issued": bill_round(issued), "year": year},
            cure=_("Set at least that much, or end an activity."),
        )
    row.amount = amount
    row.save(update_fields=["amount", "updated_at"])
    act_subject("coupon_budget", year, amount=amount)
    return row


@service(P.MANAGE)
def coupon_activity_create(
    *,
    actor: Actor,
    name_zh: str,
    name_en: str,
    face_value: Decimal,
    quantity: int,
    valid_from: datetime,
    valid_until: datetime,
    per_tenant_limit: int = 1,
    minimum_spend: Decimal = Decimal(0),
    ratio_percent: int = 100,
) -> CouponActivity:
    """Draft an activity. Amounts in CNY, two places at most; `ratio_percent`: the most of a bill it pays."""
    row = CouponActivity(
        name_zh=name_zh,
        name_en=name_en,
        face_value=face_value,
        quantity=quantity,
        valid_from=valid_from,
        valid_until=valid_until,
        per_tenant_limit=per_tenant_limit,
        minimum_spend=minimum_spend,
        ratio_percent=ratio_percent,
    )
    _activity_check(row)
    row.save()
    act_subject("coupon_activity", row.uid)
    return row


@service(P.MANAGE)
def coupon_activity_change(
    *, actor: Actor, activity_uid: UUID | str, changes: Mapping[str, Any]
) -> CouponActivity:
    """Change a draft: any of what `coupon_activity_create` takes. What is issued keeps its conditions, because tenants
    hold coupons of it: Conflict."""
    unknown = set(changes) - CHANGEABLE
    if unknown:
        raise InvalidInput(fields={name: _("No such field.") for name in sorted(unknown)})
    row = _activity_locked(activity_uid)
    if row.state != ActivityState.DRAFT:
        raise Conflict(
            _("%(name)s is issued: its conditions stay as they are.") % {"name": row},
            cure=_("End it and draft another."),
        )
    for name, value in changes.items():
        setattr(row, name, value)
    _activity_check(row)
    row.save(update_fields=[*changes, "updated_at"])
    act_subject("coupon_activity", row.uid, changed=sorted(changes))
    return row


@service(P.MANAGE)
def coupon_activity_delete(*, actor: Actor, activity_uid: UUID | str) -> CouponActivity:
    """Delete a draft for good; what it was, is returned. Conflict for what was issued: tenants may hold coupons of it,
    and the budget of its year counts it."""
    row = _activity_locked(activity_uid)
    if row.state != ActivityState.DRAFT:
        raise Conflict(
            _("%(name)s is issued: it is no draft that could be deleted.") % {"name": row},
            cure=_("End it, so that nobody claims any more of it."),
        )
    act_subject("coupon_activity", row.uid, name=row.name_en)
    row.delete()
    return row


def _activity_check(row: CouponActivity) -> None:
    """The rules of a draft; InvalidInput names each field that breaks one."""
    wrong: dict[str, object] = {}
    for name in ("face_value", "minimum_spend"):
        if getattr(row, name) != bill_round(getattr(row, name)):
            wrong[name] = _("An amount has at most two decimal places.")
    if row.face_value <= 0:
        wrong["face_value"] = _("A coupon is worth more than 0.")
    for name in ("valid_from", "valid_until"):
        if not _YEARS[0] < getattr(row, name).year < _YEARS[1]:
            wrong[name] = _("Give a year from 2000 to 9998.")
    if row.valid_until <= row.valid_from:
        wrong["valid_until"] = _("It must end after it begins.")
    if wrong:
        raise InvalidInput(_("The activity cannot be kept as it stands."), fields=wrong)
    row_check(row)


@service(P.MANAGE)
def coupon_activity_issue(*, actor: Actor, activity_uid: UUID | str) -> CouponActivity:
    """Open it to claims, within the budget of the present year (PLAT-OPS-34, -37)."""
    row = _activity_locked(activity_uid)
    now = timezone.now()
    year = timezone.localtime(now).year
    budget = CouponBudget.objects.select_for_update(no_key=True).filter(year=year).first()
    amount = budget.amount if budget else Decimal(0)
    wanted = coupon_issued_value(year) + row.face_value * row.quantity
    if wanted > amount:
        text = _(
            "The coupon budget of %(year)s is ¥%(amount)s; with this activity ¥%(wanted)s would be issued."
        )
        figures = {"year": year, "amount": bill_round(amount), "wanted": bill_round(wanted)}
        raise BudgetExceeded(text % figures)
    ACTIVITY.move(row, ActivityState.ISSUED, actor=actor, issued_at=now, budget_year=year)
    act_subject("coupon_activity", row.uid)
    return row


@service(P.MANAGE)
def coupon_activity_end(*, actor: Actor, activity_uid: UUID | str) -> CouponActivity:
    """Close it to claims; claimed coupons stay good."""
    row = _activity_locked(activity_uid)
    ACTIVITY.move(row, ActivityState.ENDED, actor=actor)
    act_subject("coupon_activity", row.uid)
    return row


@service(P.CLAIM)
def coupon_claim(*, actor: Actor, activity_uid: UUID | str) -> Coupon:
    """Claim one coupon for the actor's tenant (PLAT-OPS-29). Of parallel claims on the last one, one wins."""
    tenant = Tenant.objects.filter(schema_name=actor.tenant).first() if actor.tenant else None
    if tenant is None or actor.user_id is None:
        raise Forbidden(_("Coupons are claimed by users of a tenant."))
    activity = _activity_locked(activity_uid)
    if activity.state == ActivityState.DRAFT:
        raise NotFound(_("There is no such activity."))
    _claim_check(activity, tenant)
    CouponActivity.objects.filter(pk=activity.pk).update(claimed_count=F("claimed_count") + 1)
    coupon = Coupon.plain.create(
        tenant=tenant,
        activity=activity,
        code=f"CC-{secrets.token_hex(6).upper()}",
        face_value=activity.face_value,
        remaining=activity.face_value,
        claimed_by_id=actor.user_id,
    )
    act_subject("coupon", coupon.uid, activity=activity.uid)
    return coupon


def _claim_check(activity: CouponActivity, tenant: Tenant) -> None:
    if activity.state != ActivityState.ISSUED or timezone.now() >= activity.valid_until:
        raise CouponNotClaimable(_("The activity has ended."))
    if not activity.left_count:
        raise CouponNotClaimable(_("All %(n)s coupons are claimed.") % {"n": activity.quantity})
    own = Coupon.objects.of(tenant).filter(activity=activity).count()
    if own >= activity.per_tenant_limit:
        text = _("Your tenant has claimed %(own)s of the %(limit)s coupons that each tenant may have.")
        raise CouponNotClaimable(text % {"own": own, "limit": activity.per_tenant_limit})


@service(P.MANAGE)
def coupon_recall(*, actor: Actor, coupon_uid: UUID | str, reason: str = "") -> Coupon:
    """Take back a claimed coupon: what remains of it can no longer be used (PLAT-OPS-27)."""
    row = _coupon_locked(Coupon.objects.across(), coupon_uid)
    COUPON.move(row, CouponState.RECALLED, actor=actor)
    act_subject("coupon", row.uid, reason=reason)
    return row


@service()
def coupon_redeem(
    *, actor: Actor, tenant: Tenant, coupon_uid: UUID | str, amount: Decimal, reference: str
) -> Decimal:
    """Take what the coupon may pay of a bill of `amount` CNY; the amount taken, greater than 0.

    Called by whoever settles the bill, in the same transaction: the caller decides who may pay. A `reference`
    redeems a coupon once. CouponNotUsable says which condition is not met.
    """
    coupon = _coupon_locked(Coupon.objects.of(tenant), coupon_uid)
    activity = coupon.activity
    _redeem_check(coupon, amount)
    taken = redeemable(
        total=amount,
        remaining=coupon.remaining,
        minimum_spend=activity.minimum_spend,
        ratio_percent=activity.ratio_percent,
    )
    if taken <= 0:
        raise CouponNotUsable(_("The coupon pays nothing of ¥%(amount)s.") % {"amount": bill_round(amount)})
    CouponRedemption.plain.create(tenant=tenant, coupon=coupon, reference=reference, amount=taken)
    coupon.remaining -= taken
    coupon.save(update_fields=["remaining", "updated_at"])
    if not coupon.remaining:
        COUPON.move(coupon, CouponState.USED, actor=actor)
    act_subject("coupon", coupon.uid, amount=taken, reference=reference)
    return taken


def _redeem_check(coupon: Coupon, amount: Decimal) -> None:
    activity, now = coupon.activity, timezone.now()
    if coupon.state != CouponState.CLAIMED:
        state = coupon.get_state_display().lower()
        raise CouponNotUsable(_("Coupon %(code)s is %(state)s.") % {"code": coupon.code, "state": state})
    if not activity.valid_from <= now < activity.valid_until:
        until = timezone.localtime(activity.valid_until).strftime("%Y-%m-%d %H:%M")
        raise CouponNotUsable(
            _("Coupon %(code)s is valid until %(until)s.") % {"code": coupon.code, "until": until}
        )
    if amount < activity.minimum_spend:
        text = _("Coupon %(code)s wants a bill of at least ¥%(minimum)s; this one is ¥%(amount)s.")
        figures = {"minimum": bill_round(activity.minimum_spend), "amount": bill_round(amount)}
        raise CouponNotUsable(text % {"code": coupon.code, **figures})


@service(recorded=False)
def coupons_expire(*, actor: Actor, limit: int = _EXPIRE_BATCH) -> int:
    """Mark claimed coupons past their validity as expired; how many. Redeeming checks the time anyway."""
    rows = Coupon.objects.across().filter(
        state=CouponState.CLAIMED, activity__valid_until__lte=timezone.now()
    )
    locked = list(rows.select_for_update(skip_locked=True, of=("self",)).order_by("pk")[:limit])
    for row in locked:
        COUPON.move(row, CouponState.EXPIRED, actor=actor)
    return len(locked)


def _activity_locked(uid: UUID | str) -> CouponActivity:
    row = CouponActivity.objects.select_for_update(no_key=True).filter(uid=uid_of(uid)).first()
    if row is None:
        raise NotFound(_("There is no such activity."))
    return row


def _coupon_locked(rows: QuerySet[Coupon], uid: UUID | str) -> Coupon:
    row = (
        rows.select_for_update(no_key=True, of=("self",))
        .select_related("activity")
        .filter(uid=uid_of(uid))
        .first()
    )
    if row is None:
        raise NotFound(_("There is no such coupon."))
    return row
