"""Clockwork of the catalogue."""

from apps.catalog.services.coupons import coupons_expire as expire
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def coupons_expire() -> int:
    """Expire coupons past their validity: every ten minutes."""
    return expire(actor=SYSTEM)
