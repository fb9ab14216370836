"""The pool is looked at: rules ring on real nodes' reports, energy is summed by the second, charts get their points."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.console.alarms.readings import meters, pool_now, readings
from apps.console.tasks import watch
from apps.fleet.models import Device, Node
from apps.kernel.actor import SYSTEM
from apps.scheduling.services.quota.quotas import quota_hold, quota_set
from apps.telemetry.models import Alarm, LogEntry, Rollup, Sample
from apps.telemetry.services.rules import rule_edit
from apps.telemetry.services.samples import GAP_MAX_S, meters_take
from tests.factories.node import SpokenNode

pytestmark = pytest.mark.req("POOL-12.19")


def told(node, index=0, **figures):
    """The node reports these figures of one of its devices from now on."""
    devices = list(node.devices)
    devices[index] = devices[index].model_copy(update=figures)
    node.devices = tuple(devices)
    node.sync()


def found(metric):
    return {r.subject: r.value for r in readings(pool_now(timezone.now())) if r.metric == metric}


def open_keys():
    return sorted(Alarm.objects.exclude(state="resolved").values_list("key", flat=True))


@pytest.fixture
def node(db):
    return SpokenNode("n1", devices=2)


@pytest.mark.req("ELA-2101")
def test_what_a_node_reports_is_what_the_rules_read(node):
    told(node, utilisation_percent=40.0, memory_used_mib=2048, temperature_c=70.0, power_w=90.0)
    told(node, 1, power_w=10.0, power_source="measured")
    assert found("device_utilisation") == {"n1-cpu0": 40.0}
    assert found("device_memory") == {"n1-cpu0": 25.0}
    assert found("device_temperature") == {"n1-cpu0": 70.0}
    assert found("device_power") == {"n1-cpu0": 90.0, "n1-cpu1": 10.0}
    assert found("node_power") == {node.uid: 100.0}
    assert found("pool_power") == {"pool": 100.0}
    (power,) = (r for r in readings(pool_now(timezone.now())) if r.metric == "pool_power")
    assert power.params == {"power_source": "modelled"}, "one modelled part makes the sum modelled"


@pytest.mark.req("POOL-6f")
def test_a_nodes_own_figure_counts_when_it_is_measured_or_the_greater(node):
    told(node, power_w=90.0, power_source="measured")
    for own, source, expected in (
        (50.0, "modelled", 90.0),
        (120.0, "modelled", 120.0),
        (50.0, "measured", 50.0),
    ):
        node.info = node.info.model_copy(update={"power_w": own, "power_source": source})
        node.sync()
        assert found("node_power") == {node.uid: expected}


def test_what_was_measured_long_ago_says_nothing(node):
    told(node, temperature_c=99.0)
    assert found("device_temperature")
    Device.objects.update(measured_at=timezone.now() - timedelta(seconds=61))
    assert found("device_temperature") == {}


@pytest.mark.req("POOL-11d", "POOL-6f")
def test_a_failed_card_rings_at_the_next_look_and_ends_when_it_is_well(node):
    told(node, health="failed", health_reason="it fell off the bus")
    watch()
    assert open_keys() == ["device-failed:n1-cpu0"]
    assert "it fell off the bus" in str(Alarm.objects.get())
    assert Alarm.objects.get().level == "critical"
    told(node, health="ok", health_reason="")
    watch()
    assert open_keys() == []
    texts = list(LogEntry.objects.filter(component="alarms").order_by("pk").values_list("level", "text"))
    assert [level for level, _text in texts] == ["critical", "info"]


@pytest.mark.req("POOL-11d")
def test_a_missing_card_rings_and_ends_when_it_is_back(node):
    whole = node.devices
    node.devices = whole[:1]
    node.sync()
    Device.objects.filter(missing_at__isnull=False).update(missing_at=timezone.now() - timedelta(seconds=6))
    watch()
    assert "device-missing:n1-cpu1" in open_keys()
    node.devices = whole
    node.sync()
    watch()
    assert open_keys() == []


@pytest.mark.req("POOL-11d")
def test_a_dead_switch_port_rings_by_the_nodes_behind_it(db):
    for number, name in ((1, "n1"), (2, "n2")):
        node = SpokenNode(name)
        node.info = node.info.model_copy(update={"labels": {"switch": "sw1", "switch_port": str(number)}})
        node.sync()
    watch()
    assert open_keys() == []
    Node.objects.filter(name="n1").update(last_seen_at=timezone.now() - timedelta(seconds=21))
    watch()
    assert open_keys() == ["network-silent:sw1/1"], "the switch itself still carries the other node"
    Node.objects.filter(name="n2").update(last_seen_at=timezone.now() - timedelta(seconds=21))
    watch()
    assert open_keys() == ["network-silent:sw1", "network-silent:sw1/1", "network-silent:sw1/2"]
    node.sync()
    watch()
    assert open_keys() == ["network-silent:sw1/1"]


def test_a_lost_node_is_one_alarm_whoever_sees_it_first(node):
    Node.objects.update(state="lost", lost_at=timezone.now())
    watch()
    watch()
    assert open_keys() == [f"node-lost:{node.uid}"]
    assert Alarm.objects.get().count == 1
    node.sync()
    assert open_keys() == []
    watch()
    assert Alarm.objects.count() == 1


@pytest.mark.req("POOL-6f")
def test_power_over_its_limit_rings_and_a_disabled_rule_does_not(node):
    rule_edit(actor=SYSTEM, code="device-power", changes={"threshold": 50, "for_s": 0})
    told(node, power_w=60.0, power_source="measured")
    watch()
    assert str(Alarm.objects.get()) == "Device n1/0 CPU draws 60 W, measured (limit 50 W)."
    rule_edit(actor=SYSTEM, code="device-power", changes={"is_enabled": False})
    watch()
    assert open_keys() == []


@pytest.mark.req("ELA-104")
def test_quota_rings_at_each_step(node, acme):
    quota_set(actor=SYSTEM, tenant=acme, item="compute_percent", total=100)
    quota_hold(actor=SYSTEM, tenant=acme, holder_uid=uuid4(), amounts={"compute_percent": 96})
    watch()
    assert open_keys() == ["quota-80:acme:compute_percent", "quota-95:acme:compute_percent"]


# --- sums ------------------------------------------------------------------------------------------------------


def take(at):
    return meters_take(actor=SYSTEM, meters=meters(pool_now(at)), taken_at=at)


def sums(series, kind="device"):
    return {
        row.subject: (round(row.weighted, 6), round(row.seconds, 6), row.source)
        for row in Rollup.objects.filter(series=series, kind=kind)
    }


@pytest.mark.req("POOL-6f")
def test_energy_is_watts_times_the_seconds_they_were_seen(node):
    told(node, power_w=100.0, power_source="measured")
    told(node, 1, power_w=20.0)
    begun = timezone.now()
    assert take(begun) == 0.0, "there is nothing to count from yet"
    assert take(begun + timedelta(seconds=5)) == 5.0
    assert take(begun + timedelta(seconds=5)) == 0.0, "the same look twice counts once"
    assert take(begun + timedelta(seconds=4)) == 0.0, "an older look counts nothing"
    told(node, power_w=50.0, power_source="measured")
    assert take(begun + timedelta(seconds=7)) == 2.0
    assert sums("power_w") == {"n1-cpu0": (600.0, 7.0, "measured"), "n1-cpu1": (140.0, 7.0, "modelled")}
    assert sums("power_w", "node") == {node.uid: (740.0, 7.0, "modelled")}
    assert sums("up", "node") == {node.uid: (7.0, 7.0, "")}
    assert sums("held_percent") == {"n1-cpu0": (0.0, 7.0, ""), "n1-cpu1": (0.0, 7.0, "")}


def test_time_that_nobody_looked_is_not_made_up(node):
    told(node, power_w=1.0)
    begun = timezone.now()
    take(begun)
    assert take(begun + timedelta(seconds=50)) == GAP_MAX_S
    Node.objects.update(state="lost")
    take(begun + timedelta(seconds=55))
    assert sums("power_w")["n1-cpu0"] == (GAP_MAX_S, GAP_MAX_S, "modelled"), "of a lost node nothing is known"
    assert sums("up", "node")[node.uid] == (GAP_MAX_S, GAP_MAX_S + 5, "")


@pytest.mark.req("ELA-2103", "ELA-2104")
def test_the_charts_get_a_point_every_half_minute_however_often_it_is_looked(node):
    told(node, power_w=100.0, utilisation_percent=10.0)
    for _look in range(3):
        watch()
    points = Sample.objects.filter(series="power_w", subject="n1-cpu0")
    assert 1 <= points.count() <= 2
    assert points.first().value == 100.0
    assert points.first().at.second in (0, 30)
    assert Sample.objects.filter(series="held_percent", subject="pool").exists()
