"""A running slice gets another share of its device; hold, wish and what is believed of its usage follow."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone

from apps.fleet import events
from apps.fleet.errors import DeviceUnavailable
from apps.fleet.models import Slice
from apps.fleet.services.nodes.devices import device_disable, device_oversubscribe, device_slicing_set
from apps.fleet.services.slices.slice_lifecycle import slice_resize, slice_stop
from apps.fleet.services.slices.slice_termination import slices_end_now
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from tests.apps.fleet.agent import Agent, desire, fresh, held, report, usage

pytestmark = pytest.mark.req("POOL-12.2")


def resize(row, percent, mib):
    return slice_resize(actor=SYSTEM, slice_uid=row.uid, compute_percent=percent, memory_mib=mib)


def held_to(row, generation, percent, mib, **more):
    """A report of what the node holds the slice to."""
    return report(row, generation=generation, compute_percent=percent, memory_mib=mib, **more)


def test_a_share_grows_and_shrinks_and_the_node_is_told(node, acme, heard):
    row = desire(acme, percent=20, mib=1024)
    node.sync(slices=[report(row)])
    resize(row, 21, 1025)
    assert held() == (21, 1025, False)
    (wish,) = node.sync(slices=[report(row)]).desired
    assert (wish.generation, wish.compute_percent, wish.memory_mib) == (2, 21, 1025)
    resize(row, 1, 1)
    node.sync(slices=[held_to(row, 3, 1, 1)])
    assert held() == (1, 1, False)
    resized = heard(events.SliceResized)
    assert [(one.compute_percent, one.memory_mib) for one in resized] == [(21, 1025), (1, 1)]
    slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="")
    node.sync(slices=[report(row, "exited", generation=4)])
    assert held() == (0, 0, False)


def test_growing_is_refused_with_the_figures_and_nothing_changes(node, acme):
    row = desire(acme, percent=20, mib=1024)
    desire(acme, percent=70, mib=1024)
    with pytest.raises(DeviceUnavailable, match="10 % and 6144 MiB left, 11 % and 0 MiB are asked"):
        resize(row, 31, 1024)
    with pytest.raises(DeviceUnavailable, match="6145 MiB are asked"):
        resize(row, 10, 1024 + 6145)
    assert held() == (90, 2048, False)
    assert (fresh(row).compute_percent, fresh(row).generation) == (20, 1)
    resize(row, 30, 1024 + 6144)
    assert held() == (100, 8192, False)


def test_memory_in_use_is_not_given_back_as_if_it_were_free(node, acme):
    """Its node would go on giving all of the old share, compute too, while others are promised it."""
    row = desire(acme, percent=20, mib=1024)
    node.sync(slices=[report(row, memory_used_mib=600)])
    with pytest.raises(Conflict, match="600 MiB are in use, 599 MiB are asked"):
        resize(row, 1, 599)
    assert held() == (20, 1024, False)
    assert (fresh(row).compute_percent, fresh(row).generation) == (20, 1)
    resize(row, 1, 600)
    node.sync(slices=[held_to(row, 2, 1, 600)])
    assert held() == (1, 600, False)


def test_what_a_share_gives_up_is_free_only_when_its_node_has_taken_it_away(node, acme, heard):
    row = desire(acme, percent=60, mib=4096)
    node.sync(slices=[held_to(row, 1, 60, 4096)])
    resize(row, 10, 1024)
    assert held() == (60, 4096, False)
    with pytest.raises(DeviceUnavailable, match="40 % and 4096 MiB left"):
        desire(acme, percent=50, mib=1024)
    # It was told and has not done it yet; then the work did not let go of its memory.
    node.sync(slices=[held_to(row, 1, 60, 4096)])
    node.sync(slices=[held_to(row, 2, 60, 4096, reason="not resized: 2048 MiB are in use")])
    assert (held(), heard(events.SliceShrunk)) == ((60, 4096, False), [])
    node.sync(slices=[held_to(row, 2, 10, 1024)])
    assert held() == (10, 1024, False)
    node.sync(slices=[held_to(row, 2, 10, 1024)])
    assert (held(), len(heard(events.SliceShrunk))) == ((10, 1024, False), 1)
    desire(acme, percent=90, mib=7168)


def test_an_answer_to_an_earlier_shrink_frees_nothing(node, acme):
    row = desire(acme, percent=60, mib=1024)
    node.sync(slices=[held_to(row, 1, 60, 1024)])
    for percent in (10, 30, 10):
        resize(row, percent, 1024)
    node.sync(slices=[held_to(row, 2, 10, 1024)])
    assert held() == (60, 1024, False)
    node.sync(slices=[held_to(row, 4, 10, 1024)])
    assert held() == (10, 1024, False)


def test_growing_back_needs_no_room_while_it_is_still_held(node, acme, heard):
    row = desire(acme, percent=60, mib=1024)
    node.sync(slices=[held_to(row, 1, 60, 1024)])
    resize(row, 10, 1024)
    desire(acme, percent=40, mib=1024)
    resize(row, 60, 1024)
    assert held() == (100, 2048, False)
    with pytest.raises(DeviceUnavailable, match="0 % and 6144 MiB left, 1 %"):
        resize(row, 61, 1024)
    node.sync(slices=[held_to(row, 3, 60, 1024)])
    assert (held(), heard(events.SliceShrunk)) == ((100, 2048, False), [])


@pytest.mark.parametrize("ends", ["exited", "lost"])
def test_a_share_that_ends_while_it_shrinks_gives_all_back_once(node, acme, heard, ends):
    row = desire(acme, percent=60, mib=1024)
    node.sync(slices=[held_to(row, 1, 60, 1024)])
    resize(row, 10, 512)
    if ends == "exited":
        node.sync(slices=[held_to(row, 2, 60, 1024, state="exited")])
    else:
        slices_end_now([fresh(row)], "lost", actor=SYSTEM, now=timezone.now(), reason_code="lost", reason="")
    assert held() == (0, 0, False)
    assert len(heard(events.SliceShrunk)) == 1


def test_a_share_that_no_node_was_told_of_shrinks_at_once(node, acme):
    row = desire(acme, percent=60, mib=1024)
    resize(row, 10, 512)
    assert held() == (10, 512, False)


def test_a_disabled_device_only_lets_shares_shrink(node, acme):
    row = desire(acme)
    device_disable(actor=SYSTEM, device_uid="n1-d0")
    with pytest.raises(DeviceUnavailable, match="disabled"):
        resize(row, 21, 1024)
    assert resize(row, 19, 1023).compute_percent == 19


def test_absurd_and_impossible_resizes_are_refused(node, acme):
    row = desire(acme)
    for wrong in ((0, 1024), (101, 1024), (20, 0)):
        with pytest.raises(InvalidInput):
            resize(row, *wrong)
    slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="")
    with pytest.raises(Conflict, match="ended"):
        resize(row, 30, 1024)
    device_slicing_set(actor=SYSTEM, device_uid="n1-d0", is_sliced=False)
    whole = desire(acme, percent=100, mib=8192, exclusive=True)
    with pytest.raises(Conflict, match="whole card"):
        resize(whole, 30, 1024)
    with pytest.raises(NotFound):
        slice_resize(
            actor=SYSTEM, slice_uid="00000000-0000-0000-0000-000000000000", compute_percent=1, memory_mib=1
        )


def test_the_same_share_again_changes_nothing(node, acme, heard):
    row = desire(acme)
    resize(row, 20, 1024)
    assert fresh(row).generation == 1
    assert heard(events.SliceResized) == []


def test_usage_of_before_it_shrank_is_still_believed(node, acme, heard):
    row = desire(acme, percent=50)
    node.sync(slices=[report(row)])
    resize(row, 10, 1024)
    before, after = usage(row, 1), usage(row, 2, compute_percent=10)
    node.sync(slices=[report(row, last_usage_seq=2)], usage=[before, after])
    (observed,) = heard(events.UsageObserved)
    assert [one["compute_percent"] for one in observed.reports] == [50, 10]
    node.sync(usage=[usage(row, 3, compute_percent=51)])
    assert len(heard(events.UsageDoubted)) == 1


@pytest.mark.req("POOL-12.5")
def test_the_node_is_told_how_much_of_its_device_may_be_held(node, acme):
    row = desire(acme)
    node.sync(slices=[report(row)])
    device_oversubscribe(actor=SYSTEM, device_uid="n1-d0", compute_permille=2000, memory_permille=1500)
    (wish,) = node.sync(slices=[report(row)]).desired
    assert (wish.generation, wish.device_percent, wish.device_memory_mib) == (2, 200, 12288)


def test_of_many_who_grow_at_once_none_gets_what_is_not_there(committed, acme):
    Agent()
    rows = [desire(acme, percent=10, mib=10) for _ in range(5)]

    def grow(row):
        try:
            return bool(resize(row, 30, 10))
        except DeviceUnavailable:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(5) as pool:
        won = sum(pool.map(grow, rows))
    assert won == 2
    assert held() == (90, 50, False)
    assert sum(Slice.plain.values_list("compute_percent", flat=True)) == 90
