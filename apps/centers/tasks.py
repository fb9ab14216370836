"""Clockwork of the centres."""

from apps.centers.services.sampling import centers_check as check
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def centers_check() -> None:
    """Make unknown, and in the end unavailable, what has been silent for too long: every few seconds."""
    check(actor=SYSTEM)
