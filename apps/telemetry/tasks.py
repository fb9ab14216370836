"""Clockwork of telemetry."""

from apps.kernel.acts import SYSTEM
from apps.kernel.tasks import provider_task
from apps.telemetry.services.samples import samples_prune as prune


@provider_task
def samples_prune() -> int:
    """Forget old samples, batch by batch: every hour."""
    total = 0
    while gone := prune(actor=SYSTEM):
        total += gone
    return total
