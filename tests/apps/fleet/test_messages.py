"""Messages of nodes: twice, late, overtaken, with gaps, about what is not theirs."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.fleet.events import DeviceMismatch, LogGrew, SliceEnded, SliceStarted, UsageObserved
from apps.fleet.models import LOG_MAX_BYTES, LogChunk, Node, Slice
from apps.fleet.selectors import log_read
from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.kernel import wiring
from apps.kernel.actor import SYSTEM
from tests.apps.fleet.speaking import Speaker, desire, device, interval, printed, report


@pytest.fixture
def heard(monkeypatch):
    """What the fleet tells, in order; nobody above acts on it."""
    found = []
    wiring._load()
    for event in (SliceStarted, SliceEnded, UsageObserved, LogGrew, DeviceMismatch):
        monkeypatch.setitem(wiring._within, event, [lambda happened, _actor: found.append(happened)])
    return found


@pytest.fixture
def node(db):
    return Speaker()


def kinds(events, kind):
    return [event for event in events if isinstance(event, kind)]


def shown():
    """Everything a message could change, without clocks."""
    rows = (
        Slice.objects.across()
        .order_by("pk")
        .values_list("state", "usage_seq", "log_next", "desired", "reason")
    )
    return list(rows), list(LogChunk.objects.values_list("offset", "text")), device().held_percent


@pytest.mark.req("PLAT-OPS-22")
def test_what_is_wanted_is_told_and_what_is_observed_is_kept(node, acme, heard):
    row = desire(acme, percent=30, mib=512, run_timeout_s=20)
    wanted = node.say().desired
    assert [(one.slice_uid, one.compute_percent, one.memory_mib, one.state) for one in wanted] == [
        (str(row.uid), 30, 512, "running")
    ]
    assert wanted[0].work.run_timeout_s == 20
    told = {"delivered_percent": 29.5, "disk_used_mib": 70, "disk_limit_mib": 10_240}
    node.say(slices=[report(row, memory_enforced_by="cgroup2", **told)])
    row.refresh_from_db()
    assert (row.disk_used_mib, row.disk_limit_mib) == (70, 10_240)
    assert (row.state, row.memory_enforced_by, row.delivered_percent) == ("running", "cgroup2", 29.5)
    assert [event.slice_uid for event in kinds(heard, SliceStarted)] == [str(row.uid)]


@pytest.mark.req("PLAT-OPS-22", "PLAT-SVC-18")
def test_what_is_used_of_the_host_beside_a_share_is_kept_while_it_runs(node, acme):
    row = desire(acme)
    used = {"host_cpu_used_milli": 1450, "host_memory_used_mib": 300, "host_enforced_by": "cgroup-v1"}
    node.say(slices=[report(row, **used)])
    row.refresh_from_db()
    assert {name: getattr(row, name) for name in used} == used
    node.say(slices=[report(row, "exited", host_enforced_by="cgroup-v1")])
    row.refresh_from_db()
    assert (row.host_cpu_used_milli, row.host_memory_used_mib) == (None, None), "it uses nothing any more"
    assert row.host_enforced_by == "cgroup-v1", "and was held so"


def test_the_same_message_twice_changes_nothing_more(node, acme, heard):
    row = desire(acme)
    message = node.message(slices=[report(row)], usage=[interval(row, 1)], logs=[printed(row, 0, "hello\n")])
    first = node.say(message)
    before, told = shown(), len(heard)
    second = node.say(message)
    assert shown() == before
    assert len(heard) == told
    assert (first.usage_acks, first.log_acks) == (second.usage_acks, second.log_acks)


def test_an_overtaken_message_moves_nothing_back(node, acme, heard):
    row = desire(acme)
    late = node.message(slices=[report(row, "starting")])
    node.say(slices=[report(row, "running")])
    node.say(late)
    row.refresh_from_db()
    assert row.state == "running"


def test_an_overtaken_message_still_delivers_usage_and_output(node, acme, heard):
    row = desire(acme)
    late = node.message(usage=[interval(row, 1)], logs=[printed(row, 0, "a")])
    node.say(slices=[report(row)])
    reply = node.say(late)
    assert reply.usage_acks[str(row.uid)] == 1
    assert reply.log_acks[str(row.uid)] == 1


def test_a_process_that_was_replaced_is_not_believed(node, acme, heard):
    row = desire(acme)
    old = node.boot_id
    node.say(slices=[report(row)])
    node.say(boot_id="f" * 32, seq=1, slices=[report(row)])
    node.say(boot_id=old, seq=999, slices=[report(row, "exited", reason_code="completed")])
    row.refresh_from_db()
    assert (row.state, Node.objects.get().boot_id) == ("running", "f" * 32)


def test_usage_is_taken_once_in_order_and_a_gap_is_asked_again(node, acme, heard):
    row = desire(acme)
    uid = str(row.uid)
    assert node.say(slices=[report(row)], usage=[interval(row, 1), interval(row, 3)]).usage_acks[uid] == 1
    assert node.say(usage=[interval(row, 3)]).usage_acks[uid] == 1
    assert node.say(usage=[interval(row, n) for n in (3, 2, 1)]).usage_acks[uid] == 3
    told = [one["seq"] for event in kinds(heard, UsageObserved) for one in event.reports]
    assert told == [1, 2, 3]


@pytest.mark.parametrize(
    "wrong",
    [{"compute_percent": 100}, {"memory_mib": 9999}, {"seconds": 2 * 86400}, {"cpu_seconds": 1e8}],
    ids=["share", "memory", "days", "cpu"],
)
def test_usage_that_cannot_be_true_is_never_told(node, acme, heard, wrong):
    row = desire(acme)
    node.say(slices=[report(row)], usage=[interval(row, 1, **wrong)])
    assert kinds(heard, UsageObserved) == []
    row.refresh_from_db()
    assert (row.usage_doubted, row.usage_seq) == (1, 1)


def test_usage_of_the_future_is_never_told(node, acme, heard):
    row = desire(acme)
    node.say(usage=[interval(row, 1, begin=row.created_at + timedelta(hours=1))])
    assert kinds(heard, UsageObserved) == []


def test_output_is_taken_by_offset_and_overlap_is_cut(node, acme, heard):
    row = desire(acme)
    uid = str(row.uid)
    assert node.say(logs=[printed(row, 0, "eins ")]).log_acks[uid] == 5
    assert node.say(logs=[printed(row, 9, "drei")]).log_acks[uid] == 5
    assert node.say(logs=[printed(row, 0, "eins zwei ")]).log_acks[uid] == 10
    assert node.say(logs=[printed(row, 10, "三")]).log_acks[uid] == 13
    part = log_read(workload_uid=row.workload_uid)
    assert (part.text, part.next_offset, part.ended) == ("eins zwei 三", 13, False)
    assert log_read(workload_uid=row.workload_uid, offset=5).text == "zwei 三"


def test_output_is_bounded_and_the_node_is_not_kept_waiting(node, acme, heard):
    row = desire(acme)
    Slice.plain.filter(pk=row.pk).update(log_next=LOG_MAX_BYTES - 2)
    reply = node.say(logs=[printed(row, LOG_MAX_BYTES - 2, "abcdef")])
    assert reply.log_acks[str(row.uid)] == LOG_MAX_BYTES + 4
    assert LogChunk.objects.get().text == "ab"


def test_slices_that_nobody_knows_and_other_nodes_slices_are_to_be_stopped(node, acme, heard):
    other = Speaker("n2")
    mine, foreign = desire(acme), desire(acme, "n2-d0")
    stranger = report(mine).model_copy(update={"slice_uid": "never-heard-of"})
    reply = node.say(
        slices=[report(mine), report(foreign), stranger],
        usage=[interval(foreign, 1)],
        logs=[printed(foreign, 0, "not mine")],
    )
    assert set(reply.unknown) == {str(foreign.uid), "never-heard-of"}
    foreign.refresh_from_db()
    assert (foreign.state, foreign.usage_seq, foreign.log_next) == ("desired", 0, 0)
    assert [one.slice_uid for one in other.say().desired] == [str(foreign.uid)]


@pytest.mark.req("ELA-406")
def test_an_ended_slice_gives_back_its_share_once_and_is_forgotten_when_all_has_come(node, acme, heard):
    row = desire(acme, percent=40, mib=1000)
    node.say(slices=[report(row)])
    ended = report(row, "exited", reason_code="completed", last_usage_seq=2)
    assert node.say(slices=[ended], usage=[interval(row, 1)]).forget == ()
    assert (device().held_percent, device().held_mib) == (0, 0)
    assert kinds(heard, SliceEnded) == []
    reply = node.say(slices=[ended], usage=[interval(row, 2)])
    assert reply.forget == (str(row.uid),)
    node.say(slices=[ended])
    assert [event.failed for event in kinds(heard, SliceEnded)] == [False]
    assert (device().held_percent, device().held_mib) == (0, 0)


def test_what_has_ended_never_runs_again(node, acme, heard):
    row = desire(acme)
    node.say(slices=[report(row, "failed", reason_code="crashed")])
    reply = node.say(slices=[report(row, "running")])
    row.refresh_from_db()
    assert row.state == "failed"
    assert [(one.slice_uid, one.state) for one in reply.desired] == [(str(row.uid), "stopped")]


def test_a_slice_to_be_stopped_is_told_until_the_node_says_it_has_ended(node, acme, heard):
    row = desire(acme)
    node.say()
    node.say(slices=[report(row)])
    slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="enough")
    slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="again")
    for _again in range(2):
        assert [one.state for one in node.say(slices=[report(row)]).desired] == ["stopped"]
    assert device().held_percent == 10
    row.refresh_from_db()
    node.say(slices=[report(row, "exited", reason_code="stopped")])
    row.refresh_from_db()
    assert (row.state, row.reason, device().held_percent) == ("exited", "enough", 0)


def test_a_device_that_reports_more_memory_is_not_believed_and_told_once(node, acme, heard):
    bigger = (node.devices[0].model_copy(update={"memory_mib": 81920}),)
    for _again in range(3):
        node.say(devices=bigger)
    assert device().memory_mib == 8192
    assert [(event.old_mib, event.new_mib) for event in kinds(heard, DeviceMismatch)] == [(8192, 81920)]


def test_a_device_that_is_not_reported_takes_no_new_work(node, acme, heard):
    node.say(devices=())
    assert device().health != "ok"


def queries(node, rows, **more):
    with CaptureQueriesContext(connection) as seen:
        node.say(slices=[report(row, delivered_percent=9.0) for row in rows], **more)
    # A statement that the server keeps prepared is counted; its text is not told again.
    told = [str(one["sql"]) for one in seen]
    return [sql for sql in told if not sql.startswith(("SAVEPOINT", "RELEASE", "SET search_path"))]


def test_an_idle_nodes_message_writes_that_it_was_heard_and_nothing_else(node, acme):
    for _again in range(2):
        node.say()
    written = [sql for sql in queries(node, []) if sql.startswith(("UPDATE", "INSERT", "DELETE"))]
    assert [sql.split('"')[1] for sql in written] == ["fleet_node"]
    assert "boots_past" not in written[0]
    assert len(queries(node, [])) <= 5


def test_a_message_costs_the_same_however_many_slices_there_are(node, acme, heard):
    one = [desire(acme, percent=1)]
    node.say(slices=[report(row) for row in one])
    few = queries(node, one)
    many = one + [desire(acme, percent=1) for _ in range(40)]
    node.say(slices=[report(row) for row in many])
    more = queries(node, many)
    assert len(more) == len(few)
    assert len(more) <= 12, "\n".join(sql[:120] for sql in more)
    usage = [interval(row, 1) for row in many]
    assert len(queries(node, many, usage=usage, logs=[printed(row, 0, "x") for row in many])) <= 13
