"""Clockwork of the fleet."""

from apps.fleet.services import watch
from apps.kernel.acts import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def nodes_check() -> None:
    """Miss silent nodes, give up what was waited for long enough, let go what is to leave: every few seconds."""
    watch.nodes_check(actor=SYSTEM)
    watch.moves_check(actor=SYSTEM)
    watch.leaving_check(actor=SYSTEM)
