"""Life cycles of process applications, coupon activities and coupons (platform.md, annex A)."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.catalog.permissions import CatalogPermission, CouponPermission
from apps.kernel.flow import Flow


class CommodityKind(models.TextChoices):
    """What an order of a commodity yields."""

    WORK = "work", _("Work")
    ENVIRONMENT = "environment", _("Environment")
    SESSION = "session", _("Remote accelerator")
    SERVICE = "service", _("Service")
    VOLUME = "volume", _("Storage volume")
    MANUAL = "manual", _("Manual service")


class CardUse(models.TextChoices):
    """How what is delivered holds an accelerator, where it has any."""

    SHARE = "share", _("Share of a card")
    WHOLE = "whole", _("Whole card")
    MIG = "mig", _("MIG slice")


class FieldKind(models.TextChoices):
    """What a field of a form template asks for. A heading asks for nothing; a person, a queue and a card model are
    chosen among those that there are."""

    TEXT = "text", _("Text")
    NUMBER = "number", _("Number")
    CHOICE = "choice", _("Choice")
    DATE = "date", _("Date")
    DURATION = "duration", _("Duration")
    MEMORY = "memory", _("Memory")
    PERSON = "person", _("Person")
    QUEUE = "queue", _("Queue")
    MODEL = "model", _("Card model")
    HEADING = "heading", _("Heading")


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
