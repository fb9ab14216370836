"""Orders of storage: the volume made, metered by the clock, resized and ended.

Locks: volume before order before quota before charge before account. Who meters holds the volume: its use is recorded
once, one after the other.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone

from apps.billing.selectors.charges import usage_last, usage_rated_until
from apps.billing.services.charges import charge_storage_resize
from apps.billing.services.funds import funds_top_up
from apps.billing.services.usage import INTERVAL_MAX, usage_record
from apps.billing.types import Usage
from apps.kernel.actor import SYSTEM, Actor, act_subject
from apps.kernel.planes import current_tenant
from apps.kernel.service import service
from apps.orders.locks import order_take
from apps.orders.models import Order
from apps.orders.types import STORAGE, storage_mib
from apps.scheduling.selectors.entitlements.quotas import hold_organization
from apps.scheduling.services.quota.quotas import quota_keep
from apps.storage.services.ordered import (
    ordered_volume_end,
    ordered_volume_lock,
    ordered_volume_make,
    ordered_volume_resize,
)

_SECOND = timedelta(seconds=1)
FUNDS_CODE = "volume_funds_used_up"


def volume_deliver(order: Order) -> UUID:
    """Make the volume of a locked order; its uid."""
    size = storage_mib(order.quote["amounts"])
    row = ordered_volume_make(SYSTEM, order_uid=order.uid, order_no=order.no, size_mib=size)
    order.volume_uid = row.uid
    order.save(update_fields=["volume_uid", "updated_at"])
    return row.uid


def volume_meter(order: Order, until: datetime) -> None:
    """Record for how long the volume of an order was there, in whole seconds, after what is recorded already."""
    assert order.volume_uid is not None, "it was delivered"
    if order.started_at is None:
        return
    uid = str(order.volume_uid)
    last, seq = usage_last(uid)
    start = last or order.started_at
    reports = []
    while (seconds := min(until - start, INTERVAL_MAX) // _SECOND) > 0:
        end, seq = start + seconds * _SECOND, seq + 1
        reports.append(
            Usage(
                slice_uid=uid,
                seq=seq,
                start_at=start,
                end_at=end,
                compute_percent=0,
                memory_mib=0,
                node_uid="",
                device_uid="",
                report_id=f"{uid}/{seq}",
                storage_gib=order.quote["amounts"][STORAGE],
            )
        )
        start = end
    if reports:
        usage_record(actor=SYSTEM, workload_uid=order.volume_uid, reports=reports)


@service(recorded=False)
def volume_order_follow(*, actor: Actor, order_uid: UUID) -> None:
    """Meter the volume of an order, set more aside for it, and end it when its time is over or its account has given
    nothing for as long as the grace. Coming twice changes nothing."""
    order = order_take(order_uid)
    if order is None or order.is_ended or order.volume_uid is None or order.started_at is None:
        return
    uid = order.volume_uid
    now = timezone.now()
    assert order.duration_s is not None, "no volume is sold without an end"
    due = order.started_at + timedelta(seconds=order.duration_s)
    if due <= now:
        ordered_volume_end(actor=actor, volume_uid=uid, at=due, reason_code="run_timeout")
        return
    volume_meter(order, now)
    rated = usage_rated_until([str(uid)]).get(str(uid), order.started_at)
    state = funds_top_up(
        actor=actor,
        workload_uid=uid,
        unrated_share_s=max(0.0, (now - rated).total_seconds()),
        left_s=(due - now).total_seconds(),
    )
    if state.stops_at is not None and state.stops_at <= now:
        ordered_volume_end(actor=actor, volume_uid=uid, at=now, reason_code=FUNDS_CODE)


@service()
def volume_order_resize(*, actor: Actor, order_uid: UUID, amounts: Mapping[str, int]) -> None:
    """Give the volume of an order another size: what it was until now is metered by the size that it had. Raises
    Conflict where it holds more, QuotaExceeded, FundsTooLow."""
    order = Order.objects.select_related("line").get(uid=order_uid)
    act_subject("order", order.uid, no=order.no, **amounts)
    assert order.volume_uid is not None, "it was delivered"
    assert order.line.hold_uid is not None, "its quota is held"
    volume = ordered_volume_lock(order.volume_uid)
    order.refresh_from_db(fields=["quote"])
    tenant = current_tenant()
    quota_keep(
        actor=actor,
        tenant=tenant,
        holder_uid=order.line.hold_uid,
        amounts={"storage_mib": storage_mib(amounts)},
        organization=hold_organization(tenant, order.line.hold_uid),
    )
    volume_meter(order, timezone.now())
    ordered_volume_resize(actor, volume=volume, size_mib=storage_mib(amounts))
    charge_storage_resize(actor=actor, volume_uid=volume.uid, size_gib=amounts[STORAGE])
