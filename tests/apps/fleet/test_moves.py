"""A session moves while it runs: step by step, refused with a reason, never at the source's cost (POOL-12.23)."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.fleet import events
from apps.fleet.errors import DeviceUnavailable, MoveImpossible
from apps.fleet.models import Device, Node, Slice
from apps.fleet.selectors import session_connection_get
from apps.fleet.services.nodes.devices import device_disable, device_oversubscribe
from apps.fleet.services.nodes.membership import node_drain, node_want
from apps.fleet.services.nodes.node_liveness import moves_check, nodes_check
from apps.fleet.services.slices.moves import (
    MOVE_LIMIT_S,
    SENDING_LIMIT_S,
    slice_move_begin,
    slice_move_cancel,
)
from apps.fleet.services.slices.slice_lifecycle import slice_resize, slice_stop
from apps.fleet.session_keys import unseal
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict
from tests.apps.fleet.agent import Agent, desire, fresh, held, report, session_desire, session_report, usage

pytestmark = pytest.mark.req("POOL-12.23")
THERE = {"host": "10.0.0.2", "port": 5000, "fingerprint": "cd" * 32}


@pytest.fixture
def other(node):
    return Agent("n2")


@pytest.fixture
def row(node, other, acme):
    """A session that runs on n1."""
    row = session_desire(acme)
    node.sync(slices=[session_report(row, attached=True)])
    return fresh(row)


def begin(row, device="n2-d0"):
    return slice_move_begin(actor=SYSTEM, slice_uid=row.uid, device_uid=device)


def settle(target):
    """As if the source had been told a while ago."""
    Slice.plain.filter(pk=target.pk).update(moved_at=timezone.now() - timedelta(seconds=5))


def sending(node, other, row):
    """The move as far as the source streaming its state; returns the target."""
    target = begin(row)
    other.sync(slices=[session_report(target, **THERE)])
    node.sync(slices=[session_report(fresh(row), move="sending")])
    return fresh(target)


def test_a_session_moves_and_its_source_is_freed(node, other, row, heard):
    target = begin(row)
    assert held() == held("n2-d0") == (20, 1024, False)
    (wish,) = other.sync().desired
    assert wish.session.token == unseal(row.session_key)
    ticket = wish.session.ticket
    assert node.sync(slices=[session_report(row)]).desired[0].session.move_to is None
    other.sync(slices=[session_report(target, **THERE)])
    (wish,) = node.sync(slices=[session_report(row)]).desired
    goal = wish.session.move_to
    assert (goal.host, goal.port, goal.fingerprint, goal.ticket) == ("10.0.0.2", 5000, "cd" * 32, ticket)
    assert wish.generation > row.generation
    assert [one.slice_uid for one in session_connection_get(row.workload_uid)] == [str(row.uid)]
    node.sync(slices=[session_report(fresh(row), move="sent")])
    other.sync(slices=[session_report(fresh(target), **THERE, attached=True, move="done", pause_ms=120.5)])
    (there,) = session_connection_get(row.workload_uid)
    assert (there.slice_uid, there.port, there.index) == (str(target.uid), 5000, 0)
    (wish,) = node.sync(slices=[session_report(fresh(row))]).desired
    assert wish.state == "stopped"
    node.sync(slices=[session_report(fresh(row), state="exited", reason_code="stopped")])
    assert held() == (0, 0, False)
    assert held("n2-d0") == (20, 1024, False)
    ended = fresh(row)
    assert (ended.state, ended.reason_code) == ("exited", "migrated")
    (event,) = heard(events.SliceEnded)
    assert event.goes_on
    assert [(one.source_uid, one.target_uid, one.pause_ms) for one in heard(events.SliceMoved)] == [
        (str(row.uid), str(target.uid), 120.5)
    ]
    assert heard(events.SliceStarted) == [], "it had started long ago"


def test_a_moved_session_moves_again_and_keeps_its_seat(node, other, row, acme):
    target = sending(node, other, row)
    other.sync(slices=[session_report(target, **THERE, attached=True, move="done")])
    back = begin(fresh(target), "n1-d0")
    assert (back.seat, back.move_state) == (row.pk, "waiting")
    node.sync(slices=[session_report(back, port=4001)])
    assert fresh(back).move_state == "sending"
    # What the worker said as the target of the first move is not taken for this one.
    other.sync(slices=[session_report(fresh(target), **THERE, attached=True, move="done")])
    assert fresh(back).move_state == "sending"


@pytest.mark.parametrize("at", ["waiting", "sending"])
def test_a_target_that_dies_leaves_the_source_running(node, other, row, heard, at):
    target = begin(row) if at == "waiting" else sending(node, other, row)
    other.sync(slices=[report(target, "failed", reason="no memory", reason_code="crashed")])
    assert (fresh(target).move_state, fresh(target).move_reason) == ("failed", "no memory")
    (wish,) = node.sync(slices=[session_report(fresh(row))]).desired
    assert (wish.state, wish.session.move_to) == ("running", None)
    assert wish.generation == fresh(row).generation
    assert held() == (20, 1024, False)
    assert held("n2-d0") == (0, 0, False)
    (event,) = heard(events.SliceEnded)
    assert (event.slice_uid, event.goes_on) == (str(target.uid), True)
    assert len(heard(events.SliceMoveFailed)) == 1
    assert begin(fresh(row)).move_state == "waiting"


def test_a_source_that_cannot_send_stays_and_the_target_is_dropped(node, other, row):
    target = sending(node, other, row)
    node.sync(slices=[session_report(fresh(row), move="failed", move_reason="the client stayed")])
    assert fresh(target).move_state == "sending"
    settle(target)
    node.sync(slices=[session_report(fresh(row), move="failed", move_reason="the client stayed")])
    assert (fresh(target).move_state, fresh(target).desired) == ("failed", "stopped")
    (wish,) = other.sync(slices=[session_report(fresh(target), **THERE)]).desired
    assert wish.state == "stopped"


def test_a_target_whose_node_is_lost_is_dropped_unless_the_state_is_there(node, other, row):
    target = begin(row)
    Node.objects.filter(uid=other.uid).update(last_seen_at=timezone.now() - timedelta(minutes=1))
    nodes_check(actor=SYSTEM)
    moves_check(actor=SYSTEM)
    assert fresh(target).move_state == "waiting", "nobody listened a minute ago"
    Node.objects.filter(uid=other.uid).update(state="lost", lost_at=timezone.now())
    moves_check(actor=SYSTEM)
    assert fresh(target).move_state == "failed"
    assert fresh(row).state == "running"


def test_a_target_that_has_the_state_is_waited_for(node, other, row):
    target = sending(node, other, row)
    node.sync(slices=[session_report(fresh(row), move="sent")])
    Node.objects.filter(uid=other.uid).update(state="lost", lost_at=timezone.now())
    moves_check(actor=SYSTEM)
    assert fresh(target).move_state == "sending"
    with pytest.raises(Conflict, match="at the target already"):
        slice_move_cancel(actor=SYSTEM, slice_uid=row.uid)
    other.sync(slices=[session_report(fresh(target), **THERE, attached=True)])
    assert fresh(target).move_state == "done"


def test_a_move_that_takes_too_long_is_called_off(node, other, row):
    target = begin(row)
    moves_check(actor=SYSTEM)
    Slice.plain.filter(pk=target.pk).update(created_at=timezone.now() - timedelta(seconds=MOVE_LIMIT_S + 1))
    moves_check(actor=SYSTEM)
    # No node was ever told of the target: its share is free at once.
    assert (fresh(target).move_state, fresh(target).state) == ("failed", "released")
    assert held("n2-d0") == (0, 0, False)


def test_a_state_that_does_not_get_across_is_given_up(node, other, row):
    target = sending(node, other, row)
    Slice.plain.filter(pk=target.pk).update(moved_at=timezone.now() - timedelta(seconds=SENDING_LIMIT_S + 1))
    moves_check(actor=SYSTEM)
    assert (fresh(target).move_state, fresh(target).desired) == ("failed", "stopped")
    assert fresh(row).desired == "running"


def test_a_move_is_called_off_by_hand(node, other, row):
    target = begin(row)
    assert slice_move_cancel(actor=SYSTEM, slice_uid=target.uid).pk == row.pk
    assert fresh(target).move_state == "failed"
    with pytest.raises(Conflict, match="not on the move"):
        slice_move_cancel(actor=SYSTEM, slice_uid=row.uid)


def test_a_session_that_ends_takes_its_target_along(node, other, row, heard):
    target = sending(node, other, row)
    node.sync(slices=[session_report(fresh(row), state="exited", reason_code="completed")])
    assert (fresh(target).move_state, fresh(target).desired) == ("failed", "stopped")
    other.sync(slices=[session_report(fresh(target), state="exited", reason_code="stopped")])
    assert [one.goes_on for one in heard(events.SliceEnded)] == [False, False]


def test_every_second_is_billed_once_on_one_of_the_two(node, other, row, heard):
    began = timezone.now() - timedelta(seconds=60)
    Slice.plain.filter(pk=row.pk).update(created_at=began)
    target = sending(node, other, row)
    Slice.plain.filter(pk=target.pk).update(created_at=began)
    source, target = fresh(row), fresh(target)
    node.sync(usage=[usage(source, 1, start=began, seconds=58)])
    other.sync(usage=[usage(target, 1, start=began + timedelta(seconds=30), seconds=25)])
    other.sync(slices=[session_report(target, **THERE, attached=True, move="done")])
    moved_at = fresh(target).moved_at
    until = began + timedelta(seconds=58)
    node.sync(usage=[usage(source, 2, start=until, seconds=200)])
    other.sync(usage=[usage(target, 2, start=began + timedelta(seconds=55, milliseconds=500), seconds=200)])
    told = [(event.slice_uid, one) for event in heard(events.UsageObserved) for one in event.reports]
    spans = [(uid == str(row.uid), one["start_at"], one["end_at"]) for uid, one in told]
    assert [is_source for is_source, _start, _end in spans] == [True, True, False]
    (_, _, first_end), (_, second_start, handed), (_, target_start, _) = spans
    assert first_end == second_start
    assert timedelta(0) <= parse(target_start) - parse(handed) < timedelta(seconds=1)
    # The node's clock is compared with ours on the way of its messages: how long those took is taken for an offset.
    assert moved_at - timedelta(seconds=1) <= parse(handed) <= timezone.now() + timedelta(seconds=1)


def parse(text):
    return datetime.fromisoformat(text)


def test_a_target_that_was_dropped_is_never_billed(node, other, row, heard):
    target = sending(node, other, row)
    slice_move_cancel(actor=SYSTEM, slice_uid=row.uid)
    ended = session_report(fresh(target), state="exited", reason_code="stopped", attached=False)
    other.sync(slices=[ended], usage=[usage(target, 1), usage(target, 2, final=True)])
    assert heard(events.UsageObserved) == []
    assert fresh(target).usage_seq == 2


REASONS = {
    "not_a_session": lambda row, other: Slice.plain.filter(pk=row.pk).update(kind="program"),
    "not_running": lambda row, other: Slice.plain.filter(pk=row.pk).update(session={}),
    "node_failed": lambda row, other: Node.objects.filter(uid=other.uid).update(state="lost"),
    "node_disabled": lambda row, other: node_drain(actor=SYSTEM, node_uid=other.uid),
    "node_upgrading": lambda row, other: node_want(
        actor=SYSTEM,
        node_uid=other.uid,
        release={"version": "9", "path": "9.whl", "sha256": "a" * 64, "signature": "b" * 128},
    ),
    "server_version": lambda row, other: Node.objects.filter(uid=other.uid).update(
        components={"session_server": "9"}
    ),
    "device_failed": lambda row, other: Device.objects.filter(uid="n2-d0").update(health="failed"),
    "device_disabled": lambda row, other: device_disable(actor=SYSTEM, device_uid="n2-d0"),
    "device_model": lambda row, other: Device.objects.filter(uid="n2-d0").update(model="Another"),
    "driver_version": lambda row, other: Device.objects.filter(uid="n2-d0").update(driver_version="2"),
    "device_class": lambda row, other: Device.objects.filter(uid="n2-d0").update(is_sliced=False),
    "resource_group": lambda row, other: Slice.plain.filter(pk=row.pk).update(group_code="other"),
    "already_moving": lambda row, other: begin(row),
}


@pytest.mark.parametrize("code", REASONS)
def test_each_precondition_is_refused_with_its_own_reason(other, row, code):
    REASONS[code](row, other)
    before = held("n2-d0")
    with pytest.raises(MoveImpossible) as refusal:
        begin(row)
    assert refusal.value.code == code
    assert held("n2-d0") == before
    assert fresh(row).state == "running"


def test_a_move_to_where_it_is_or_where_is_no_room_is_refused(node, other, row, acme):
    with pytest.raises(MoveImpossible) as refusal:
        begin(row, "n1-d0")
    assert refusal.value.code == "same_device"
    desire(acme, "n2-d0", percent=90)
    with pytest.raises(DeviceUnavailable):
        begin(row)
    device_oversubscribe(actor=SYSTEM, device_uid="n2-d0", compute_permille=2000)
    assert begin(row).is_moving


def test_what_moves_is_not_resized_and_what_is_stopped_stops_at_both_ends(node, other, row, acme):
    target = begin(row)
    for one in (row, target):
        with pytest.raises(Conflict, match="on the move"):
            slice_resize(actor=SYSTEM, slice_uid=one.uid, compute_percent=10, memory_mib=10)
    slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="enough")
    node.sync(slices=[session_report(fresh(row), state="exited", reason_code="stopped")])
    assert (fresh(target).move_state, fresh(target).state) == ("failed", "released")
    assert held() == held("n2-d0") == (0, 0, False)


@pytest.mark.req("POOL-12.12")
def test_the_run_time_that_is_left_goes_along(node, other, acme):
    row = session_desire(acme, run_timeout_s=100)
    node.sync(slices=[session_report(row)])
    Slice.plain.filter(pk=row.pk).update(started_at=timezone.now() - timedelta(seconds=40))
    assert begin(row).run_timeout_s in (60, 61)
