"""Many at once, with real threads and real commits: nothing is sold twice, nothing is lost (ELA-109)."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import IntegrityError, connections
from django.db.models import Sum

from apps.fleet.models import Device, LogChunk, Slice
from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.workloads.submission.order_work import workload_submit
from apps.scheduling.types import Amounts, OrderedWork
from apps.tenancy.models import Tenant
from tests.apps.catalog.racing import race
from tests.apps.fleet.speaking import WORK, Speaker, desire, device, printed, report


@pytest.fixture
def tenant(committed):
    return Tenant.objects.get(schema_name="acme")


def held_is_true():
    """What the devices say is held is what slices that have not ended hold."""
    for row in Device.objects.all():
        live = Slice.objects.across().filter(device=row, final_at=None)
        sums = live.aggregate(percent=Sum("compute_percent"), mib=Sum("memory_mib"))
        assert (row.held_percent, row.held_mib) == (sums["percent"] or 0, sums["mib"] or 0)
        assert row.held_percent <= row.oversubscribe_permille // 10
        assert row.held_mib <= row.memory_mib


@pytest.mark.req("ELA-109")
@pytest.mark.parametrize(("percent", "mib"), [(60, 100), (1, 5000)], ids=["compute", "memory"])
def test_of_many_who_want_the_last_share_exactly_one_gets_it(tenant, percent, mib):
    Speaker()
    results = race(*[lambda: desire(tenant, percent=percent, mib=mib)] * 8)
    assert sum(isinstance(one, Slice) for one in results) == 1
    assert all(isinstance(one, (Slice, Conflict)) for one in results)
    held_is_true()


@pytest.mark.parametrize("beyond", [{"held_percent": 101}, {"held_mib": 8193}, {"held_percent": -1}], ids=str)
def test_the_database_itself_refuses_what_a_device_has_not(tenant, beyond):
    Speaker()
    with pytest.raises(IntegrityError):
        Device.objects.update(**beyond)
    assert device().held_percent == 0


def test_the_same_message_at_once_is_taken_once(tenant):
    node = Speaker()
    row = desire(tenant, percent=50)
    node.say(slices=[report(row)])
    message = node.message(
        slices=[report(row, "exited", reason_code="completed")], logs=[printed(row, 0, "once\n")]
    )
    results = race(*[lambda: node.say(message)] * 5)
    assert not [one for one in results if isinstance(one, Exception)]
    assert LogChunk.objects.count() == 1
    assert device().held_percent == 0
    held_is_true()


@pytest.mark.req("ELA-406")
def test_a_stop_and_the_end_at_once_give_the_share_back_once(tenant):
    node = Speaker()
    for _round in range(6):
        row = desire(tenant, percent=50)
        node.say(slices=[report(row)])
        message = node.message(slices=[report(row, "exited", reason_code="completed")])
        results = race(
            lambda message=message: node.say(message),
            lambda row=row: slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="enough"),
        )
        assert not [one for one in results if isinstance(one, Exception)], results
        held_is_true()
    assert device().held_percent == 0


def test_what_was_never_told_is_released_or_told_but_never_both(tenant):
    node = Speaker()
    for _round in range(6):
        row = desire(tenant, percent=50)
        results = race(
            node.say,
            lambda row=row: slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="enough"),
        )
        assert not [one for one in results if isinstance(one, Exception)], results
        row.refresh_from_db()
        asked = [
            one for one in results[0].desired if one.slice_uid == str(row.uid) and one.state == "running"
        ]
        assert not (asked and row.is_final), "the node was asked to run what had been released"
        if not row.is_final:
            node.say(slices=[report(row, "exited", reason_code="stopped")])
        held_is_true()


def test_work_comes_and_goes_on_several_devices_at_once(tenant):
    nodes = [Speaker(f"n{number}", devices=2) for number in range(2)]

    def life(node):
        try:
            for turn in range(8):
                rows = []
                for index in (turn % 2, 1 - turn % 2):
                    try:
                        rows.append(desire(tenant, f"{node.info.name}-d{index}", percent=60, mib=4000))
                    except Conflict:
                        continue
                node.say(slices=[report(row) for row in rows])
                node.say(slices=[report(row, "exited", reason_code="completed") for row in rows])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(life, [*nodes]))
    held_is_true()
    assert not Slice.objects.across().filter(final_at=None).exists()


def test_a_gang_that_fails_on_two_nodes_at_once_ends_once(tenant):
    """Both nodes report the end of their part of one workload at the same moment."""
    nodes = {name: Speaker(name) for name in ("n1", "n2")}
    queue_ensure(actor=SYSTEM)
    for _round in range(2):
        work = workload(tenant)
        assert cycle_run(actor=SYSTEM).placed == 1
        rows = list(Slice.objects.of(tenant).filter(workload_uid=work.uid).select_related("node"))
        assert {row.node.name for row in rows} == set(nodes)
        for row in rows:
            nodes[row.node.name].say()
            nodes[row.node.name].say(slices=[report(row)])
        says = []
        for row in rows:
            node = nodes[row.node.name]
            message = node.message(slices=[report(row, "failed", reason_code="crashed")])
            says.append(lambda node=node, message=message: persist(node, message))
        assert race(*says) == [200, 200]
        held_is_true()
        work.refresh_from_db()
        assert work.state == "failed"


def persist(node, message):
    """Send it again while the server is busy, as an agent does; the last status."""
    for _attempt in range(5):
        status = node.post(message).status_code
        if status != 503:
            break
        time.sleep(random.uniform(0.1, 0.5))
    return status


def workload(tenant):
    """A gang of two whole devices: one share on each node."""
    order_uid = uuid4()
    return workload_submit(
        actor=SYSTEM,
        tenant=tenant,
        order_uid=order_uid,
        order_no=f"O-{order_uid.hex[:8]}",
        name_en="Environment",
        name_zh="环境",
        ordered=OrderedWork(Amounts(2, 100, 100), WORK),
    )
