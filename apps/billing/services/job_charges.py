"""What jobs over centres are charged by: one charge for each price at each centre, whose size follows the replicas that
are there. Its use is recorded and rated as that of any work."""

from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone

from apps.billing.errors import AccountNotOpened
from apps.billing.events import BalanceChanged
from apps.billing.models import Account, Charge, FundsHold, UsageRecord
from apps.billing.services.charges import charge_close
from apps.billing.services.funds import (
    cost_ahead,
    funds_take,
    holds_open,
    horizon_s,
    hourly_ahead,
)
from apps.billing.services.rating import usage_rated
from apps.billing.services.usage import usage_record
from apps.billing.states import ChargeState
from apps.billing.types import CostLabels, JobPrice, Usage, UsageReceipt
from apps.catalog.services.network_prices import REPLICA, network_price_keep
from apps.kernel.actor import Actor
from apps.kernel.events import emit
from apps.kernel.money import ZERO
from apps.kernel.service import service
from apps.tenancy.models import Tenant

_AMOUNTS = {REPLICA: 1}


@service(recorded=False)
def job_charge_begin(
    *, actor: Actor, tenant: Tenant, charge_uid: UUID, price: JobPrice, labels: CostLabels, replicas: int
) -> None:
    """So many replicas of a job are at a centre at one price from now on; what they cost is set aside first.

    The first time it opens the charge. Raises FundsTooLow, AccountNotOpened: nothing has changed then.
    """
    if not Account.objects.of(tenant).exists():
        raise AccountNotOpened()
    version = network_price_keep(actor=actor, network_spec=price.network_spec, hourly=price.hourly)
    row, is_new = Charge.plain.get_or_create(
        workload_uid=charge_uid,
        defaults={
            "tenant": tenant,
            "order_no": price.job_id,
            "job_id": price.job_id,
            "price_version": version,
            "amounts": _AMOUNTS,
            "count": replicas,
            "commodity_number": price.network_spec,
            "commodity_name_zh": price.spec_name,
            "commodity_name_en": price.spec_name,
            "supplier": price.supplier,
            "opened_at": timezone.now(),
            **labels.columns(),
        },
    )
    if is_new:
        hourly = hourly_ahead(version.pk, _AMOUNTS, replicas)
        holds_open([row], tenant=tenant, hourly=hourly, run_s=None)
        return
    job_charge_size(actor=actor, charge_uid=charge_uid, replicas=replicas, is_settled=False)


@service(recorded=False)
def job_charge_size(*, actor: Actor, charge_uid: UUID, replicas: int, is_settled: bool) -> None:
    """So many replicas of a charge may still use something. What more of them cost is set aside first: FundsTooLow.
    When there are none and all that was used `is_settled`, what is left is given back."""
    charge = Charge.plain.select_related("tenant").filter(workload_uid=charge_uid).first()
    if charge is None or charge.state != ChargeState.OPEN:
        return
    hourly = hourly_ahead(charge.price_version_id, _AMOUNTS, replicas) if replicas else ZERO
    before = FundsHold.plain.filter(charge=charge).values_list("hourly", flat=True).get()
    more = ZERO
    if hourly > before:
        more = cost_ahead(hourly - before, horizon_s())
        funds_take(charge.tenant, more)
    hold = FundsHold.plain.select_for_update(no_key=True).get(charge=charge)
    if hourly == hold.hourly and not (is_settled and not replicas and hold.amount != hold.used):
        return
    # Who had given all back begins anew; what was used stays used.
    hold.amount = (max(hold.amount, hold.used) if replicas or not is_settled else hold.used) + more
    hold.hourly, hold.shares = hourly, max(1, replicas)
    if not hourly:
        hold.check_at = hold.short_since = None
    elif hold.check_at is None:
        hold.check_at = timezone.now()
    hold.save(update_fields=["amount", "hourly", "shares", "check_at", "short_since"])
    emit(BalanceChanged(charge.tenant.schema_name), actor=actor)


@service(recorded=False)
def job_charge_end(*, actor: Actor, charge_uid: UUID) -> None:
    """All that a job used at one price at a centre is settled, and no more comes: its charge is closed. Again it
    changes nothing."""
    job_charge_size(actor=actor, charge_uid=charge_uid, replicas=0, is_settled=True)
    charge = Charge.plain.filter(workload_uid=charge_uid).first()
    if charge is not None and charge.state == ChargeState.OPEN:
        charge_close(actor=actor, workload_uid=charge_uid, at=timezone.now())


def job_holds_lock(job_id: str) -> None:
    """Lock what is set aside for a job, one after the other by their keys as whoever bills does, in the caller's
    transaction."""
    rows = FundsHold.plain.filter(charge__job_id=job_id).order_by("pk")
    list(rows.select_for_update(no_key=True, of=("self",)).values_list("pk"))


@service(recorded=False)
def job_usage_settle(*, actor: Actor, charge_uid: UUID, reports: Sequence[Usage]) -> UsageReceipt:
    """Record what a replica used and rate it at once, in the caller's transaction; see `usage_record`."""
    receipt = usage_record(actor=actor, workload_uid=charge_uid, reports=reports)
    rows = UsageRecord.plain.filter(
        slice_uid__in={each.slice_uid for each in reports}, rated_at__isnull=True, charge__funds__isnull=False
    ).select_related("charge__funds", "tenant")
    usage_rated(
        list(rows.select_for_update(no_key=True, of=("self", "charge__funds")).order_by("pk")), actor=actor
    )
    return receipt
