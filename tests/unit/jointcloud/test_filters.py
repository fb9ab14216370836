"""Which centres are no candidates, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.jointcloud.engine.reasons import Code, Reason, reason
from apps.jointcloud.engine.types import Data, Image, Settings
from tests.unit.jointcloud.networks import NOW, SPEC, centre, job, judged, planned, snapshot, task, where


def why(world, ask=None, name="a", **more) -> tuple[Reason, ...]:
    return judged(world, ask, **more).of(name).reasons


@pytest.mark.parametrize(
    ("changed", "why_not"),
    [
        ({"is_available": False}, reason(Code.UNAVAILABLE)),
        ({"seen_at_s": NOW - 181}, reason(Code.STALE, age_s=181, limit_s=180)),
        ({"is_drained": True}, reason(Code.DRAINED)),
        (
            {"failed_in_row": 3, "failed_at_s": NOW - 599},
            reason(Code.COOLING_OFF, failures=3, until_s=NOW + 1),
        ),
        ({"offers": ()}, reason(Code.NOT_OFFERED, spec="gpu1")),
    ],
)
def test_a_centre_that_cannot_be_used_is_told_why(changed, why_not):
    assert why(snapshot(centre("a", **changed))) == (why_not,)


def test_at_the_limits_a_centre_is_a_candidate():
    just = centre("a", seen_at_s=NOW - 180, failed_in_row=3, failed_at_s=NOW - 600)
    assert why(snapshot(just, centre("b", failed_in_row=2, failed_at_s=NOW))) == ()


@pytest.mark.req("PLAT-TEN-2")
def test_a_centre_takes_jobs_of_the_tenants_alone_that_it_serves():
    world = snapshot(centre("a", tenants=frozenset({"acme"})), centre("b", tenants=frozenset()), centre("c"))
    refused = (reason(Code.NOT_SERVED, tenant="globex"),)
    assert [why(world, name=name, tenant="globex") for name in "abc"] == [refused, refused, ()]
    assert [why(world, name=name, tenant="acme") for name in "ac"] == [(), ()]
    # In one cycle, too, where jobs that ask for the same follow each other.
    jobs = tuple(job(task(f"t-{each}"), name=each, tenant=each) for each in ("acme", "globex", "acme2"))
    only = snapshot(
        centre("a", tenants=frozenset({"acme"})), centre("b", tenants=frozenset({"globex"})), jobs=jobs
    )
    assert where(only) == {"t-acme": ("a",), "t-globex": ("b",)}
    # A try that is of nobody in particular is of every centre.
    assert [why(world, name=name) for name in "abc"] == [(), (), ()]


@pytest.mark.req("JC-6.6.1b", "JC-6.1.2-T3.4")
def test_the_specification_has_to_be_offered_for_the_type_of_job():
    world = snapshot(centre("a"))
    assert why(world, job_type="batch") == ()
    assert why(world, job_type="streaming") == (
        reason(Code.JOB_TYPE, spec="gpu1", job_type="streaming", supported="batch"),
    )
    assert why(world, task(spec_id="gpu9"))[0] == reason(Code.NOT_OFFERED, spec="gpu9")


def test_each_resource_that_lacks_is_named_with_its_figures():
    told = why(snapshot(centre("a", gpus=2)), task(replicas=3))
    assert told == (
        reason(Code.NO_ROOM, resource="gpu", needed=3, free=2),
        reason(Code.NO_ROOM, resource="memory", needed=3072, free=2048),
    )
    assert why(snapshot(centre("a", gpus=3)), task(replicas=3)) == ()


@pytest.mark.req("JC-6.2-1", "JC-6.2-T5.6")
def test_an_image_has_to_be_there_or_copyable_and_fit():
    here, there = frozenset("a"), frozenset("b")
    takes = centre("a", takes_images=True)

    def with_image(at, image):
        return why(snapshot(at, centre("b"), images=(image,)), task(image_id="i"))

    missing = (reason(Code.IMAGE_MISSING, image="i"),)
    assert with_image(centre("a"), Image("i", here)) == ()
    assert with_image(centre("a"), Image("i", there)) == missing
    assert with_image(takes, Image("i", there)) == ()
    assert with_image(takes, Image("i", there, is_copyable=False)) == missing
    assert with_image(takes, Image("i")) == missing
    assert with_image(takes, Image("other", here)) == missing
    unfit = (reason(Code.IMAGE_UNFIT, image="i", spec="gpu1"),)
    assert with_image(takes, Image("i", here, frozenset({"gpu2"}))) == unfit
    assert with_image(takes, Image("i", here, frozenset({"gpu1", "gpu2"}))) == ()


@pytest.mark.req("JC-6.6.1h")
def test_a_job_with_a_least_grade_never_goes_below_it():
    world = snapshot(
        centre("a", security_grade=2), centre("b", security_grade=None), centre("c", security_grade=3)
    )
    ask = task(min_security_grade=3)
    assert why(world, ask) == (reason(Code.SECURITY_GRADE, grade=2, least=3),)
    assert why(world, ask, "b") == (reason(Code.SECURITY_GRADE, grade=None, least=3),)
    assert why(world, ask, "c") == ()


@pytest.mark.req("JC-5f1", "JC-6.6.1a")
def test_a_named_centre_gets_the_job_or_refuses_it_with_a_reason():
    named = task(centre_ids=frozenset("b"))
    world = snapshot(centre("a", price=1), centre("b", price=900), jobs=(job(named),))
    assert why(world, named) == (reason(Code.NOT_NAMED, named="b"),)
    assert planned(world).bindings[0].centre_ids == ("b",)
    full = replace(world, centres=(centre("a"), centre("b", gpus=0)))
    assert planned(full).waiting[0].reasons == (
        reason(Code.NOT_NAMED, centres=1),
        reason(Code.NO_ROOM, centres=1),
    )


@pytest.mark.req("JC-5f7")
def test_private_and_big_data_stay_and_the_job_goes_there():
    here = frozenset("b")
    settings = Settings(move_bytes=1000)

    def told(data):
        world = snapshot(centre("a"), centre("b"), data=(data,), settings=settings)
        return why(world, task(data_ids=("d",)))

    assert told(Data("d", 1000, here)) == ()
    assert told(Data("d", 1001, here)) == (reason(Code.DATA_STAYS, data="d"),)
    assert told(Data("d", 1, here, is_private=True)) == (reason(Code.DATA_STAYS, data="d"),)
    assert told(Data("d", 1)) == (reason(Code.DATA_NOWHERE, data="d"),)
    assert told(Data("other", 1, here)) == (reason(Code.DATA_NOWHERE, data="d"),)
    world = snapshot(
        centre("a", price=1),
        centre("b", price=900),
        data=(Data("d", 1001, here),),
        settings=settings,
        jobs=(job(task(data_ids=("d",))),),
    )
    assert planned(world).bindings[0].centre_ids == ("b",)


def test_all_that_keeps_a_centre_out_is_told_in_one_order():
    world = snapshot(centre("a", is_available=False, is_drained=True, offers=(), security_grade=0, gpus=0))
    told = why(world, task(min_security_grade=1, centre_ids=frozenset("b"), refused_by=frozenset("a")))
    assert [each.code for each in told] == [
        Code.UNAVAILABLE,
        Code.DRAINED,
        Code.NOT_NAMED,
        Code.REFUSED_IT,
        Code.NOT_OFFERED,
        Code.SECURITY_GRADE,
        Code.NO_ROOM,
        Code.NO_ROOM,
    ]
    assert SPEC.id == told[4].get("spec")
