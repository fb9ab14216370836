"""The priced parts that commodities are made of."""

from apps.catalog.models import Component
from apps.catalog.permissions import CatalogPermission as P
from apps.catalog.services.rows import row_check
from apps.kernel.actor import Actor, act_subject
from apps.kernel.service import service


@service(P.MANAGE)
def component_create(
    *,
    actor: Actor,
    code: str,
    name_zh: str,
    name_en: str,
    unit: str,
    amount_unit: str = "",
    per_unit: int = 1,
) -> Component:
    """Make a priced part: `per_unit` of `amount_unit` are one `unit` (1024 MiB are one GiB)."""
    row = Component(
        code=code,
        name_zh=name_zh,
        name_en=name_en,
        unit=unit,
        amount_unit=amount_unit or unit,
        per_unit=per_unit,
    )
    row_check(row)
    row.save()
    act_subject("component", code)
    return row


# What the pool delivers, by the codes that delivery knows: names, the unit of its price, the unit of amounts.
DELIVERED = (
    ("compute_share", "算力份额", "Compute share", "%", "%", 1),
    ("gpu_memory", "显存", "Accelerator memory", "GiB", "MiB", 1024),
    ("cpu", "CPU", "CPU", "core", "core", 1),
    ("memory", "内存", "Memory", "GiB", "MiB", 1024),
    ("scratch_disk", "临时磁盘", "Scratch disk", "GiB", "GiB", 1),
    ("storage", "存储", "Storage", "GiB", "GiB", 1),
)


@service(P.MANAGE)
def components_ensure(*, actor: Actor) -> list[Component]:
    """The components that the pool delivers, those that are not there yet made: a centre need not know their codes."""
    known = set(Component.objects.values_list("code", flat=True))
    for code, name_zh, name_en, unit, amount_unit, per_unit in DELIVERED:
        if code not in known:
            component_create(
                actor=actor,
                code=code,
                name_zh=name_zh,
                name_en=name_en,
                unit=unit,
                amount_unit=amount_unit,
                per_unit=per_unit,
            )
    return list(Component.objects.filter(code__in=[row[0] for row in DELIVERED]))
