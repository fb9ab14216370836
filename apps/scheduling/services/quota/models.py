"""Quotas of one model (ELA-308), checked under the lock of the tenant's quotas: where work is let in, where it lands.

Internal to the app's services.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.fleet.models import Device
from apps.fleet.services.slices.slice_allocation import ShareRequest
from apps.kernel.errors import QuotaExceeded
from apps.scheduling.models import Workload
from apps.scheduling.selectors.usage.model_usage import NOTHING, model_allocated, model_named, model_waiting
from apps.scheduling.services.quota.room import Rooms, quota_rooms
from apps.scheduling.states import HOLDING_STATES, AllocationState, QuotaItem
from apps.scheduling.text.quota_items import item_amounts
from apps.tenancy.models import Tenant

Amounts = Mapping[str, int]
ByModel = Mapping[str, Amounts]


def model_room_check(
    tenant: Tenant, rooms: Rooms, model: str, asked: Amounts, *, but: Collection[int] = ()
) -> None:
    """QuotaExceeded where work that may run on this model alone asks for more than the tenant has left of it."""
    limits = rooms.by_model.get(model)
    if limits:
        held, waiting = model_allocated(tenant.pk, model, but=but), model_waiting(tenant.pk, model, but=but)
        used = {item: held[item] + waiting[item] for item in held}
        _check(tenant, model, limits, used, asked)


def work_models_check(row: Workload, amounts: Amounts) -> None:
    """QuotaExceeded where work as it is to be from now on is more than its tenant's quotas of models have room for.

    `amounts`: what it asks for while it waits; what runs is asked for what its shares are to hold.
    """
    rooms = quota_rooms(row.tenant_id)
    if not rooms.by_model:
        return
    if row.state not in HOLDING_STATES:
        if not row.waits_for_quota:
            model_room_check(row.tenant, rooms, model_named(row), amounts, but=[row.pk])
        return
    held = row.allocations.filter(state=AllocationState.ACTIVE)
    wanted = _by_model(held.values_list("device__model", "compute_percent", "memory_mib"))
    for model, asked in wanted.items():
        if limits := rooms.by_model.get(model):
            _check(row.tenant, model, limits, model_allocated(row.tenant_id, model, but=[row.pk]), asked)


def models_refused(
    share_requests: Sequence[tuple[Workload, Sequence[ShareRequest]]],
) -> dict[UUID, QuotaExceeded]:
    """Of work that is to hold these shares beside what it holds, what its tenants' quotas of models have no room for,
    judged in this order; by workload."""
    of_device = dict(
        Device.objects.filter(
            uid__in={want.device_uid for _row, line in share_requests for want in line}
        ).values_list("uid", "model")
    )
    rooms = {
        tenant_id: quota_rooms(tenant_id)
        for tenant_id in sorted({row.tenant_id for row, _line in share_requests})
    }
    used: dict[tuple[int, str], dict[str, int]] = {}
    refused: dict[UUID, QuotaExceeded] = {}
    for row, line in share_requests:
        asked = _by_model([(of_device[w.device_uid], w.compute_percent, w.memory_mib) for w in line])
        bound = {model: limits for model in asked if (limits := rooms[row.tenant_id].by_model.get(model))}
        for model in bound:
            if (row.tenant_id, model) not in used:
                used[row.tenant_id, model] = model_allocated(row.tenant_id, model)
        try:
            for model, limits in bound.items():
                _check(row.tenant, model, limits, used[row.tenant_id, model], asked[model])
        except QuotaExceeded as error:
            refused[row.uid] = error
            continue
        for model in bound:
            held = used[row.tenant_id, model]
            for item, amount in asked[model].items():
                held[item] += amount
    return refused


def _by_model(shares: Sequence[tuple[str, int, int]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(lambda: dict(NOTHING))
    for model, percent, mib in shares:
        found[model][QuotaItem.INSTANCES.value] += 1
        found[model][QuotaItem.COMPUTE_PERCENT.value] += percent
        found[model][QuotaItem.GPU_MEMORY_MIB.value] += mib
    return found


# Of such an item on such a model.
_EXCEEDED = gettext_noop(
    "%(tenant)s has %(left)s of %(limit)s left of %(item)s on %(model)s (%(used)s used), %(asked)s asked."
)


def _check(tenant: Tenant, model: str, limits: Amounts, used: Amounts, asked: Amounts) -> None:
    for item, limit in sorted(limits.items()):
        amount, left = asked.get(item, 0), max(0, limit - used[item])
        if amount > left:
            figures = {"limit": limit, "used": used[item], "asked": amount}
            told = {"tenant": tenant, "model": model, **item_amounts(item, left=left, **figures)}
            raise QuotaExceeded(
                _(_EXCEEDED) % told,
                fields={item: _("%(left)s left") % {"left": left}, "quota": item, "model": model, **figures},
            )
