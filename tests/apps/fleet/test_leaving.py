"""Nodes and cards come and go while work runs: nothing new meanwhile, gone after the last slice (POOL-12.25)."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import Record
from apps.fleet import events
from apps.fleet.errors import DeviceUnavailable
from apps.fleet.models import Device, Node
from apps.fleet.selectors import device_list, node_get, node_list
from apps.fleet.services.nodes.devices import device_enable, device_remove
from apps.fleet.services.nodes.discovery import MISSING_MAX
from apps.fleet.services.nodes.membership import node_remove, node_undrain
from apps.fleet.services.nodes.node_liveness import leaving_check, nodes_check
from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.kernel.actor import SYSTEM
from tests.apps.fleet.agent import Agent, desire, device_report, fresh, held, report

pytestmark = pytest.mark.req("POOL-12.25")


def ended(node, row):
    slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="")
    node.sync(slices=[report(fresh(row), "exited", generation=fresh(row).generation)])


@pytest.mark.req("ELA-102", "POOL-6a")
def test_a_new_card_appears_by_itself_and_takes_work(node, acme, heard):
    running = desire(acme)
    node.sync(slices=[report(running)])
    node.devices = (*node.devices, device_report("n1-d1", 1))
    node.sync(slices=[report(running)])
    assert [device.uid for device in node_get(node.uid).devices.all()] == ["n1-d0", "n1-d1"]
    assert events.DeviceFound("n1-d1", node.uid, "n1") in heard(events.DeviceFound)
    assert desire(acme, "n1-d1").device.uid == "n1-d1"
    assert fresh(running).state == "running"


def test_a_card_leaves_when_its_last_slice_has_ended(node, acme, heard):
    row = desire(acme)
    node.sync(slices=[report(row)])
    assert device_remove(actor=SYSTEM, device_uid="n1-d0").is_leaving
    with pytest.raises(DeviceUnavailable, match="leaving"):
        desire(acme)
    leaving_check(actor=SYSTEM)
    assert device_list().get().is_leaving
    assert fresh(row).state == "running"
    ended(node, row)
    assert leaving_check(actor=SYSTEM).devices == 1
    assert not device_list().exists()
    assert heard(events.DeviceLeft) == [events.DeviceLeft("n1-d0", "n1", True)]
    node.sync()
    assert not device_list().exists(), "still plugged in, and still out of the pool"
    with pytest.raises(DeviceUnavailable, match="leaving"):
        desire(acme)


@pytest.mark.req("POOL-7.6a")
def test_an_idle_card_leaves_at_once_and_is_taken_back_by_hand(node, acme):
    assert device_remove(actor=SYSTEM, device_uid="n1-d0").left_at is not None
    device_remove(actor=SYSTEM, device_uid="n1-d0")
    device_enable(actor=SYSTEM, device_uid="n1-d0")
    assert desire(acme).device.uid == "n1-d0"


def test_a_removal_is_taken_back_while_work_runs(node, acme):
    row = desire(acme)
    device_remove(actor=SYSTEM, device_uid="n1-d0")
    device_enable(actor=SYSTEM, device_uid="n1-d0")
    desire(acme)
    node_remove(actor=SYSTEM, node_uid=node.uid)
    with pytest.raises(DeviceUnavailable):
        desire(acme)
    assert not node_undrain(actor=SYSTEM, node_uid=node.uid).is_leaving
    desire(acme)
    assert held() == (60, 3072, False)
    assert fresh(row).state == "desired"


def test_a_card_that_is_pulled_out_is_ill_at_once_then_leaves_and_is_back_when_plugged_in(node, acme, heard):
    row = desire(acme)
    node.sync(slices=[report(row)])
    node.sync(slices=[report(row)], devices=[])
    assert device_list().get().health == "degraded"
    assert heard(events.DeviceMissing) == [events.DeviceMissing("n1-d0", "n1")]
    node.sync(slices=[report(row)], devices=[])
    assert len(heard(events.DeviceMissing)) == 1
    Device.objects.update(missing_at=timezone.now() - MISSING_MAX)
    node.sync(slices=[report(row)], devices=[])
    assert device_list().get().is_leaving
    node.sync(slices=[report(row, "failed", reason_code="crashed")], devices=[])
    assert leaving_check(actor=SYSTEM).devices == 1
    assert heard(events.DeviceLeft) == [events.DeviceLeft("n1-d0", "n1", False)]
    node.sync(devices=[])
    assert not device_list().exists()
    node.sync()
    assert device_list().get().health == "ok"
    assert heard(events.DeviceReturned) == [events.DeviceReturned("n1-d0", "n1")]
    assert desire(acme).device.uid == "n1-d0"


def test_a_node_joins_again_after_it_was_removed(node, acme):
    device_remove(actor=SYSTEM, device_uid="n1-d0")
    node_remove(actor=SYSTEM, node_uid=node.uid)
    assert node.post("sync", node.message().model_dump_json(), node.credential).status_code == 401
    again = Agent("n1")
    assert again.uid != node.uid
    assert [found.uid for found in node_list()] == [again.uid]
    assert desire(acme).node.uid == again.uid


def test_a_node_that_is_lost_leaves_when_its_work_is_given_up(node, acme):
    row = desire(acme)
    node.sync(slices=[report(row)])
    Node.objects.update(state="lost", lost_at=timezone.now() - timedelta(hours=1))
    node_remove(actor=SYSTEM, node_uid=node.uid)
    assert node_list().get().is_leaving
    nodes_check(actor=SYSTEM)
    leaving_check(actor=SYSTEM)
    assert not node_list().exists()
    assert held() == (0, 0, False)


@pytest.mark.req("POOL-12.17")
def test_a_node_s_details_tell_address_versions_cards_and_tasks(node, acme, operator):
    row = desire(acme)
    node.info = node.info.model_copy(
        update={"address": "10.0.0.7", "components": {"agent": "1", "session_server": "2"}, "power_w": 300.0}
    )
    node.sync(slices=[report(row)])
    told = operator("cluster_administrator").api().get(f"/api/v1/nodes/{node.uid}").json()
    assert (told["address"], told["components"]["session_server"], told["power_w"]) == (
        "10.0.0.7",
        "2",
        300.0,
    )
    assert [device["uid"] for device in told["devices"]] == ["n1-d0"]
    assert [(task["uid"], task["tenant"]) for task in told["tasks"]] == [(str(row.uid), "acme")]


@pytest.mark.req("POOL-12.15", "POOL-12.16")
def test_cards_are_switched_by_the_api_and_each_act_is_recorded(node, acme, operator):
    admin = operator("cluster_administrator").api()
    for act, field, value in (
        ("unslice", "is_sliced", False), ("slice", "is_sliced", True), ("disable", "is_enabled", False),
        ("enable", "is_enabled", True), ("remove", "is_leaving", True),
    ):  # fmt: skip
        assert admin.post(f"/api/v1/devices/n1-d0/{act}").json()[field] is value, act
    admin.post("/api/v1/devices/n1-d0/enable")
    body = {"compute_permille": 2000}
    told = admin.post("/api/v1/devices/n1-d0/oversubscribe", body, format="json").json()
    assert (told["free_percent"], told["memory_oversubscribe_permille"]) == (200, 1000)
    assert (
        admin.post("/api/v1/devices/n1-d0/oversubscribe", {"compute_permille": 1}, format="json").status_code
        == 400
    )
    desire(acme)
    refused = admin.post("/api/v1/devices/n1-d0/unslice")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "device_busy")
    names = set(Record.objects.filter(subject_id="n1-d0").values_list("name", flat=True))
    assert names >= {
        "device_slicing_set",
        "device_disable",
        "device_enable",
        "device_remove",
        "device_oversubscribe",
    }
