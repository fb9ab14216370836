"""A cycle: order, gangs, splitting, and what follows a refusal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.jointcloud.engine.dispatch import Dispatching
from apps.jointcloud.engine.reasons import BadInput, Code, Fault, Finding, reason
from apps.jointcloud.engine.types import Binding
from tests.unit.jointcloud.networks import NOW, alone, centre, job, planned, snapshot, task, where

LOAD, PRICE = alone("load"), alone("price")


@pytest.mark.req("JC-5f2", "JC-6.5-4")
def test_the_order_is_priority_then_first_come():
    jobs = (
        job(task("late"), name="1", submitted_at_s=9),
        job(task("second"), name="2", submitted_at_s=8, submitted_seq=2),
        job(task("first"), name="3", submitted_at_s=8, submitted_seq=1),
        job(task("urgent"), name="4", submitted_at_s=99, priority=1),
    )
    made = planned(snapshot(centre("a", gpus=3), jobs=jobs))
    assert [binding.task_id for binding in made.bindings] == ["urgent", "first", "second"]
    assert [(waiting.task_id, waiting.reasons) for waiting in made.waiting] == [
        ("late", (reason(Code.NO_ROOM, centres=1),))
    ]


@pytest.mark.req("JC-6.5-1")
def test_the_tasks_of_a_job_may_go_to_several_centres():
    world = snapshot(centre("a"), centre("b"), weights=LOAD, jobs=(job(task("t1"), task("t2"), task("t3")),))
    assert where(world) == {"t1": ("a",), "t2": ("b",), "t3": ("a",)}


def test_what_is_bound_leaves_less_room_for_the_next():
    world = snapshot(centre("a", gpus=2, price=1), centre("b", gpus=1, price=2), weights=PRICE)
    world = replace(world, jobs=(job(*(task(f"t{i}") for i in range(4))),))
    assert where(world) == {"t0": ("a",), "t1": ("a",), "t2": ("b",)}


@pytest.mark.req("JC-6.6.1a")
def test_of_a_gang_all_tasks_are_bound_or_none_and_its_room_is_free_for_others():
    gang = job(task("g1"), task("g2"), task("g3"), name="gang", is_gang=True, priority=1)
    world = snapshot(centre("a", gpus=2), jobs=(gang, job(task("other"), name="other")))
    made = planned(world)
    assert [binding.task_id for binding in made.bindings] == ["other"]
    incomplete = (reason(Finding.GANG_INCOMPLETE, task="g3"),)
    assert [(waiting.task_id, waiting.reasons) for waiting in made.waiting] == [
        ("g1", incomplete),
        ("g2", incomplete),
        ("g3", (reason(Code.NO_ROOM, centres=1),)),
    ]
    assert len(planned(replace(world, centres=(centre("a", gpus=3),))).bindings) == 3


def test_replicas_stay_together_unless_they_may_split():
    centres = (centre("a", gpus=2, price=1), centre("b", gpus=1, price=2), centre("c", gpus=1, price=3))
    whole = snapshot(*centres, weights=PRICE, jobs=(job(task(replicas=3)),))
    assert where(whole) == {}
    split = replace(whole, jobs=(job(task(replicas=3, may_split=True)),))
    assert where(split) == {"t": ("a", "a", "b")}
    assert where(replace(whole, jobs=(job(task(replicas=5, may_split=True)), job(task("u"), name="u")))) == {
        "u": ("a",)
    }


@pytest.mark.req("JC-6.5-2")
def test_a_centre_that_joins_gets_work_and_one_that_leaves_gets_none():
    world = snapshot(centre("a", price=2), weights=PRICE, jobs=(job(),))
    assert where(world) == {"t": ("a",)}
    joined = replace(world, centres=(*world.centres, centre("b", price=1)))
    assert where(joined) == {"t": ("b",)}
    assert where(replace(joined, centres=world.centres)) == {"t": ("a",)}


def test_a_refused_dispatch_goes_to_the_next_best_centre_in_the_same_cycle():
    world = snapshot(
        centre("a", price=1), centre("b", gpus=1, price=2), centre("c", price=3), weights=PRICE,
        jobs=(job(task("t")), job(task("u", centre_ids=frozenset("b")), name="k", priority=1)),
    )  # fmt: skip
    made = planned(world)
    assert {binding.task_id: binding.centre_ids for binding in made.bindings} == {"u": ("b",), "t": ("a",)}
    work = Dispatching(world, made)
    after = work.refused("t", "a")
    # b is full by this plan.
    assert after.instead == Binding("j", "t", ("c",), 100)
    assert after.take_back == ()
    again = work.refused("t", "c")
    assert again.instead is None
    assert again.why_waiting == (reason(Code.REFUSED_IT, centres=2), reason(Code.NO_ROOM, centres=1))
    with pytest.raises(BadInput) as fault:
        work.refused("t", "c")
    assert fault.value.reason.code is Fault.TASK_UNKNOWN


@pytest.mark.req("JC-6.6.1a")
def test_a_gang_one_of_whose_tasks_nobody_takes_is_taken_back():
    gang = job(
        task("g1", centre_ids=frozenset("a")), task("g2", centre_ids=frozenset("bc")), name="g", is_gang=True
    )
    world = snapshot(centre("a"), centre("b", price=1), centre("c", price=2), weights=PRICE, jobs=(gang,))
    work = Dispatching(world, planned(world))
    assert work.refused("g2", "b").instead == Binding("g", "g2", ("c",), 100)
    after = work.refused("g2", "c")
    assert after.instead is None
    assert [binding.task_id for binding in after.take_back] == ["g1"]
    with pytest.raises(BadInput):
        work.refused("g1", "a")


def test_one_replica_refused_places_all_of_the_task_anew():
    world = snapshot(
        centre("a", gpus=1),
        centre("b", gpus=1),
        centre("c", gpus=1),
        jobs=(job(task(replicas=2, may_split=True)),),
    )
    made = planned(world)
    first, second = made.bindings[0].centre_ids
    after = Dispatching(world, made).refused("t", second)
    assert after.instead is not None
    assert second not in after.instead.centre_ids
    assert first in after.instead.centre_ids
    assert after.take_back == (), "what stays where it is goes on"


@pytest.mark.parametrize("is_gang", [False, True])
def test_a_refused_task_that_waits_leaves_no_replica_behind(is_gang):
    split = job(task(replicas=2, may_split=True), task("u"), is_gang=is_gang)
    world = snapshot(centre("a", gpus=1), centre("b", gpus=1), centre("c", gpus=1), jobs=(split,))
    made = planned(world)
    by_task = {binding.task_id: binding for binding in made.bindings}
    first, second = by_task["t"].centre_ids
    after = Dispatching(world, made).refused("t", second)
    assert after.instead is None
    rest = (by_task["u"],) if is_gang else ()
    assert after.take_back == (by_task["t"]._replace(centre_ids=(first,)), *rest)


def test_the_same_snapshot_gives_the_same_plan_whatever_its_order():
    centres = (centre("a"), centre("b"), centre("c", price=1))
    jobs = tuple(job(task(f"t{i}"), name=f"j{i}") for i in range(9))
    one = planned(snapshot(*centres, jobs=jobs))
    assert planned(snapshot(*reversed(centres), jobs=jobs[::-1])) == one
    assert (one.now, one.seed) == (NOW, 1)


def test_an_empty_network_is_no_fault():
    assert planned(snapshot(jobs=(job(),))).waiting[0].reasons == ()
    assert planned(snapshot(centre("a"))).bindings == ()
