"""Clockwork of components and roll-outs."""

from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task
from apps.rollouts.services.backups import backup_due as due
from apps.rollouts.services.rollouts import rollouts_advance as advance
from apps.rollouts.services.server_processes import processes_prune as prune


@provider_task
def rollouts_advance() -> None:
    """Carry open roll-outs on: every two seconds."""
    advance(actor=SYSTEM)


@provider_task
def processes_prune() -> None:
    """Forget server processes that nobody has heard of for a day."""
    prune(actor=SYSTEM)


@provider_task
def backup_due() -> None:
    """Back the pool up where the last good backup is too old."""
    due(actor=SYSTEM)
