"""From the database to what the engine decides upon: whole numbers, and as many queries for many centres as for one."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.centers.states import CenterStatus
from apps.jointcloud.engine.check import snapshot_check
from apps.jointcloud.engine.cycle import plan
from apps.jointcloud.engine.evaluate import evaluate
from apps.jointcloud.engine.reasons import Code
from apps.jointcloud.engine.types import Job, Offer, Settings, Task
from apps.jointcloud.models import JointcloudSettings
from apps.jointcloud.selectors.snapshot import Failures, Sent, snapshot_now

pytestmark = pytest.mark.django_db


def now_s():
    return int(timezone.now().timestamp())


def job(*tasks, name="j"):
    return Job(name, tasks or (Task("t", "gpu1"),), job_type="batch")


@pytest.mark.req("JC-6.1.2-1", "JC-6.6.1b", "JC-6.6.1d", "JC-6.6.1e", "JC-6.6.1g", "JC-6.6.1h")
def test_what_the_database_holds_is_what_the_engine_reads(spec, centre):
    small, big = spec(), spec("big", gpu=4, memory_mb=0, storage_gb=10, service_type="batch,streaming")
    figures = {"performance": 1.2345, "idle_power_w": 49.5, "running_power_w": 300.4}
    lake = centre(
        "lake", small, big, used_gpu=3, running=7, prices={"gpu1": 450}, offer=figures, security_grade=4
    )
    centre("hill", is_drained=True, status=CenterStatus.UNKNOWN)
    found = snapshot_now()
    snapshot_check(found)
    hill, told = found.centres
    assert (hill.id, hill.is_available, hill.is_drained, hill.offers) == ("hill", False, True, ())
    assert told.seen_at_s == int(lake.sample.answered_at.timestamp())
    assert (told.running_tasks, told.waiting_tasks, told.security_grade) == (7, 1, 4)
    assert dict(told.free) | {"cpu": 0} == {
        "cpu": 0, "gpu": 5, "npu": 0, "mlu": 0, "memory": 65_536, "storage": 0, "user_define": 0,
    }  # fmt: skip
    # Performance in thousandths, power to the nearest watt; a price of its own, or else the specification's.
    assert set(told.offers) == {Offer("gpu1", 450, 1235, 50, 300), Offer("big", 500, 1235, 50, 300)}
    held = {each.id: each for each in found.specs}
    assert dict(held["big"].amounts) == {"gpu": 4, "storage": 10}
    assert held["big"].job_types == {"batch", "streaming"}
    assert found.settings == Settings()


@pytest.mark.req("JC-6.6-1")
def test_a_plan_follows_from_the_database_alone(spec, centre):
    one = spec()
    centre("dear", one, prices={"gpu1": 900})
    centre("cheap", one, prices={"gpu1": 100})
    found = plan(snapshot_now([job()]), now=now_s(), seed=0)
    assert [binding.centre_ids for binding in found.bindings] == [("cheap",)]


def test_a_centre_without_an_answer_is_there_and_refused(spec, centre):
    one = spec()
    row = centre("mute", one)
    row.sample.delete()
    snapshot = snapshot_now()
    standing = evaluate(snapshot, job(), job().tasks[0], now=now_s()).of("mute")
    assert Code.UNAVAILABLE in {reason.code for reason in standing.reasons}
    assert Code.STALE not in {reason.code for reason in standing.reasons}


def test_the_last_settings_are_in_force(spec, centre):
    one = spec()
    centre("lake", one, age_s=100)
    JointcloudSettings.objects.create(number=1, weights=[["load", 1000]], stale_s=60)
    JointcloudSettings.objects.create(number=2, weights=[["price", 400], ["load", 600]], stale_s=90)
    found = snapshot_now()
    assert (found.settings.weights, found.settings.stale_s) == ((("price", 400), ("load", 600)), 90)
    standing = evaluate(found, job(), job().tasks[0], now=now_s()).of("lake")
    assert [reason.code for reason in standing.reasons] == [Code.STALE]
    own = snapshot_now(settings=Settings(stale_s=3600))
    assert evaluate(own, job(), job().tasks[0], now=now_s()).chosen is not None


def test_what_was_sent_since_the_last_answer_is_taken_already(spec, centre):
    one = spec()
    lake = centre("lake", one, used_gpu=4)
    asked_at = lake.sample.asked_at
    before, after = asked_at - timedelta(seconds=1), asked_at + timedelta(seconds=1)
    sent = [
        Sent("lake", "gpu1", 3, after),
        Sent("lake", "gpu1", 2, before),
        Sent("gone", "gpu1", 2, after),
        Sent("lake", "gone", 2, after),
    ]
    told = snapshot_now(sent=sent).centres[0]
    assert (dict(told.free)["gpu"], dict(told.free)["memory"], told.waiting_tasks) == (
        1,
        65_536 - 3 * 1024,
        4,
    )
    # More than there is leaves nothing, never less.
    assert dict(snapshot_now(sent=[Sent("lake", "gpu1", 9, after)]).centres[0].free)["gpu"] == 0


def test_a_centre_that_failed_rests(spec, centre):
    centre("lake", spec())
    failures = {"lake": Failures(3, timezone.now())}
    found = evaluate(snapshot_now(failures=failures), job(), job().tasks[0], now=now_s())
    assert [reason.code for reason in found.of("lake").reasons] == [Code.COOLING_OFF]


@pytest.mark.req("JC-6.6.2c")
def test_distances_are_kilometres_on_the_surface_of_the_earth(spec, centre):
    one = spec()
    centre("hangzhou", one, longitude=120.15, latitude=30.28)
    centre("beijing", one, longitude=116.40, latitude=39.90)
    centre("nowhere", one)
    pair = job(Task("a", "gpu1"), Task("b", "gpu1"))
    ((left, right, km),) = snapshot_now([pair]).distances
    assert {left, right} == {"beijing", "hangzhou"}
    # By the great circle, about 1123 km.
    assert 1110 < km < 1135
    # A job of one replica has nothing to be near to.
    assert snapshot_now([job()]).distances == ()


def test_many_centres_take_no_more_queries_than_one(spec, centre, django_assert_num_queries):
    one = spec()
    centre("c0", one)
    with django_assert_num_queries(5):
        snapshot_now([job()])
    two = spec("gpu2")
    for i in range(1, 20):
        centre(f"c{i}", one, two)
    with django_assert_num_queries(5):
        found = snapshot_now([job()])
    assert len(found.centres) == 20
