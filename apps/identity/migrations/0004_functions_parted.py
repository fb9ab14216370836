"""Built-in roles of operators have what their day needs, and functions that were parted stay with whoever had them.

What the code says of the built-in roles from now on is written here as it stood when they changed; a role of people's own
making keeps all that it could do before.
"""

from django.db import migrations

# What could be done with the first is now a function of its own.
PARTED = {
    "alarms.manage": "alarms.acknowledge",
    "centre.manage": "centre.storage",
    "scheduling.view": "resources.view",
}
BUILTIN = {
    "executive": [
        "alarms.view", "assets.view", "audit.view", "billing.view", "cases.view", "catalog.view", "conformance.view",
        "fleet.view", "identity.view", "images.view", "logs.view", "orders.view", "orgs.view", "reports.view",
        "resources.view", "scheduling.view", "tenancy.view",
    ],
    "operations_manager": [
        "approvals.decide", "assets.view", "billing.manage", "billing.view", "cases.view", "catalog.manage",
        "catalog.view", "coupons.manage", "identity.view", "orders.view", "orgs.view", "reports.view", "resources.view",
        "tenancy.view", "tickets.manage", "tickets.open", "tickets.work",
    ],
    "front_line": [
        "alarms.acknowledge", "alarms.view", "cases.view", "catalog.view", "fleet.view", "logs.view", "orders.view",
        "resources.operate", "resources.view", "tickets.open", "tickets.work",
    ],
    "system_administrator": [
        "alarms.acknowledge", "alarms.manage", "alarms.view", "assets.view", "audit.view", "billing.view", "cases.view",
        "catalog.manage", "catalog.view", "centre.manage", "centre.storage", "conformance.run", "conformance.view",
        "fleet.manage", "fleet.view", "identity.grant", "identity.manage", "identity.view", "images.manage",
        "images.use", "images.view", "logs.view", "orders.view", "orgs.grant", "orgs.manage", "orgs.view",
        "reports.view", "resources.operate", "resources.view", "scheduling.manage", "scheduling.view", "tenancy.manage",
        "tenancy.view", "tickets.manage", "tickets.open",
    ],
    "cluster_administrator": [
        "alarms.acknowledge", "alarms.manage", "alarms.view", "approvals.decide", "assets.view", "centre.storage",
        "conformance.run", "conformance.view", "fleet.manage", "fleet.view", "images.manage", "images.use",
        "images.view", "logs.view", "reports.view", "resources.operate", "resources.view", "scheduling.manage",
        "scheduling.view", "tickets.open",
    ],
}


def part(apps, schema_editor):
    for role in apps.get_model("identity", "OperatorRole").objects.all():
        held = set(role.permissions)
        if role.is_builtin:
            held = set(BUILTIN.get(role.code, held))
        else:
            held |= {new for old, new in PARTED.items() if old in held and _may_have(role, new)}
        role.permissions = sorted(held)
        role.save(update_fields=["permissions"])


def _may_have(role, permission):
    return not role.is_read_only or permission.endswith(".view")


class Migration(migrations.Migration):
    dependencies = [("identity", "0003_people")]

    # Backwards nothing is taken: what a role holds beyond what the code knows allows nothing.
    operations = [migrations.RunPython(part, migrations.RunPython.noop)]
