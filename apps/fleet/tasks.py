"""Clockwork of the fleet."""

from apps.fleet.services.nodes import nodes_check as check
from apps.kernel.acts import SYSTEM
from apps.kernel.tasks import provider_task


@provider_task
def nodes_check() -> None:
    """Miss silent nodes and give up what was waited for long enough: every few seconds."""
    check(actor=SYSTEM)
