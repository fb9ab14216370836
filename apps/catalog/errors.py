"""Refusals of the catalogue that carry their own code."""

from django.utils.translation import gettext_lazy as _

from apps.kernel.errors import Conflict


class Undecidable(Conflict):
    """A step of a process has nobody who can decide it: whoever came to it would wait for ever."""

    code = "undecidable"
    default_message = _("Nobody can decide a step of the process.")


class CouponNotUsable(Conflict):
    """The coupon cannot pay this: spent, expired, recalled, or its conditions are not met (PLAT-OPS-26)."""

    code = "coupon_not_usable"
    default_message = _("This coupon cannot be used.")
    default_cure = _("Choose another coupon, or pay from the balance.")


class CouponNotClaimable(Conflict):
    """Nothing left, the tenant's limit is reached, or the activity is not open."""

    code = "coupon_not_claimable"
    default_message = _("This coupon cannot be claimed.")
    default_cure = _("Look for another activity in the coupon centre.")


class BudgetExceeded(Conflict):
    """Issuing would go beyond the year's coupon budget (PLAT-OPS-34)."""

    code = "coupon_budget_exceeded"
    default_cure = _("Raise the year's budget, or issue less.")
