"""Nodes that fall silent, and what becomes of their slices (PLAT-OPS-22)."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.fleet import events
from apps.fleet.errors import DeviceUnavailable
from apps.fleet.models import Node, Slice, Watch
from apps.fleet.selectors import device_list, node_get, node_list, slice_open_list
from apps.fleet.services.nodes.devices import device_memory_accept, device_remove
from apps.fleet.services.nodes.membership import node_drain, node_remove, node_undrain, node_want
from apps.fleet.services.nodes.node_liveness import nodes_check
from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.fleet.tasks import nodes_check as nodes_check_task
from apps.identity.services.tokens import join_token_make
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Forbidden, NotFound
from apps.telemetry.models import Alarm
from tests.apps.fleet.agent import desire, device_report, fresh, held, report, usage

pytestmark = pytest.mark.req("PLAT-OPS-22")


def check():
    return nodes_check(actor=SYSTEM)


def watched():
    """The checks have gone on without a break."""
    now = timezone.now()
    Watch.objects.update_or_create(
        is_only=True, defaults={"checked_at": now, "listening_since_at": now - timedelta(days=1)}
    )


def silent(seconds):
    Node.objects.update(last_seen_at=timezone.now() - timedelta(seconds=seconds))
    watched()


def lost_for(seconds):
    Node.objects.update(lost_at=timezone.now() - timedelta(seconds=seconds))
    watched()


def test_an_alarm_ends_with_the_node_that_is_removed_and_with_the_memory_that_is_accepted(node, settings):
    alarms = Alarm.objects.exclude(state="resolved")
    node.sync(devices=[device_report(memory_mib=9000)])
    assert [alarm.key for alarm in alarms.all()] == ["device-memory:n1-d0"]
    device_memory_accept(actor=SYSTEM, device_uid="n1-d0")
    assert not alarms.exists()
    silent(settings.WEIR_NODE_LOST_AFTER_S + 1)
    check()
    assert [alarm.key for alarm in alarms.all()] == [f"node-lost:{node.uid}"]
    node_remove(actor=SYSTEM, node_uid=node.uid)
    assert not alarms.all().exists()


@pytest.mark.req("POOL-12.22")
def test_a_node_that_changes_its_release_may_be_silent_longer_but_not_for_ever(node, settings):
    wish = {"version": "2", "path": "/api/agent/v1/releases/2", "sha256": "a" * 64, "signature": "b" * 128}
    node_want(actor=SYSTEM, node_uid=node.uid, release=wish)
    silent(settings.WEIR_NODE_UPGRADE_S - 2)
    assert (check().lost_nodes, node_get(node.uid).state) == (0, "ready")
    silent(settings.WEIR_NODE_UPGRADE_S + 1)
    assert (check().lost_nodes, node_get(node.uid).state) == (1, "lost")


@pytest.mark.req("POOL-12.22")
@pytest.mark.parametrize("told", [{"agent_version": "2"}, {"release_problem": "its signature is wrong"}])
def test_a_node_that_runs_its_release_or_refused_it_is_missed_as_any_other(node, settings, told):
    wish = {"version": "2", "path": "/api/agent/v1/releases/2", "sha256": "a" * 64, "signature": "b" * 128}
    node_want(actor=SYSTEM, node_uid=node.uid, release=wish)
    node.info = node.info.model_copy(update=told)
    node.sync()
    silent(settings.WEIR_NODE_LOST_AFTER_S + 1)
    assert (check().lost_nodes, node_get(node.uid).state) == (1, "lost")


def test_the_alarms_of_cards_end_when_they_leave_or_their_node_is_removed(node):
    alarms = Alarm.objects.exclude(state="resolved")
    node.devices = (*node.devices, device_report("n1-d1", 1))
    node.sync()
    wrong = [device_report("n1-d0", 0, memory_mib=9000), device_report("n1-d1", 1, memory_mib=9000)]
    node.sync(devices=wrong)
    assert {alarm.key for alarm in alarms} == {"device-memory:n1-d0", "device-memory:n1-d1"}
    device_remove(actor=SYSTEM, device_uid="n1-d0")
    assert {alarm.key for alarm in alarms.all()} == {"device-memory:n1-d1"}
    node_remove(actor=SYSTEM, node_uid=node.uid)
    assert not alarms.all().exists()


def test_a_lost_node_that_joins_again_is_missed_no_more(node, settings):
    alarms = Alarm.objects.exclude(state="resolved")
    silent(settings.WEIR_NODE_LOST_AFTER_S + 1)
    check()
    assert [alarm.key for alarm in alarms.all()] == [f"node-lost:{node.uid}"]
    secret = join_token_make(actor=SYSTEM, note="n1")[1]
    joined = node.post("join", node.join_request(secret).model_dump_json())
    assert joined.status_code == 200
    node.credential = joined.json()["credential"]
    node.reboot()
    node.sync()
    assert node_get(node.uid).state == "ready"
    assert not alarms.all().exists()


@pytest.mark.req("PLAT-CMP-17")
def test_a_silent_node_is_lost_once_and_its_slices_are_unvouched(node, acme, heard, settings):
    row = desire(acme)
    node.sync()
    node.sync(slices=[report(row)])
    assert fresh(row).is_vouched
    silent(settings.WEIR_NODE_LOST_AFTER_S - 2)
    assert check().lost_nodes == 0
    silent(settings.WEIR_NODE_LOST_AFTER_S + 1)
    assert check().lost_nodes == 1
    assert check().lost_nodes == 0
    assert [(e.node_uid, e.name) for e in heard(events.NodeLost)] == [(node.uid, "n1")]
    now = fresh(row)
    assert (now.state, now.is_vouched) == ("running", False)
    assert held() == (20, 1024, False)
    with pytest.raises(DeviceUnavailable, match="not ready"):
        desire(acme)


def test_a_node_that_returns_goes_on_where_it_was(node, acme, heard):
    row = desire(acme)
    node.sync()
    node.sync(slices=[report(row)], usage=[usage(row, 1)])
    silent(60)
    nodes_check_task()
    reply = node.sync(slices=[report(row)], usage=[usage(row, 1), usage(row, 2)])
    assert [e.node_uid for e in heard(events.NodeReturned)] == [node.uid]
    assert Node.objects.get().state == "ready"
    now = fresh(row)
    assert (now.state, now.usage_seq, now.is_vouched) == ("running", 2, True)
    assert [wish.state for wish in reply.desired] == ["running"]
    node.sync(slices=[report(row)])
    assert len(heard(events.NodeReturned)) == len(heard(events.SliceStarted)) == 1
    assert heard(events.SliceEnded) == []


def test_slices_of_a_node_that_stays_away_are_lost_at_their_last_vouched_instant(node, acme, heard):
    ran, waited = desire(acme), desire(acme)
    node.sync()
    node.sync(slices=[report(ran)], usage=[usage(ran, 1), usage(ran, 2)])
    silent(60)
    check()
    lost_for(899)
    assert check().lost_slices == 0
    lost_for(901)
    assert check().lost_slices == 2
    assert check().lost_slices == 0
    now = fresh(ran)
    assert (now.state, now.reason_code) == ("lost", "lost")
    ended = {e.slice_uid: e for e in heard(events.SliceEnded)}
    assert set(ended) == {str(ran.uid), str(waited.uid)}
    assert ended[str(ran.uid)].at == usage(ran, 2).end_at
    assert all(e.failed for e in ended.values())
    assert held() == (0, 0, False)


def test_a_node_that_returns_too_late_is_told_to_stop_and_nothing_runs_twice(node, acme, heard):
    row = desire(acme)
    node.sync()
    node.sync(slices=[report(row)])
    silent(60)
    check()
    lost_for(901)
    check()
    reply = node.sync(slices=[report(row)])
    (wish,) = reply.desired
    assert (wish.slice_uid, wish.state) == (str(row.uid), "stopped")
    assert wish.generation > 1
    assert reply.forget == reply.unknown == ()
    reply = node.sync(slices=[report(row, "exited", generation=2, reason_code="stopped")])
    assert (fresh(row).state, reply.desired, reply.forget) == ("lost", (), (str(row.uid),))
    assert len(heard(events.SliceEnded)) == 1
    assert held() == (0, 0, False)


def test_a_slice_whose_last_usage_never_comes_is_closed_after_a_while(node, acme, heard):
    row = desire(acme)
    node.sync()
    node.sync(slices=[report(row, "exited", last_usage_seq=5)], usage=[usage(row, 1)])
    assert check().closed_slices == 0
    Slice.plain.update(final_at=timezone.now() - timedelta(seconds=901))
    assert check().closed_slices == 1
    assert check().closed_slices == 0
    assert len(heard(events.SliceEnded)) == 1
    assert node.sync(slices=[report(row, "exited", last_usage_seq=5)]).forget == (str(row.uid),)


def test_silence_while_nobody_checked_is_not_held_against_a_node(node, heard):
    silent(3600)
    Watch.objects.update(checked_at=timezone.now() - timedelta(hours=1))
    assert check().lost_nodes == 0
    assert check().lost_nodes == 0
    silent(3600)
    assert check().lost_nodes == 1


def test_a_drained_node_that_was_lost_comes_back_drained(node):
    node_drain(actor=SYSTEM, node_uid=node.uid)
    silent(60)
    check()
    assert Node.objects.get().state == "lost"
    node.sync()
    assert Node.objects.get().state == "drained"
    silent(60)
    check()
    node_undrain(actor=SYSTEM, node_uid=node.uid)
    node.sync()
    assert Node.objects.get().state == "ready"


@pytest.mark.req("POOL-12.25", "POOL-6a", "POOL-7.6a")
def test_a_busy_node_leaves_when_its_last_slice_has_ended(node, acme, heard):
    row = desire(acme)
    assert list(slice_open_list(node_uid=node.uid)) == list(slice_open_list(device_uid="n1-d0")) == [row]
    assert node_remove(actor=SYSTEM, node_uid=node.uid).is_leaving
    with pytest.raises(DeviceUnavailable, match="not ready"):
        desire(acme)
    nodes_check_task()
    assert node_get(node.uid).state == "ready"
    slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="")
    nodes_check_task()
    assert heard(events.NodeRemoved) == [events.NodeRemoved(node.uid, ("n1-d0",))]
    assert not node_list().exists()
    assert not device_list().exists()
    for act in (node_drain, node_remove):
        with pytest.raises(NotFound):
            act(actor=SYSTEM, node_uid=node.uid)
    with pytest.raises(NotFound):
        node_get(node.uid)


@pytest.mark.parametrize("act", [node_drain, node_undrain, node_remove])
def test_only_who_manages_the_fleet_decides_about_nodes(node, member, act):
    with pytest.raises(Forbidden):
        act(actor=member("acme", "tenant_system_administrator").actor, node_uid=node.uid)
    assert Node.objects.get().state == "ready"


def test_a_slice_on_a_node_removed_meanwhile_does_not_hang(node, acme, heard):
    row = desire(acme)
    # As if the removal had committed between the hold and the slice.
    Node.objects.update(state="removed")
    watched()
    assert check().lost_slices == 1
    assert fresh(row).state == "lost"
    assert held() == (0, 0, False)
    assert len(heard(events.SliceEnded)) == 1
