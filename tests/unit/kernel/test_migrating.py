"""Which migrations a tenant's schema takes as done."""

import pytest
from django.db.migrations.graph import MigrationGraph
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.migration import Migration

from apps.tenancy.schema_migrate import provider_keys
from portal.settings.planes import TENANT_APPS

TENANT_LABELS = {name.removeprefix("apps.") for name in TENANT_APPS}


def graph_of(parents: dict[tuple[str, str], list[tuple[str, str]]]) -> MigrationGraph:
    graph = MigrationGraph()
    for app, name in parents:
        graph.add_node((app, name), Migration(name, app))
    for child, wanted in parents.items():
        for parent in wanted:
            graph.add_dependency(None, child, parent)
    return graph


@pytest.mark.req("PLAT-TEN-8")
def test_the_provider_s_come_in_their_order_and_none_of_a_tenant_s():
    loader = MigrationLoader(None)
    found = provider_keys(loader.graph)
    assert set(found) == {key for key in loader.graph.nodes if key[0] not in TENANT_LABELS}
    for place, key in enumerate(found):
        assert {parent.key for parent in loader.graph.node_map[key].parents} <= set(found[:place])


def test_one_that_waits_for_a_tenant_s_and_what_follows_it_is_left_to_be_carried_out():
    graph = graph_of(
        {
            ("catalog", "1"): [],
            ("orgs", "1"): [("catalog", "1")],
            ("catalog", "2"): [("catalog", "1"), ("orgs", "1")],
            ("billing", "1"): [("catalog", "2")],
            ("fleet", "1"): [("catalog", "1")],
        }
    )
    assert set(provider_keys(graph)) == {("catalog", "1"), ("fleet", "1")}
