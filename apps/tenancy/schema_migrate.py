"""The `migrate` that runs inside each schema: a tenant's spares the migrations that make no table there.

After the provider's schema comes the template that new tenants are copied from; after each, whoever waits for tables of
this version hears of it (`SchemaMigrated`).
"""

from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management.commands import migrate
from django.db import connections, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.graph import MigrationGraph
from django_tenants.utils import get_public_schema_name

from apps.kernel.actor import SYSTEM
from apps.kernel.events import emit
from apps.tenancy.events import SchemaMigrated
from apps.tenancy.schema_template import TEMPLATE, template_ensure

Key = tuple[str, str]


class Command(migrate.Command):
    """Django's, but a tenant's schema takes the provider's migrations as done (PLAT-TEN-8).

    The router lets none of their operations touch that schema; nine tenths of the time to make a tenant went
    into rendering, for each of them, the models of that day.
    """

    def handle(self, *args: Any, **options: Any) -> str | None:
        """See Django's; with an app named, or only asked what would be done, nothing is taken as done."""
        connection = connections[options["database"]]
        schema = connection.schema_name
        is_tenant = schema != get_public_schema_name()
        is_whole = not (options["app_label"] or options["plan"] or options["check_unapplied"])
        if is_tenant and is_whole:
            provider_migrations_record(MigrationExecutor(connection))
        answer = super().handle(*args, **options)
        if is_whole and not is_tenant:
            template_ensure()
        if is_whole and schema != TEMPLATE:
            with transaction.atomic(using=connection.alias):
                emit(SchemaMigrated(schema), actor=SYSTEM)
        return answer


def provider_migrations_record(executor: MigrationExecutor) -> None:
    """Record as applied, in the connection's schema, what only the public schema holds tables of."""
    loader = executor.loader
    with transaction.atomic(using=executor.connection.alias):
        for key in provider_keys(loader.graph):
            if key not in loader.applied_migrations:
                executor.record_migration(loader.graph.nodes[key])


def provider_keys(graph: MigrationGraph) -> list[Key]:
    """Migrations of apps without tables in a tenant's schema, in their order, that wait for none of the others."""
    tenant_labels = {app.label for app in apps.get_app_configs() if app.name in settings.TENANT_APPS}
    leaves = [key for key in graph.leaf_nodes() if key[0] not in tenant_labels]
    plan = {key: None for leaf in leaves for key in graph.forwards_plan(leaf)}
    waiting = set()
    for key in plan:
        parents = {parent.key for parent in graph.node_map[key].parents}
        if key[0] in tenant_labels or parents & waiting:
            waiting.add(key)
    return [key for key in plan if key not in waiting]
