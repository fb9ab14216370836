"""What happens in the catalogue."""

from dataclasses import dataclass

from apps.kernel.events import Event


@dataclass(frozen=True, slots=True)
class PricePublished(Event):
    commodity_uid: str
    price_version_uid: str


@dataclass(frozen=True, slots=True)
class CouponActivityIssued(Event):
    activity_uid: str


@dataclass(frozen=True, slots=True)
class CouponClaimed(Event):
    tenant: str
    coupon_uid: str
