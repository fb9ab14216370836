"""Work names the scratch disk that it needs, and the leader hears what of it a node has."""

from django.db import migrations, models

_BEFORE = (
    "name", "state", "is_leaving", "info -> 'cpu_count'", "info -> 'memory_mib'", "info -> 'labels'",
    "info -> 'storage'", "info -> 'containers'", "info -> 'packages'",
)  # fmt: skip


def _trigger(columns: tuple[str, ...]) -> str:
    old, new = (", ".join(f"{row}.{name}" for name in columns) for row in ("OLD", "NEW"))
    return (
        "DROP TRIGGER tell ON public.fleet_node;"
        f"CREATE TRIGGER tell AFTER UPDATE ON public.fleet_node FOR EACH ROW WHEN (({old}) IS DISTINCT FROM ({new})) "
        "EXECUTE FUNCTION public.scheduling_tell('node');"
    )


class Migration(migrations.Migration):
    dependencies = [("scheduling", "0013_service_keys"), ("fleet", "0006_scratch_disk")]

    operations = [
        migrations.AddField(
            model_name="workload",
            name="scratch_disk_mib",
            field=models.PositiveIntegerField(default=0, verbose_name="scratch disk per share (MiB)"),
        ),
        migrations.RunSQL(_trigger((*_BEFORE, "info -> 'scratch_disk_mib'")), _trigger(_BEFORE)),
    ]
