"""The plan is that of the plain loop, bit for bit, on small snapshots of every kind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.jointcloud.engine.bench.plain import plain_plan
from apps.jointcloud.engine.cycle import plan
from apps.jointcloud.engine.dispatch import Dispatching
from apps.jointcloud.engine.evaluate import evaluate
from apps.jointcloud.engine.policies.registry import POLICIES
from apps.jointcloud.engine.types import (
    Centre,
    Data,
    Image,
    Job,
    Network,
    Offer,
    Plan,
    Settings,
    Snapshot,
    Spec,
    Task,
    Weights,
)
from tests.examples import examples
from tests.unit.jointcloud.networks import NOW

NAMES = [f"c{i}" for i in range(6)]
SPECS = ["s0", "s1", "s2", "nothing", "unheard of"]
small = st.integers(0, 4)


def maybe(strategy):
    return st.none() | strategy


def some(names) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(names), max_size=4)


networks = st.builds(
    Network,
    st.sampled_from([1, 100, 1000, 10**9]),
    st.sampled_from([0, 500, 10**9]),
    small,
    st.sampled_from([0, 10, 10**6]),
)
offers = st.builds(Offer, st.sampled_from(SPECS), maybe(small), maybe(small), maybe(small), maybe(small))


@st.composite
def centres(draw, name: str) -> Centre:
    rows = draw(st.lists(offers, max_size=4, unique_by=lambda offer: offer.spec_id))
    return Centre(
        name,
        draw(st.sampled_from([NOW, NOW, NOW - 180, NOW - 181])),
        tuple(draw(st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(0, 12))).items()),
        (*rows, *(Offer(spec, 5) for spec in SPECS[:2] if spec not in {row.spec_id for row in rows})),
        is_available=draw(st.integers(0, 9)) > 0,
        is_drained=draw(st.integers(0, 9)) == 0,
        takes_images=draw(st.booleans()),
        running_tasks=draw(small),
        waiting_tasks=draw(small),
        security_grade=draw(maybe(small)),
        network=draw(maybe(networks)),
        expected_wait_s=draw(maybe(st.sampled_from([0, 50, 10**9]))),
        failed_in_row=draw(small),
        failed_at_s=NOW - draw(st.sampled_from([0, 599, 600])),
        tenants=draw(st.sampled_from([None, None, frozenset(), frozenset({"a"}), frozenset({"a", "b"})])),
    )


@st.composite
def weights(draw) -> Weights:
    names = draw(st.lists(st.sampled_from(list(POLICIES)), min_size=1, unique=True))
    cuts = sorted(draw(st.lists(st.integers(0, 1000), min_size=len(names) - 1, max_size=len(names) - 1)))
    return tuple(zip(names, (b - a for a, b in zip([0, *cuts], [*cuts, 1000], strict=True)), strict=True))


tasks = st.builds(
    Task,
    st.just("t"),
    st.sampled_from([*SPECS[:3], *SPECS]),
    maybe(st.sampled_from(["i0", "i1", "i9"])),
    st.lists(st.sampled_from(["d0", "d0", "d1", "d2"]), max_size=2).map(tuple),
    st.integers(1, 3),
    small.map(lambda grade: max(0, grade - 2)),
    st.just(frozenset[str]()) | some(NAMES),
    st.just(frozenset[str]()) | some(NAMES),
    maybe(st.sampled_from([0, 10, 10**9])),
    maybe(st.sampled_from([0, NOW, NOW + 60, 10**12])),
    maybe(st.sampled_from([1, 600, 10**9])),
    st.booleans(),
)


@st.composite
def snapshots(draw) -> Snapshot:
    rows = tuple(draw(centres(name)) for name in NAMES[: draw(st.integers(1, 6))])
    kinds = draw(st.lists(tasks, min_size=1, max_size=3))
    jobs = []
    for number in range(draw(st.integers(1, 6))):
        chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
        jobs.append(
            Job(
                f"j{number}",
                tuple(replace(task, id=f"t{number}-{i}") for i, task in enumerate(chosen)),
                draw(st.integers(0, 1)),
                draw(st.integers(0, 1)),
                number,
                draw(st.integers(0, 3)) == 0,
                draw(st.booleans()),
                draw(st.sampled_from(["", "batch", "batch", "streaming"])),
                tuple(draw(st.lists(st.sampled_from([*NAMES, "gone"]), max_size=2))),
                draw(maybe(weights())),
                draw(st.sampled_from(["", "a", "a", "b"])),
            )
        )
    return Snapshot(
        rows,
        (
            Spec("s0", (("gpu", 1),), frozenset(), 3, 7),
            Spec("s1", (("cpu", 2), ("gpu", 0)), frozenset({"batch"}), None, 5),
            Spec("s2", (("cpu", 1), ("gpu", 2))),
            Spec("nothing"),
        ),
        (
            Image("i0", draw(some(NAMES))),
            Image("i1", draw(some(NAMES)), frozenset({"s0"}), draw(st.booleans())),
        ),
        (
            Data("d0", draw(st.sampled_from([0, 10**6, 10**15])), draw(some(NAMES))),
            Data("d1", 10**9, draw(some(NAMES)), draw(st.booleans())),
        ),
        tuple(jobs),
        tuple((a, b, draw(small)) for i, a in enumerate(NAMES) for b in NAMES[:i] if draw(st.integers(0, 5))),
        Settings(weights=draw(weights()), move_bytes=draw(st.sampled_from([10**9, 10**15]))),
    )


@pytest.mark.req("JC-6.6-1")
@settings(max_examples=examples(200), deadline=None)
@given(snapshots())
def test_the_plan_is_that_of_the_plain_loop(world: Snapshot):
    assert plan(world, now=NOW, seed=1) == plain_plan(world, now=NOW, seed=1)


@settings(max_examples=examples(40), deadline=None)
@given(snapshots(), st.integers(10, 40))
def test_it_is_also_where_many_tasks_of_a_kind_follow_each_other(world: Snapshot, times: int):
    jobs = tuple(
        replace(job, tasks=tuple(replace(job.tasks[0], id=f"{job.id}-{i}") for i in range(times)))
        for job in world.jobs
    )
    roomy = tuple(
        replace(row, free=tuple((name, 10 * free) for name, free in row.free)) for row in world.centres
    )
    world = replace(world, jobs=jobs, centres=roomy)
    assert plan(world, now=NOW, seed=1) == plain_plan(world, now=NOW, seed=1)


@settings(max_examples=examples(60), deadline=None)
@given(snapshots())
def test_the_evaluation_chooses_what_the_cycle_binds_first(world: Snapshot):
    made = plan(world, now=NOW, seed=1)
    job = min(world.jobs, key=lambda job: (-job.priority, job.submitted_at_s, job.submitted_seq))
    task = replace(job.tasks[0], may_split=False)
    told = evaluate(world, job, task, now=NOW)
    alone = plan(replace(world, jobs=(replace(job, tasks=(task,), is_gang=False),)), now=NOW, seed=1)
    chosen = told.chosen
    best = [(chosen.centre_id, chosen.final)] if chosen else []
    assert best == [(binding.centre_ids[0], binding.score) for binding in alone.bindings]
    assert made.bindings or made.waiting
    assert {each.centre_id for each in told.centres} == {row.id for row in world.centres}
    assert all(bool(each.reasons) != bool(each.rank) for each in told.centres)


@settings(max_examples=examples(60), deadline=None)
@given(snapshots(), st.data())
def test_no_centre_has_more_than_it_has_room_for_whatever_is_refused(world: Snapshot, data):
    made = plan(world, now=NOW, seed=1)
    bound = {binding.task_id: binding for binding in made.bindings}
    work = Dispatching(world, made)
    for _ in range(4):
        if not bound:
            break
        task_id = data.draw(st.sampled_from(sorted(bound)))
        after = work.refused(task_id, data.draw(st.sampled_from(bound.pop(task_id).centre_ids)))
        if after.instead:
            bound[task_id] = after.instead
        for each in after.take_back:
            del bound[each.task_id]
        within(world, made._replace(bindings=tuple(bound.values())))


def within(world: Snapshot, made: Plan) -> None:
    """Whatever is bound is there, and gangs are whole."""
    specs = {spec.id: spec for spec in world.specs}
    tasks_of = {task.id: task for job in world.jobs for task in job.tasks}
    for row in world.centres:
        free = dict(row.free)
        for binding in made.bindings:
            for name, amount in specs[tasks_of[binding.task_id].spec_id].amounts:
                free[name] = free.get(name, 0) - amount * binding.centre_ids.count(row.id)
        assert min(free.values(), default=0) >= 0
    for job in world.jobs:
        count = sum(binding.job_id == job.id for binding in made.bindings)
        assert not job.is_gang or count in (0, len(job.tasks))
