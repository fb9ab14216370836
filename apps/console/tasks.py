"""Clockwork of the console: the pool is looked at every few seconds; files of tenants that are deleted go."""

from django.utils import timezone

from apps.console.alarms.readings import meters, pool_now, readings, samples
from apps.kernel.actor import SYSTEM
from apps.kernel.attached_files import tenant_files_remove
from apps.kernel.tasks import provider_task
from apps.telemetry.services.rule_evaluation import rules_check
from apps.telemetry.services.samples import meters_take, samples_put
from apps.tenancy.selectors import tenant_find
from apps.tenancy.states import TenantState


@provider_task
def watch() -> None:
    """Hold the alarm rules against what is measured, and add to the hourly sums: every few seconds, and at once
    when a rule was changed."""
    now = pool_now(timezone.now())
    rules_check(actor=SYSTEM, readings=readings(now), taken_at=now.at)
    meters_take(actor=SYSTEM, meters=meters(now), taken_at=now.at)
    samples_put(actor=SYSTEM, samples=samples(now))


@provider_task
def deleted_files_sweep() -> None:
    """Remove the attached files of tenants whose data are deleted; coming twice changes nothing."""
    for tenant in tenant_find(state=TenantState.DELETED):
        tenant_files_remove(tenant.schema_name)
