"""Life cycles of process applications, coupon activities and coupons (platform.md, annex A)."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.catalog.permissions import CatalogPermission, CouponPermission
from apps.kernel.flow import Flow


class ProcessAppState(models.TextChoices):
    DRAFT = "draft", _("Draft")
    PUBLISHED = "published", _("Published")
    UNPUBLISHED = "unpublished", _("Unpublished")


PROCESS_APP = Flow(
    {
        (ProcessAppState.DRAFT, ProcessAppState.PUBLISHED): CatalogPermission.MANAGE,
        (ProcessAppState.PUBLISHED, ProcessAppState.UNPUBLISHED): CatalogPermission.MANAGE,
        (ProcessAppState.UNPUBLISHED, ProcessAppState.PUBLISHED): CatalogPermission.MANAGE,
    }
)


class ActivityState(models.TextChoices):
    DRAFT = "draft", _("Draft")
    ISSUED = "issued", _("Issued")
    ENDED = "ended", _("Ended")


ACTIVITY = Flow(
    {
        (ActivityState.DRAFT, ActivityState.ISSUED): CouponPermission.MANAGE,
        (ActivityState.ISSUED, ActivityState.ENDED): CouponPermission.MANAGE,
    }
)


class CouponState(models.TextChoices):
    CLAIMED = "claimed", _("Claimed")
    USED = "used", _("Used")
    EXPIRED = "expired", _("Expired")
    RECALLED = "recalled", _("Recalled")


COUPON = Flow(
    {
        (CouponState.CLAIMED, CouponState.USED): "",
        (CouponState.CLAIMED, CouponState.EXPIRED): "",
        (CouponState.CLAIMED, CouponState.RECALLED): CouponPermission.MANAGE,
    }
)
