"""Scheduler processes: one leads, a stand-by succeeds it, and nothing is placed twice whenever one is killed."""

import gc
import time
from collections import Counter

import pytest
from django.db import DatabaseError, connection
from django.db.models import Sum

from apps.fleet.models import Device, Slice
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Allocation, Workload
from apps.scheduling.services.quota.quotas import quota_set
from portal.scheduler import Scheduler
from tests.apps.scheduling.pool import node_make, submit
from tests.harness.schedulers import leader_pid, leads_wait, stand_by_wait, start


def placed_wait(count, timeout_s=60):
    deadline_s = time.monotonic() + timeout_s
    while Workload.plain.filter(state="placed").count() < count:
        assert time.monotonic() < deadline_s, Counter(Workload.plain.values_list("state", "reason_code"))
        time.sleep(0.05)


@pytest.fixture
def crew(committed):
    """Starts schedulers; whoever still runs is killed afterwards."""
    processes = []

    def more():
        processes.append(start())
        return processes[-1]

    yield more
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.req("ELA-708", "POOL-8.1a")
def test_a_stand_by_succeeds_a_killed_leader_and_nothing_is_placed_twice(crew, acme):
    node_make("n1", devices=4)
    quota_set(actor=SYSTEM, tenant=acme, item="instances", total=100)
    first = crew()
    leads_wait()
    old = leader_pid()
    second = crew()
    stand_by_wait()
    for _number in range(20):
        submit(acme, percent=5, mib=16)
    # In the midst of placing, wherever that is.
    first.kill()
    took_s = leads_wait(but=old)
    print(f"taken over after {took_s:.2f} s")
    assert second.poll() is None
    for _number in range(20):
        submit(acme, percent=5, mib=16)
    placed_wait(40)
    held = Allocation.objects.filter(state="active")
    assert set(Counter(held.values_list("workload_id", "share")).values()) == {1}
    assert Slice.plain.count() == 40
    assert Device.objects.aggregate(sum=Sum("held_percent"))["sum"] == 200


@pytest.mark.req("ELA-701")
def test_a_leader_that_is_told_to_stop_leaves_in_good_order(crew, acme):
    node_make("n1")
    process = crew()
    leads_wait()
    process.terminate()
    assert process.wait(timeout=30) == 0
    assert leader_pid() is None


@pytest.mark.req("ELA-701")
def test_a_change_wakes_the_leader_long_before_its_timer(crew, acme):
    node_make("n1", devices=2)
    crew()
    leads_wait()
    placed = []
    for _number in range(5):
        row = submit(acme, percent=5, mib=16)
        began_s = time.monotonic()
        while Workload.plain.get(pk=row.pk).state != "placed":
            assert time.monotonic() - began_s < 30
            time.sleep(0.002)
        placed.append(time.monotonic() - began_s)
        time.sleep(0.2)
    print("placed after", [f"{seconds * 1000:.0f} ms" for seconds in placed])


class Interrupted(Scheduler):
    """One whose connection ends while it waits for changes."""

    waits = 0

    def _wait(self, passed_at_s):
        self.waits += 1
        if self.waits == 3:
            self.stop()
        connection.close()
        return True


@pytest.mark.req("ELA-708")
def test_who_lost_the_connection_that_holds_the_lock_leads_no_more(committed):
    """Django opens another by itself, without the lock: there would be two leaders, each with half of the feed."""
    scheduler = Interrupted()
    scheduler._stand_by()
    try:
        with pytest.raises(DatabaseError, match="held the lock"):
            scheduler._lead()
    finally:
        scheduler._let_go()
    assert scheduler.waits == 1
    assert gc.get_freeze_count() == 0, "what it knew may be thrown away while it stands by"
