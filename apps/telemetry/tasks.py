from apps.kernel.acts import SYSTEM
from apps.kernel.tasks import provider_task
from apps.telemetry import services


@provider_task
def samples_prune() -> int:
    """Forget old samples: every hour."""
    return services.samples_prune(actor=SYSTEM)
