"""Coupons that make good what a customer lost by our doing."""

import secrets
from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from apps.catalog.models import Coupon, CouponActivity
from apps.catalog.states import ActivityState
from apps.kernel.acts import Actor, act_subject
from apps.kernel.service import service
from apps.tenancy.models import Tenant

_VALID = timedelta(days=365)


@service()
def coupon_grant(
    *, actor: Actor, tenant: Tenant, user_id: int, value: Decimal, name_en: str, name_zh: str
) -> Coupon:
    """A coupon of `value` CNY for one user of a tenant, good for a year. It is owed, not given: no budget bounds it."""
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
        code=f"CC-{secrets.token_hex(6).upper()}",
        face_value=value,
        remaining=value,
        claimed_by_id=user_id,
    )
    act_subject("coupon", row.uid, value=str(value))
    return row
