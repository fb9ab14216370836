"""The leader hears of the sizes in which a device gives its shares."""

from django.db import migrations

_BEFORE = (
    "node_id", "memory_mib", "vendor", "model", "is_enabled", "is_leaving", "left_at", "missing_at", "health",
    "is_sliced", "group_id", "oversubscribe_permille", "memory_oversubscribe_permille", "numa_node", "slice_drivers",
)  # fmt: skip


def _trigger(columns: tuple[str, ...]) -> str:
    old, new = (", ".join(f"{row}.{name}" for name in columns) for row in ("OLD", "NEW"))
    return (
        "DROP TRIGGER tell ON public.fleet_device;"
        f"CREATE TRIGGER tell AFTER UPDATE ON public.fleet_device FOR EACH ROW WHEN (({old}) IS DISTINCT FROM ({new})) "
        "EXECUTE FUNCTION public.scheduling_tell('device');"
    )


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0008_guarantees_hold"), ("fleet", "0004_slice_sizes")]

    operations = [migrations.RunSQL(_trigger((*_BEFORE, "slice_sizes")), _trigger(_BEFORE))]
