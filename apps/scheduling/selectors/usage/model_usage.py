"""What a tenant holds on devices of one model, and what of its work waits for just that model (ELA-308).

Summed from the work itself: so it is right whoever holds its quota, and from when on there was a bound.
"""

from collections.abc import Collection, Mapping

from django.db.models import Count, F, Q, Sum

from apps.fleet.selectors import device_list
from apps.scheduling.models import Allocation, TenantQuota, Workload
from apps.scheduling.selectors.workloads import quota_figures
from apps.scheduling.states import AllocationState, QuotaItem, WorkloadState
from apps.scheduling.types import QuotaFigures
from apps.tenancy.models import Tenant

# What of a quota lies on devices, and can be bounded by their model.
MODEL_ITEMS = (QuotaItem.INSTANCES.value, QuotaItem.COMPUTE_PERCENT.value, QuotaItem.GPU_MEMORY_MIB.value)
NOTHING: Mapping[str, int] = dict.fromkeys(MODEL_ITEMS, 0)


def pool_models() -> list[str]:
    """The models of the pool's devices."""
    return list(
        device_list().filter(left_at=None).order_by("model").values_list("model", flat=True).distinct()
    )


def model_named(row: Workload) -> str:
    """The one model that the work may run on; "" where it may run on several."""
    only = row.any_models[0] if len(row.any_models) == 1 else ""
    return str(row.pins.get("model") or only)


def model_allocated(tenant_id: int, model: str, *, but: Collection[int] = ()) -> dict[str, int]:
    """By quota item, what the tenant's work holds on devices of the model; `but`: the work of these keys left aside."""
    held = Allocation.objects.filter(
        state=AllocationState.ACTIVE, workload__tenant_id=tenant_id, device__model=model
    ).exclude(workload__in=but)
    return _sums(held.aggregate(count=Count("pk"), percent=Sum("compute_percent"), mib=Sum("memory_mib")))


def model_waiting(tenant_id: int, model: str, *, but: Collection[int] = ()) -> dict[str, int]:
    """By quota item, what the tenant's waiting work has been let in with on this model, where it may run on no other:
    shares, percent of devices, MiB. `but`: the work of these keys left aside."""
    waiting = Workload.objects.across().filter(
        Q(pins__model=model) | Q(any_models=[model]),
        tenant_id=tenant_id,
        state=WorkloadState.PENDING,
        waits_for_quota=False,
    )
    shares = {
        "count": Sum("shares"),
        "percent": Sum(F("shares") * F("compute_percent")),
        "mib": Sum(F("shares") * F("memory_mib")),
    }
    return _sums(waiting.exclude(pk__in=but).aggregate(**shares))


def _sums(found: Mapping[str, int | None]) -> dict[str, int]:
    return dict(
        zip(MODEL_ITEMS, (found["count"] or 0, found["percent"] or 0, found["mib"] or 0), strict=True)
    )


def quota_list(tenant: Tenant) -> list[QuotaFigures]:
    """The figures of all the tenant's quotas, those on a model last."""
    rows = list(TenantQuota.objects.of(tenant).order_by("model", "item"))
    whole = quota_figures(tenant, [row for row in rows if not row.model])
    held: dict[str, tuple[dict[str, int], dict[str, int]]] = {}
    for model in sorted({row.model for row in rows} - {""}):
        held[model] = model_allocated(tenant.pk, model), model_waiting(tenant.pk, model)
    return [
        *whole.values(),
        *(
            QuotaFigures(
                item=row.item,
                model=row.model,
                total=row.total,
                allocated=row.allocated,
                used=held[row.model][0][row.item],
                in_process=held[row.model][1][row.item],
            )
            for row in rows
            if row.model
        ),
    ]
