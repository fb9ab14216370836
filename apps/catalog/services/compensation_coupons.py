"""Coupons that make good what a customer lost by our doing."""

from datetime import timedelta
from decimal import Decimal
from uuid import UUID, uuid5

from django.utils import timezone

from apps.catalog.models import Coupon, CouponActivity
from apps.catalog.states import ActivityState
from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service
from apps.tenancy.models import Tenant

_VALID = timedelta(days=365)
_OWED = UUID("c2b1a7de-0d0f-4c43-9a86-6f5d3c6c1a55")


@service()
def coupon_grant(
    *, actor: Actor, tenant: Tenant, user_id: int, value: Decimal, name_en: str, name_zh: str, key: str
) -> Coupon:
    """A coupon of `value` CNY for one user of a tenant, good for a year. It is owed, not given: no budget bounds it.
    `key` says what for: asked again for the same it is the same coupon."""
    code = f"CC-{uuid5(_OWED, key).hex[:16].upper()}"
    known = Coupon.plain.filter(code=code).first()
    if known is not None:
        return known
    now = timezone.now()
    activity = CouponActivity.objects.create(
        name_en=name_en,
        name_zh=name_zh,
        state=ActivityState.ENDED,
        face_value=value,
        quantity=1,
        claimed_count=1,
        valid_from=now,
        valid_until=now + _VALID,
        issued_at=now,
    )
    row = Coupon.plain.create(
        tenant=tenant,
        activity=activity,
        code=code,
        face_value=value,
        remaining=value,
        claimed_by_id=user_id,
    )
    act_subject("coupon", row.uid, value=str(value))
    return row
