"""The rules a pool begins with. Operators switch and edit them; an upgrade adds new ones and touches none."""

from django.db import migrations

# code, metric, comparison, threshold, for_s, severity, is_enabled, ends_after_s
RULES = (
    ("device-busy", "device_utilisation", "ge", 98, 600, "notice", False, None),
    ("device-memory-full", "device_memory", "ge", 97, 300, "notice", False, None),
    ("device-hot", "device_temperature", "ge", 85, 30, "major", True, None),
    ("device-power", "device_power", "ge", 700, 60, "minor", True, None),
    ("device-failed", "device_failed", "ge", 1, 0, "critical", True, None),
    ("device-missing", "device_missing", "ge", 5, 0, "critical", True, None),
    ("device-degraded", "device_degraded", "ge", 1, 10, "minor", True, None),
    ("device-mismatch", "device_mismatch", "ge", 1, 0, "major", True, None),
    ("node-busy", "node_utilisation", "ge", 98, 600, "notice", False, None),
    ("node-power", "node_power", "ge", 6000, 60, "minor", True, None),
    ("pool-power", "pool_power", "ge", 100_000, 60, "minor", False, None),
    ("node-silent", "node_silent", "ge", 10, 0, "minor", False, None),
    ("node-lost", "node_lost", "ge", 1, 0, "critical", True, None),
    ("node-clock", "node_clock", "ge", 60, 30, "major", True, None),
    ("network-silent", "network_silent", "ge", 20, 0, "critical", True, None),
    ("session-slow", "session_latency", "ge", 1000, 30, "minor", True, None),
    ("share-waiting", "share_waiting", "ge", 120, 0, "major", True, None),
    ("share-missing", "share_missing", "ge", 20, 60, "minor", False, None),
    ("queue-wait", "queue_wait", "ge", 3600, 0, "minor", True, None),
    ("quota-80", "quota_used", "ge", 80, 0, "notice", True, None),
    ("quota-95", "quota_used", "ge", 95, 0, "minor", True, None),
    ("quota-100", "quota_used", "ge", 100, 0, "major", True, None),
    ("disk-used", "disk_used", "ge", 90, 30, "major", True, None),
    ("order-untold", "order_untold", "ge", 1, 0, "major", True, 3600),
    ("usage-refused", "usage_refused", "ge", 1, 0, "major", True, 3600),
    ("usage-doubted", "usage_doubted", "ge", 1, 0, "major", True, 3600),
)
FIELDS = ("metric", "comparison", "threshold", "for_s", "severity", "is_enabled", "ends_after_s")


def rules_add(apps, schema_editor):
    rule = apps.get_model("telemetry", "AlarmRule")
    for code, *values in RULES:
        rule.objects.get_or_create(code=code, defaults=dict(zip(FIELDS, values, strict=True)))


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0001_initial")]
    operations = [migrations.RunPython(rules_add, migrations.RunPython.noop)]
