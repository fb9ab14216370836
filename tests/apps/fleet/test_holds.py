"""What is held of a device never exceeds what it has, however many ask at once (ELA-109)."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection, transaction

from apps.fleet.errors import DeviceBusy, DeviceUnavailable
from apps.fleet.models import Device, Slice
from apps.fleet.services.device_capacity import device_hold, device_release
from apps.fleet.services.nodes.devices import (
    device_disable,
    device_enable,
    device_oversubscribe,
    device_slicing_set,
)
from apps.fleet.services.nodes.membership import node_drain, node_undrain
from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from tests.apps.fleet.agent import Agent, desire, fresh, held


def hold(percent=10, mib=100, exclusive=False):
    device_hold(
        actor=SYSTEM, device_uid="n1-d0", compute_percent=percent, memory_mib=mib, exclusive=exclusive
    )


def release(percent=10, mib=100, exclusive=False):
    device_release(
        actor=SYSTEM, device_uid="n1-d0", compute_percent=percent, memory_mib=mib, exclusive=exclusive
    )


@pytest.mark.req("ELA-109", "ELA-205", "ELA-206")
def test_shares_are_held_to_the_percent_and_the_mebibyte(node):
    hold(60, 8000)
    hold(40, 192)
    assert held() == (100, 8192, False)
    with pytest.raises(DeviceUnavailable, match=r"0 % and 0 MiB left, 1 % and 1 MiB"):
        hold(1, 1)
    release(60, 8000)
    assert held() == (40, 192, False)
    with pytest.raises(DeviceUnavailable):
        hold(61, 1)
    with pytest.raises(DeviceUnavailable):
        hold(1, 8001)
    assert held() == (40, 192, False)


def test_what_is_not_held_cannot_be_given_back(node):
    hold(10, 100)
    for wrong in ((11, 100, False), (10, 101, False), (10, 100, True)):
        with pytest.raises(Conflict):
            release(*wrong)
    assert held() == (10, 100, False)


@pytest.mark.req("POOL-12.15")
def test_whole_requests_get_physical_cards_and_shares_virtual_ones(node):
    hold(1, 1)
    with pytest.raises(DeviceUnavailable, match="virtualised"):
        hold(100, 100, exclusive=True)
    with pytest.raises(DeviceBusy, match="1 % and 1 MiB"):
        device_slicing_set(actor=SYSTEM, device_uid="n1-d0", is_sliced=False)
    release(1, 1)
    device_slicing_set(actor=SYSTEM, device_uid="n1-d0", is_sliced=False)
    with pytest.raises(DeviceUnavailable, match="physical card"):
        hold(1, 1)
    hold(100, 100, exclusive=True)
    assert held() == (100, 100, True)
    with pytest.raises(DeviceUnavailable, match="free as a whole"):
        hold(100, 100, exclusive=True)
    with pytest.raises(DeviceBusy):
        device_slicing_set(actor=SYSTEM, device_uid="n1-d0", is_sliced=True)
    release(100, 100, exclusive=True)
    device_slicing_set(actor=SYSTEM, device_uid="n1-d0", is_sliced=True)
    hold(1, 1)


@pytest.mark.req("POOL-12.15")
def test_the_database_keeps_the_two_classes_apart(node):
    rows = Device.objects.filter(uid="n1-d0")
    for wrong in ({"whole_held": True}, {"is_sliced": False, "held_percent": 1}):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.update(**wrong)


@pytest.mark.parametrize(("percent", "mib"), [(0, 1), (101, 1), (-1, 1), (1, 0), (1, -5), (1, 2**50)])
def test_absurd_shares_are_refused(node, percent, mib):
    with pytest.raises(InvalidInput):
        hold(percent, mib)
    assert held() == (0, 0, False)


def test_a_device_out_of_service_is_not_held(node):
    with pytest.raises(NotFound):
        device_hold(actor=SYSTEM, device_uid="nobody", compute_percent=1, memory_mib=1)
    device_disable(actor=SYSTEM, device_uid="n1-d0")
    with pytest.raises(DeviceUnavailable, match="disabled"):
        hold()
    device_enable(actor=SYSTEM, device_uid="n1-d0")
    node_drain(actor=SYSTEM, node_uid=node.uid)
    with pytest.raises(DeviceUnavailable, match="not ready"):
        hold()
    node_undrain(actor=SYSTEM, node_uid=node.uid)
    Device.objects.update(health="degraded", health_reason="it is hot")
    with pytest.raises(DeviceUnavailable, match="it is hot"):
        hold()
    assert held() == (0, 0, False)


def test_oversubscription_sells_compute_more_than_once_and_not_less_than_is_held(node):
    hold(100, 100)
    device_oversubscribe(actor=SYSTEM, device_uid="n1-d0", compute_permille=1505)
    hold(50, 100)
    with pytest.raises(DeviceUnavailable):
        hold(1, 1)
    with pytest.raises(Conflict, match="More of the device is held"):
        device_oversubscribe(actor=SYSTEM, device_uid="n1-d0", compute_permille=1000)
    with pytest.raises(InvalidInput):
        device_oversubscribe(actor=SYSTEM, device_uid="n1-d0", compute_permille=999)
    assert held() == (150, 200, False)


@pytest.mark.parametrize("change", [{"held_percent": 101}, {"held_mib": 8193}, {"held_percent": -1}])
def test_the_database_itself_refuses_too_much(node, change):
    with pytest.raises(IntegrityError), transaction.atomic():
        Device.objects.update(**change)


@pytest.mark.req("ELA-109", "ELA-203")
def test_of_many_who_want_the_last_share_exactly_one_gets_it(committed, acme, globex):
    Agent()
    desire(acme, percent=75, mib=8000)

    def ask(number):
        try:
            desire((acme, globex)[number % 2], percent=25, mib=150)
            return 1
        except DeviceUnavailable:
            return 0
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        won = sum(pool.map(ask, range(16)))
    assert won == 1
    assert held() == (100, 8150, False)
    assert Slice.plain.count() == 2


def test_holds_and_releases_in_parallel_leave_nothing_behind(committed, acme):
    Agent()

    def turn(number):
        try:
            for _ in range(5):
                row = desire(acme, percent=10, mib=100)
                slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="done")
            return True
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(turn, range(6)))
    assert held() == (0, 0, False)
    assert set(Slice.plain.values_list("state", flat=True)) == {"released"}


@pytest.mark.req("ELA-406")
def test_a_slice_stopped_by_many_gives_its_share_back_once(committed, acme):
    Agent()
    desire(acme, percent=30, mib=100)
    row = desire(acme, percent=20, mib=100)

    def stop(_):
        try:
            slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="done")
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(stop, range(6)))
    assert fresh(row).state == "released"
    assert held() == (30, 100, False)


def test_work_that_no_node_could_run_is_refused_and_holds_nothing(node, acme):
    for work in ({"argv": []}, {"argv": [""]}, {"argv": ["x"], "env": {"1bad": "x"}}, {"argv": "x\0"}, {}):
        with pytest.raises(InvalidInput):
            desire(acme, work=work)
    with pytest.raises(InvalidInput):
        desire(acme, run_timeout_s=0)
    assert held() == (0, 0, False)
    assert not Slice.plain.exists()
