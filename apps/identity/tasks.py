from apps.identity import services
from apps.kernel.tasks import provider_task


@provider_task
def idempotent_calls_prune() -> int:
    """Forget the answers to idempotent calls nobody will repeat any more: every hour."""
    return services.idempotent_calls_prune()
