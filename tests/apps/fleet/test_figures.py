"""What `/metrics` tells of devices and slices, and what the operators' tables keep to themselves."""

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from apps.fleet.models import Slice
from apps.fleet.services.nodes.devices import device_oversubscribe, device_remove
from apps.kernel.actor import SYSTEM
from tests.apps.fleet.agent import Agent, report, session_desire
from tests.plugin import METRICS


def figures():
    text = Client(headers={"host": "localhost", **METRICS}).get("/metrics").content.decode()
    return {
        (sample.name, sample.labels.get("slice") or sample.labels.get("device")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.req("PLAT-OBS-6")
def test_metrics_tell_what_is_held_sold_and_delivered(node, acme):
    Agent("n2")
    row = session_desire(acme, percent=30, mib=1024)
    used = {"host_cpu_used_milli": 1250, "host_memory_used_mib": 256}
    node.sync(slices=[report(row, delivered_percent=29.5, memory_used_mib=512, **used)])
    device_oversubscribe(actor=SYSTEM, device_uid="n1-d0", compute_permille=2000)
    device_remove(actor=SYSTEM, device_uid="n2-d0")
    found, uid = figures(), str(row.uid)
    assert found["weir_device_held_percent", "n1-d0"] == 30
    assert found["weir_device_capacity_percent", "n1-d0"] == 200
    assert found["weir_device_memory_capacity_bytes", "n1-d0"] == 8192 * 2**20
    assert ("weir_device_capacity_percent", "n2-d0") not in found, "it has left the pool"
    assert found["weir_slice_sold_percent", uid] == 30
    assert found["weir_slice_delivered_percent", uid] == 29.5
    assert found["weir_slice_memory_sold_bytes", uid] == 2**30
    assert found["weir_slice_memory_used_bytes", uid] == 2**29
    assert found["weir_slice_host_cores_sold", uid] == 0
    assert found["weir_slice_host_cores_used", uid] == 1.25
    assert found["weir_slice_host_memory_used_bytes", uid] == 2**28


def test_the_operators_table_of_slices_shows_no_keys(node, acme, operator):
    row = session_desire(acme)
    Slice.plain.filter(pk=row.pk).update(ticket="a sealed ticket")
    text = (
        operator("cluster_administrator").page().get(f"/admin/fleet/slice/{row.pk}/change/").content.decode()
    )
    assert str(row.uid) in text
    assert row.session_key not in text
    assert "a sealed ticket" not in text


@pytest.mark.parametrize("model", ["node", "device", "slice", "resourcegroup", "spec"])
def test_the_operators_tables_open(node, acme, operator, model):
    session_desire(acme)
    assert operator("cluster_administrator").page().get(f"/admin/fleet/{model}/").status_code == 200
