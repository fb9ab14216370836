"""Nodes that claim to be another, speak twice, or have a wrong clock; what they say of themselves; lost work."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from apps.fleet import events
from apps.fleet.models import Node, Watch
from apps.fleet.services.clock_skew import clock_follow
from apps.fleet.services.nodes.membership import node_want
from apps.fleet.services.nodes.node_liveness import nodes_check
from apps.identity.services.tokens import join_token_make
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.telemetry.models import Alarm
from node_agent.protocol.sync import EventReport
from tests.apps.fleet.agent import Agent, desire, fresh, held, report, usage

HOSTILE = pytest.mark.req("PLAT-OPS-22")
HOUR = timedelta(hours=1)


def said(seq, text="hello", **more):
    return EventReport(seq=seq, at=datetime.now(UTC), level="info", component="agent", text=text, **more)


# --- identity --------------------------------------------------------------------------------------------------


@HOSTILE
def test_a_node_that_claims_another_s_name_is_refused(node):
    other = Agent("n2")
    other.info = other.info.model_copy(update={"name": "n1"})
    answer = other.send(other.message())
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "identity_mismatch")
    assert "node n2's, not n1's" in answer.json()["error"]["message"]
    stranger = Agent("n1", token=join_token_make(actor=SYSTEM, note="x")[1])
    assert stranger.joined.status_code == 200, "with n1's own device it is n1, joined again"
    thief = Agent.__new__(Agent)
    thief.info, thief.devices, thief.client = node.info, (), node.client
    refused = thief.post(
        "join", thief.join_request(join_token_make(actor=SYSTEM, note="y")[1]).model_dump_json()
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "node_name_taken")


@HOSTILE
def test_of_two_agents_with_one_identity_the_later_one_is_heard(node, acme, heard):
    row = desire(acme)
    node.sync(slices=[report(row)])
    first = node.boot_id
    node.reboot()
    node.sync(slices=[report(row)])
    # The old process may finish its sentence, but not go on talking.
    assert node.send(node.message(boot_id=first, seq=9)).status_code == 200
    Node.objects.update(boot_at=timezone.now() - timedelta(minutes=2))
    for seq in (10, 11):
        answer = node.send(node.message(boot_id=first, seq=seq))
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "identity_taken")
    assert [one.is_over for one in heard(events.NodeDoubled)] == [False]
    assert Alarm.objects.get(key=f"node-doubled:{node.uid}").state == "firing"
    assert node.sync(slices=[report(row)]).desired[0].state == "running"
    Node.objects.update(doubled_at=timezone.now() - timedelta(minutes=2))
    nodes_check(actor=SYSTEM)
    assert [one.is_over for one in heard(events.NodeDoubled)] == [False, True]
    assert Alarm.objects.get(key=f"node-doubled:{node.uid}").state == "resolved"


# --- clocks ----------------------------------------------------------------------------------------------------


@HOSTILE
@pytest.mark.parametrize("off", [HOUR, -HOUR])
def test_a_clock_an_hour_off_loses_nothing_and_bills_the_true_hours(node, acme, heard, off):
    row = desire(acme)
    now = datetime.now(UTC)
    node.sync(slices=[report(row, started_at=now + off)], sent_at=now + off)
    assert abs(fresh(row).started_at - now) < timedelta(seconds=5)
    wrong = usage(row, 1, start=row.created_at + off, seconds=2)
    node.sync(slices=[report(row, last_usage_seq=1)], usage=[wrong], sent_at=datetime.now(UTC) + off)
    (observed,) = heard(events.UsageObserved)
    start_at = datetime.fromisoformat(observed.reports[0]["start_at"])
    assert abs(start_at - row.created_at) < timedelta(seconds=5)
    assert heard(events.UsageDoubted) == []
    (clock,) = heard(events.NodeClockOff)
    assert abs(clock.offset_s - off.total_seconds()) < 5
    node.sync()
    assert heard(events.NodeClockOff)[-1].offset_s == 0


def test_a_clock_is_followed_in_steps():
    node = Node()
    for offset, shift, is_news in (
        (59, 0, False),
        (100, 100, True),
        (120, 100, False),
        (140, 140, True),
        (3, 0, True),
    ):
        node.clock_offset_s = offset
        assert (clock_follow(node), node.clock_shift_s) == (is_news, shift)


# --- what nodes say --------------------------------------------------------------------------------------------


@pytest.mark.req("POOL-12.18")
def test_lines_of_a_node_s_log_are_told_once(node, acme, heard):
    row = desire(acme)
    lines = [said(1), said(2, slice_uid=str(row.uid)), said(3, slice_uid="somebody-elses")]
    assert node.sync(events=lines).event_ack == 3
    assert node.sync(events=[*lines, said(4)]).event_ack == 4
    told = heard(events.NodeSaid)
    assert [(one.text, one.slice_uid) for one in told] == [
        ("hello", ""), ("hello", str(row.uid)), ("hello", ""), ("hello", ""),
    ]  # fmt: skip
    assert (told[1].workload_uid, told[1].tenant) == (str(row.workload_uid), "acme")
    node.reboot()
    assert node.sync(events=[said(1)]).event_ack == 1
    assert len(heard(events.NodeSaid)) == 5


@pytest.mark.req("POOL-12.20")
def test_a_wanted_configuration_and_release_are_told_until_they_run(node):
    assert (node.sync().config, node.sync().release) == (None, None)
    node_want(actor=SYSTEM, node_uid=node.uid, config={"meter_s": 2.0})
    node_want(actor=SYSTEM, node_uid=node.uid, config={"meter_s": 3.0})
    release = {"version": "2", "path": "weir-2.whl", "sha256": "a" * 64, "signature": "b" * 128}
    assert node_want(actor=SYSTEM, node_uid=node.uid, release=release).is_upgrading
    told = node.sync()
    assert (told.config.generation, told.config.meter_s, told.release.version) == (2, 3.0, "2")
    node.info = node.info.model_copy(update={"config_generation": 2, "agent_version": "2"})
    told = node.sync()
    assert (told.config, told.release) == (None, None)
    assert not Node.objects.get().is_upgrading
    for wrong in ({"config": {"meter_s": -1}}, {"config": {"nobody": 1}}, {"release": {"version": "3"}}):
        with pytest.raises(InvalidInput):
            node_want(actor=SYSTEM, node_uid=node.uid, **wrong)
    assert node_want(actor=SYSTEM, node_uid=node.uid, release={}).wanted_release is None


# --- lost work -------------------------------------------------------------------------------------------------


@pytest.mark.req("POOL-8.1c", "POOL-12.25")
def test_lost_work_is_tried_again_and_never_billed_or_run_twice(node, acme, heard):
    stays, again = desire(acme), desire(acme, requeue_on_loss=True)
    node.sync(slices=[report(stays), report(again)], usage=[usage(again, 1)])
    nodes_check(actor=SYSTEM)
    Node.objects.update(last_seen_at=timezone.now() - timedelta(seconds=16))
    Watch.objects.update(listening_since_at=timezone.now() - HOUR, checked_at=timezone.now())
    assert nodes_check(actor=SYSTEM).lost_nodes == 1
    assert [(one.slice_uid, one.requeue) for one in heard(events.SliceLost)] == [(str(again.uid), True)]
    (ended,) = heard(events.SliceEnded)
    assert (ended.slice_uid, ended.requeue, ended.goes_on) == (str(again.uid), True, False)
    assert (fresh(again).state, fresh(stays).state) == ("lost", "running")
    assert held() == (20, 1024, False)
    # It comes back and runs both: one goes on, the other is told to stop, and is billed no further.
    told = node.sync(slices=[report(stays), report(again)], usage=[usage(again, 2), usage(stays, 1)])
    assert {wish.slice_uid: wish.state for wish in told.desired} == {
        str(stays.uid): "running", str(again.uid): "stopped",
    }  # fmt: skip
    seqs = [(one.slice_uid, report["seq"]) for one in heard(events.UsageObserved) for report in one.reports]
    assert seqs == [(str(again.uid), 1), (str(stays.uid), 1)]
