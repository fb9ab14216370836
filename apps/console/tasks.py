"""Clockwork of the console: the pool is looked at every few seconds."""

from django.utils import timezone

from apps.console.alarm_readings import meters, pool_now, readings, samples
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task
from apps.telemetry.services.rule_evaluation import rules_check
from apps.telemetry.services.samples import meters_take, samples_put


@provider_task
def watch() -> None:
    """Hold the alarm rules against what is measured, and add to the hourly sums: every few seconds, and at once
    when a rule was changed."""
    now = pool_now(timezone.now())
    rules_check(actor=SYSTEM, readings=readings(now), taken_at=now.at)
    meters_take(actor=SYSTEM, meters=meters(now), taken_at=now.at)
    samples_put(actor=SYSTEM, samples=samples(now))
