"""The exchange with a node: whatever is lost, repeated, late or false, the rows stay right (PLAT-OPS-22)."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.fleet import events
from apps.fleet.models import LOG_MAX_BYTES, Device, LogChunk, Node, Slice
from apps.fleet.selectors import log_read
from apps.fleet.services.nodes.membership import node_drain, node_remove
from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.kernel.actor import SYSTEM
from tests.apps.fleet.agent import Agent, desire, device_report, fresh, held, log, report, usage

pytestmark = pytest.mark.req("PLAT-OPS-22")


def stop(row, reason="the order was terminated"):
    return slice_stop(actor=SYSTEM, slice_uid=row.uid, reason=reason)


@pytest.mark.req("POOL-5-4", "POOL-8.1-2")
def test_a_wish_goes_to_the_node_and_its_life_comes_back(node, acme, heard, settings):
    row = desire(acme, run_timeout_s=60)
    reply = node.sync()
    assert reply.next_sync_s == settings.WEIR_AGENT_SYNC_S
    wish = reply.desired[0]
    assert (wish.slice_uid, wish.state, wish.device_uid) == (str(row.uid), "running", "n1-d0")
    assert (wish.compute_percent, wish.memory_mib, wish.work.run_timeout_s) == (20, 1024, 60)
    assert wish.work.argv == ("python", "-c", "print(1)")
    node.sync(slices=[report(row, "starting", started_at=None)])
    assert fresh(row).state == "starting"
    assert heard(events.SliceStarted) == []
    started_at = datetime.now(UTC)
    measured = {"delivered_percent": 19.5, "memory_used_mib": 300, "memory_enforced_by": "rlimit-data+watch"}
    node.sync(slices=[report(row, started_at=started_at, **measured)])
    now = fresh(row)
    assert (now.state, now.delivered_percent, now.memory_used_mib) == ("running", 19.5, 300)
    assert now.memory_enforced_by == "rlimit-data+watch"
    assert [(e.slice_uid, e.at) for e in heard(events.SliceStarted)] == [(str(row.uid), now.started_at)]
    assert heard(events.SliceMeasured)[0].delivered_percent == 19.5
    reply = node.sync(
        slices=[report(row, "exited", exit_code=0, reason_code="completed", last_usage_seq=1)],
        usage=[usage(row, 1)],
    )
    assert fresh(row).state == "exited"
    assert held() == (0, 0, False)
    assert reply.forget == (str(row.uid),)
    assert reply.desired == ()
    (ended,) = heard(events.SliceEnded)
    assert (ended.failed, ended.reason_code) == (False, "completed")
    assert len(heard(events.SliceStarted)) == 1


def test_the_same_message_twice_changes_nothing_twice(node, acme, heard):
    row = desire(acme)
    node.sync()
    message = node.message(
        slices=[report(row, "exited", reason_code="completed", last_usage_seq=2)],
        usage=[usage(row, 1), usage(row, 2)],
        logs=[log(row, 0, "one\n")],
    )
    first, second = node.send(message), node.send(message)
    assert first.status_code == second.status_code == 200
    assert second.json()["usage_acks"] == first.json()["usage_acks"] == {str(row.uid): 2}
    node.sync(slices=message.slices, usage=message.usage, logs=message.logs)
    assert [len(e.reports) for e in heard(events.UsageObserved)] == [2]
    assert len(heard(events.SliceEnded)) == len(heard(events.LogGrew)) == 1
    assert LogChunk.objects.count() == 1
    assert held() == (0, 0, False)


@pytest.mark.req("POOL-8.1-2")
def test_an_overtaken_message_does_not_turn_life_back(node, acme, heard):
    row = desire(acme)
    node.sync()
    late = node.message(
        slices=[report(row, "running", delivered_percent=5)], usage=[usage(row, 1)], devices=()
    )
    node.sync(slices=[report(row, "stopping", delivered_percent=1)])
    reply = node.send(late).json()
    assert fresh(row).state == "stopping"
    assert Device.objects.get().health == "ok"
    assert reply["usage_acks"] == {str(row.uid): 1}
    assert heard(events.UsageObserved)[0].reports[0]["seq"] == 1


def test_a_replaced_agent_process_is_not_believed_any_more(node, acme):
    row = desire(acme)
    node.sync()
    old_boot = node.boot_id
    node.reboot()
    node.sync(slices=[report(row, "running")])
    ghost = node.message(slices=[report(row, "failed", reason_code="lost")], boot_id=old_boot, seq=999)
    answer = node.send(ghost)
    assert (answer.status_code, answer.json()["desired"]) == (200, [])
    assert fresh(row).state == "running"
    assert Node.objects.get().boot_id == node.boot_id


def test_a_second_boot_learns_what_was_stored(node, acme):
    row = desire(acme)
    node.sync()
    node.sync(slices=[report(row)], usage=[usage(row, 1)], logs=[log(row, 0, "ab")])
    node.reboot()
    reply = node.sync()
    assert reply.usage_acks == {str(row.uid): 1}
    assert reply.log_acks == {str(row.uid): 2}


def test_usage_is_taken_once_and_in_order(node, acme, heard):
    row = desire(acme)
    node.sync()
    reply = node.sync(slices=[report(row)], usage=[usage(row, 2), usage(row, 1), usage(row, 4)])
    assert reply.usage_acks == {str(row.uid): 2}
    reply = node.sync(slices=[report(row)], usage=[usage(row, n) for n in (2, 3, 4)])
    assert reply.usage_acks == {str(row.uid): 4}
    told = [r["seq"] for e in heard(events.UsageObserved) for r in e.reports]
    assert told == [1, 2, 3, 4]
    observed = heard(events.UsageObserved)[0]
    assert (observed.node_uid, observed.device_uid) == (node.uid, "n1-d0")
    assert observed.report_id == f"{node.boot_id}/2"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"start": datetime.now(UTC) + timedelta(hours=1)}, "future"),
        ({"start": datetime.now(UTC) - timedelta(days=2)}, "before the slice"),
        ({"seconds": 2 * 86400, "start": datetime.now(UTC) - timedelta(days=3)}, "longer than a day"),
        ({"compute_percent": 90}, "more than the slice holds"),
        ({"memory_mib": 4096}, "more than the slice holds"),
        ({"cpu_seconds": 1e8}, "more CPU time"),
    ],
)
def test_usage_that_cannot_be_true_is_counted_and_never_told(node, acme, heard, change, reason):
    row = desire(acme)
    node.sync()
    reply = node.sync(slices=[report(row)], usage=[usage(row, 1, **change), usage(row, 2)])
    assert reply.usage_acks == {str(row.uid): 2}
    assert [r["seq"] for e in heard(events.UsageObserved) for r in e.reports] == [2]
    (doubt,) = heard(events.UsageDoubted)
    assert reason in doubt.reason
    assert fresh(row).usage_doubted == 1


def test_usage_that_overlaps_is_not_told(node, acme, heard):
    row = desire(acme)
    node.sync()
    node.sync(usage=[usage(row, 1, seconds=3), usage(row, 2, start=row.created_at + timedelta(seconds=2))])
    assert [r["seq"] for e in heard(events.UsageObserved) for r in e.reports] == [1]
    assert "overlaps" in heard(events.UsageDoubted)[0].reason


def test_the_end_is_told_when_the_last_usage_has_come(node, acme, heard):
    row = desire(acme)
    node.sync()
    final = usage(row, 2, final=True)
    reply = node.sync(slices=[report(row, "exited", last_usage_seq=2)], usage=[usage(row, 1)])
    assert fresh(row).state == "exited"
    assert held() == (0, 0, False)
    assert heard(events.SliceEnded) == []
    assert reply.forget == ()
    reply = node.sync(slices=[report(row, "exited", last_usage_seq=2)], usage=[final])
    (ended,) = heard(events.SliceEnded)
    assert ended.at >= final.end_at
    assert reply.forget == (str(row.uid),)


def test_final_usage_alone_ends_nothing(node, acme, heard):
    row = desire(acme)
    node.sync()
    node.sync(slices=[report(row)], usage=[usage(row, 1, final=True)])
    assert fresh(row).state == "running"
    assert heard(events.SliceEnded) == []
    assert held() == (20, 1024, False)


@pytest.mark.parametrize("state", ["failed", "refused"])
def test_failures_are_told_with_their_reason(node, acme, heard, state):
    row = desire(acme)
    node.sync()
    node.sync(
        slices=[report(row, state, reason_code="memory_exceeded", reason="memory limit of 1024 MiB exceeded")]
    )
    now = fresh(row)
    assert (now.state, now.reason) == ("failed", "memory limit of 1024 MiB exceeded")
    (ended,) = heard(events.SliceEnded)
    assert (ended.failed, ended.reason_code) == (True, "memory_exceeded")
    assert held() == (0, 0, False)


def test_a_stop_before_the_node_heard_of_it_releases_at_once(node, acme, heard):
    row = desire(acme)
    stop(row)
    assert fresh(row).state == "released"
    assert held() == (0, 0, False)
    (ended,) = heard(events.SliceEnded)
    assert (ended.failed, ended.reason_code) == (False, "stopped")
    assert node.sync().desired == ()


def test_a_stop_after_that_waits_for_the_node(node, acme, heard):
    row = desire(acme)
    node.sync()
    stop(row)
    stop(row)
    assert fresh(row).state == "desired"
    (wish,) = node.sync(slices=[report(row)]).desired
    assert (wish.state, wish.generation) == ("stopped", 2)
    assert held() == (20, 1024, False)
    node.sync(slices=[report(row, "exited", generation=2, reason_code="stopped", reason="stopped")])
    assert fresh(row).reason == "the order was terminated"
    assert heard(events.SliceEnded)[0].reason_code == "stopped"
    assert held() == (0, 0, False)
    stop(row)
    assert len(heard(events.SliceEnded)) == 1


def test_slices_of_nobody_are_told_as_unknown(node, acme):
    row = desire(acme)
    node.sync()
    reply = node.sync(slices=[report(row), report(row, slice_uid="no-such"), report(row, slice_uid="f" * 32)])
    assert set(reply.unknown) == {"no-such", "f" * 32}


def test_a_slice_of_another_node_is_not_heard_from_this_one(node, acme, heard):
    other = Agent("n2")
    row = desire(acme)
    node.sync()
    node.sync(slices=[report(row)])
    reply = other.sync(
        slices=[report(row, "exited", reason_code="completed")],
        usage=[usage(row, 1)],
        logs=[log(row, 0, "x")],
    )
    assert reply.unknown == (str(row.uid),)
    assert reply.usage_acks == reply.log_acks == {}
    now = fresh(row)
    assert (now.state, now.usage_seq, now.log_next) == ("running", 0, 0)
    assert heard(events.UsageObserved) == heard(events.SliceEnded) == []
    assert held() == (20, 1024, False)


def test_a_report_of_a_generation_never_wished_is_ignored(node, acme):
    row = desire(acme)
    node.sync()
    node.sync(slices=[report(row, "exited", generation=9)])
    assert fresh(row).state == "desired"


def test_output_is_kept_by_offset(node, acme, heard):
    row = desire(acme)
    node.sync()
    reply = node.sync(logs=[log(row, 0, "héllo "), log(row, 20, "late")])
    assert reply.log_acks == {str(row.uid): 7}
    assert reply.log_acks[str(row.uid)] == len("héllo ".encode())
    reply = node.sync(logs=[log(row, 3, "llo world\n"), log(row, 7, "world\n")])
    assert reply.log_acks == {str(row.uid): 13}
    part = log_read(workload_uid=row.workload_uid, offset=0, limit=1000)
    assert (part.text, part.next_offset, part.ended) == ("héllo world\n", 13, False)
    assert log_read(workload_uid=row.workload_uid, offset=0, limit=4).text == "hél"
    assert log_read(workload_uid=row.workload_uid, offset=13, limit=1000).text == ""
    node.sync(slices=[report(row, "exited")])
    assert log_read(workload_uid=row.workload_uid, offset=13, limit=1000).ended
    assert len(heard(events.LogGrew)) == 2


def test_output_is_bounded_and_the_rest_is_acknowledged(node, acme):
    row = desire(acme)
    node.sync()
    Slice.plain.update(log_next=LOG_MAX_BYTES - 2)
    reply = node.sync(logs=[log(row, LOG_MAX_BYTES - 2, "abcdef")])
    assert reply.log_acks == {str(row.uid): LOG_MAX_BYTES + 4}
    assert [chunk.text for chunk in LogChunk.objects.all()] == ["ab"]
    reply = node.sync(logs=[log(row, LOG_MAX_BYTES + 4, "more")])
    assert reply.log_acks == {str(row.uid): LOG_MAX_BYTES + 8}
    assert LogChunk.objects.count() == 1


@pytest.mark.parametrize("last", ["ab", "é", "a€"])
def test_output_that_is_not_kept_is_told_once_at_its_end_and_the_log_ends(node, acme, heard, last):
    row = desire(acme)
    node.sync()
    start = LOG_MAX_BYTES - 2
    Slice.plain.update(log_next=start)
    node.sync(logs=[log(row, start, last)])
    part = log_read(workload_uid=row.workload_uid, offset=start, limit=100)
    if part.text == last:
        # Just full: nothing was dropped so far, and whoever has read it all waits at the end.
        assert not log_read(workload_uid=row.workload_uid, offset=part.next_offset, limit=100).text
        grown = len(heard(events.LogGrew))
        node.sync(logs=[log(row, start + 2, "more")])
        assert len(heard(events.LogGrew)) == grown + 1
    text, offset, ended = part.text, part.next_offset, False
    node.sync(slices=[report(row, "exited")], logs=[log(row, fresh(row).log_next, "and more")])
    for _ in range(4):
        part = log_read(workload_uid=row.workload_uid, offset=offset, limit=100)
        text, offset, ended = text + part.text, part.next_offset, part.ended
    assert ended
    kept = last.encode()[:2].decode(errors="ignore")
    assert text == kept + "\n[output beyond 16 MiB is not kept]\n"


def test_a_slice_is_not_forgotten_while_it_still_speaks(node, acme):
    row = desire(acme)
    node.sync()
    exited = report(row, "exited")
    assert node.sync(slices=[exited], logs=[log(row, 0, "last words")]).forget == ()
    assert node.sync(slices=[exited]).forget == (str(row.uid),)


def test_the_logs_of_several_slices_follow_one_another(node, acme):
    first = desire(acme)
    second = desire(acme, workload_uid=first.workload_uid)
    node.sync()
    node.sync(
        slices=[report(first, "exited"), report(second, "exited")],
        logs=[log(first, 0, "one"), log(second, 0, "two")],
    )
    text, offset, ended = "", 0, False
    while not ended:
        part = log_read(workload_uid=first.workload_uid, offset=offset, limit=100)
        text, offset, ended = text + part.text, part.next_offset, part.ended
    assert text == "onetwo"


def test_more_memory_than_before_is_not_believed_and_told_once(node, heard):
    for _ in range(2):
        node.sync(devices=[device_report(memory_mib=9000)])
    device = Device.objects.get()
    assert (device.memory_mib, device.reported_mib, device.health) == (8192, 9000, "ok")
    (told,) = heard(events.DeviceMismatch)
    assert (told.device_uid, told.node, told.old_mib, told.new_mib) == ("n1-d0", "n1", 8192, 9000)


def test_less_memory_or_silence_of_a_device_makes_it_degraded_until_it_is_back(node):
    node.sync(devices=[device_report(memory_mib=4000)])
    device = Device.objects.get()
    assert (device.memory_mib, device.health) == (8192, "degraded")
    assert "4000 MiB" in device.health_reason
    node.sync(devices=())
    assert Device.objects.get().health_reason == "the node no longer reports this device"
    node.sync()
    assert Device.objects.get().health == "ok"


def test_what_a_device_measures_is_kept_and_new_ones_are_found(node):
    hot = device_report(utilisation_percent=50.0, temperature_c=80.5, health="failed", health_reason="dead")
    node.sync(devices=[hot, device_report("n1-d1", 1)])
    device = Device.objects.get(uid="n1-d0")
    assert (device.health, device.health_reason) == ("failed", "dead")
    assert device.measured["utilisation_percent"] == 50.0
    assert Device.objects.get(uid="n1-d1").node.name == "n1"


def test_a_device_of_another_node_stays_there(node):
    other = Agent("n2")
    other.sync(devices=[*other.devices, device_report("n1-d0", 1, memory_mib=1)])
    device = Device.objects.get(uid="n1-d0")
    assert (device.node.name, device.memory_mib, device.health) == ("n1", 8192, "ok")


def test_a_drained_node_runs_on_what_it_has(node, acme):
    row = desire(acme)
    node.sync()
    node_drain(actor=SYSTEM, node_uid=node.uid)
    reply = node.sync(slices=[report(row)])
    assert [wish.state for wish in reply.desired] == ["running"]
    assert Node.objects.get().state == "drained"


def test_a_removed_node_is_not_let_in(node):
    node_remove(actor=SYSTEM, node_uid=node.uid)
    assert node.send(node.message()).status_code == 401


def test_a_sync_is_cheap_however_many_slices_there_are(node, acme):
    def cost(count):
        rows = [desire(acme, percent=1, mib=1) for _ in range(count)]
        node.sync()
        reports = [report(row, delivered_percent=1.0) for row in rows]
        with CaptureQueriesContext(
            connection,
        ) as queries:
            node.sync(slices=reports)
        node.sync(slices=[report(row, "exited") for row in rows])
        own = [q["sql"] for q in queries if "fleet_" in q["sql"] or "identity_" in q["sql"]]
        return own

    few, many = cost(2), cost(60)
    assert len(few) == len(many) <= 12, "\n".join(many)
