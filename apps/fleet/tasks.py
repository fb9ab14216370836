"""Clockwork of the fleet."""

from django.utils import timezone

from apps.fleet.services import container_saves, folder_transfers, folder_uploads
from apps.fleet.services.nodes import metrics, node_liveness
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def nodes_check() -> None:
    """Miss silent nodes, give up what was waited for long enough, let go what is to leave: every few seconds."""
    node_liveness.nodes_check(actor=SYSTEM)
    node_liveness.moves_check(actor=SYSTEM)
    folder_transfers.folders_check(actor=SYSTEM)
    container_saves.container_saves_check(actor=SYSTEM)
    node_liveness.leaving_check(actor=SYSTEM)


@provider_task
def archives_tidy() -> None:
    """Delete what was not used or added to for long, folders that were sent and metrics, and archives that nobody knows
    of any more: every hour."""
    now = timezone.now()
    folder_uploads.uploads_tidy(actor=SYSTEM, now=now)
    metrics.metrics_prune(actor=SYSTEM)
    folder_transfers.archives_tidy(now)
