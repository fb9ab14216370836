"""Clockwork of billing. Every task may come twice, late, or be killed half-way."""

from zoneinfo import ZoneInfo

from django.utils import timezone

from apps.billing.errors import NothingToBill
from apps.billing.selectors.accounts import funds_watched
from apps.billing.selectors.bills import bill_due_list
from apps.billing.services.bills import bill_make
from apps.billing.services.funds import funds_settle
from apps.billing.services.funds import funds_watch as watch
from apps.billing.services.rating import usage_rate as rate
from apps.billing.states import FundsLevel
from apps.kernel.actor import SYSTEM
from apps.kernel.tasks import provider_task
from apps.tenancy.selectors import tenant_get

_BATCH = 500
_BATCHES_MAX = 20


@provider_task
def usage_rate() -> int:
    """Rate what waits, batch by batch, each its own transaction, and give back what is left of funds: every two
    seconds."""
    total = 0
    for _batch in range(_BATCHES_MAX):
        rated = rate(actor=SYSTEM, limit=_BATCH)
        total += rated
        if rated < _BATCH:
            break
    funds_settle(actor=SYSTEM)
    return total


@provider_task
def funds_watch() -> int:
    """Look how far the money of those goes who run something; whose people were told of it: every few seconds."""
    return sum(watch(actor=SYSTEM, tenant=tenant) != FundsLevel.ENOUGH for tenant in funds_watched())


@provider_task
def bill_month() -> int:
    """Enqueue the bill of the past month for each tenant that has unbilled use in it: every hour.

    Coming often costs nothing and forgives a missed hour: what is billed once is never billed again.
    """
    now = timezone.now()
    due = list(bill_due_list(until=now))
    for tenant in due:
        bill_month_of.delay(tenant.schema_name)
    return len(due)


@provider_task
def bill_month_of(schema: str) -> bool:
    """Bill one tenant's use until the present month began in its zone; whether there was any."""
    tenant = tenant_get(schema)
    local = timezone.localtime(timezone.now(), ZoneInfo(tenant.timezone))
    until = local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    try:
        bill_make(actor=SYSTEM, tenant=tenant, until=until)
    except NothingToBill:
        return False
    return True
