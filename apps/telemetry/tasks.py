"""Clockwork of telemetry."""

import logging

from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task
from apps.telemetry.models import AlarmDelivery
from apps.telemetry.services import deliveries
from apps.telemetry.services.logs import logs_prune
from apps.telemetry.services.samples import rollups_prune
from apps.telemetry.services.samples import samples_prune as prune
from apps.telemetry.services.webhooks import hook_send
from apps.telemetry.states import Channel

log = logging.getLogger(__name__)
_DELIVERIES_MAX = 200


@provider_task
def samples_prune() -> int:
    """Forget old samples, hourly sums and log lines, batch by batch: every hour."""
    total = 0
    for forget in (prune, rollups_prune, logs_prune):
        while gone := forget(actor=SYSTEM):
            total += gone
    return total


@provider_task
def deliveries_send() -> int:
    """Tell people of the alarms they are to be told: after each alarm, and every few seconds."""
    count = 0
    while count < _DELIVERIES_MAX and (row := deliveries.delivery_claim(actor=SYSTEM)):
        count += 1
        _send(row)
    return count


def _send(row: AlarmDelivery) -> None:
    if row.channel == Channel.IN_SITE:
        deliveries.delivery_message(actor=SYSTEM, delivery_uid=row.uid)
        return
    error = ""
    try:
        if row.channel == Channel.WEBHOOK:
            hook_send(row)
        else:
            deliveries.mail_send(row)
    except Exception as problem:
        # Whatever a server does: it is written down, and tried again.
        log.warning("an alarm was not told by %s: %s", row.channel, problem)
        error = str(problem) or type(problem).__name__
    deliveries.delivery_settle(actor=SYSTEM, delivery_uid=row.uid, error=error)
