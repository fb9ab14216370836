"""The operators' API over nodes and devices."""

import pytest

from apps.fleet.models import Device
from tests.apps.fleet.agent import desire, device_report


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator").api()


@pytest.mark.req("ELA-207")
def test_nodes_are_listed_and_shown_with_their_devices(node, acme, admin):
    desire(acme)
    (row,) = admin.get("/api/v1/nodes").json()["results"]
    assert (row["uid"], row["name"], row["state"], row["cpu_count"]) == (node.uid, "n1", "ready", 4)
    detail = admin.get(f"/api/v1/nodes/{node.uid}").json()
    assert [(d["held_percent"], d["held_mib"], d["free_percent"]) for d in detail["devices"]] == [
        (20, 1024, 80)
    ]
    assert admin.get("/api/v1/nodes/nobody").status_code == 404


def test_devices_are_listed_and_switched(node, admin):
    (row,) = admin.get("/api/v1/devices").json()["results"]
    assert (row["node"], row["index"], row["memory_mib"], row["health"]) == ("n1", 0, 8192, "ok")
    assert admin.get(f"/api/v1/devices?node={node.uid}").json()["results"] == [row]
    assert admin.get("/api/v1/devices?node=nobody").json()["results"] == []
    assert admin.post("/api/v1/devices/n1-d0/disable").json()["is_enabled"] is False
    assert admin.post("/api/v1/devices/n1-d0/enable").json()["is_enabled"] is True
    assert admin.post("/api/v1/devices/nobody/enable").status_code == 404
    node.sync(devices=[device_report(memory_mib=9000)])
    assert admin.post("/api/v1/devices/n1-d0/accept-memory").json()["memory_mib"] == 9000


def test_nodes_are_drained_and_removed(node, admin):
    assert admin.post(f"/api/v1/nodes/{node.uid}/drain").json()["state"] == "drained"
    assert admin.post(f"/api/v1/nodes/{node.uid}/undrain").json()["state"] == "ready"
    assert admin.post(f"/api/v1/nodes/{node.uid}/remove").json()["state"] == "removed"
    assert admin.get("/api/v1/nodes").json()["results"] == []


def test_tenants_see_nothing_of_the_fleet_and_readers_change_nothing(node, member, operator):
    tenant = member("acme", "tenant_system_administrator").api()
    for path in ("nodes", f"nodes/{node.uid}", "devices"):
        assert tenant.get(f"/api/v1/{path}").status_code == 403
    reader = operator("executive").api()
    assert reader.get("/api/v1/devices").status_code == 200
    for client in (tenant, reader):
        for path in ("devices/n1-d0/disable", f"nodes/{node.uid}/drain"):
            assert client.post(f"/api/v1/{path}").status_code == 403
    assert Device.objects.get().is_enabled
