"""All tasks of a gang start together, whatever happens between a plan and the next."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.centers.models import Center, RemoteTask
from apps.centers.states import RemoteState, Wanted
from apps.jointcloud.models import Decision, Replica
from apps.jointcloud.services import placing
from apps.jointcloud.services.following import job_lost_replace, job_stop
from apps.jointcloud.services.submission import job_submit
from apps.jointcloud.states import DecisionKind, ReplicaState, WorkState
from apps.kernel.actor import SYSTEM
from tests.apps.jointcloud.jobs import TASK, asked, attempts, cycle, fresh, other, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(acme, member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def gang(alice, acme):
    """A gang of two tasks."""

    def make(**more):
        given = asked(TASK, other("check"), is_gang=True, **more)
        return job_submit(actor=alice.actor, tenant=acme, asked=given)

    return make


@pytest.mark.req("JC-6.6.1a")
def test_nothing_of_a_gang_starts_while_another_part_is_still_being_taken_back(gang, spec, centre):
    gpu1 = spec()
    centre("lake", gpu1)
    job = gang()
    cycle()
    centre("pond", gpu1)
    one, two = attempts(job)
    say(one, RemoteState.RUNNING)
    say(two, RemoteState.REFUSED, "full")
    assert cycle().placed == 0
    assert not attempts(job, attempt=2)
    say(one, RemoteState.STOPPED)
    assert cycle().placed == 2
    assert len(attempts(job, is_current=True, attempt=2)) == 2


@pytest.mark.req("JC-6.6.1a")
def test_a_gang_that_lacks_more_than_was_planned_waits_for_the_next_plan(gang, spec, centre, monkeypatch):
    centre("lake", spec())
    job = gang()
    planned = placing.plan

    def plan_of_less(snapshot, **more):
        found = planned(snapshot, **more)
        return found._replace(bindings=found.bindings[:1])

    monkeypatch.setattr(placing, "plan", plan_of_less)
    assert cycle().placed == 0
    assert not Replica.objects.exists()
    monkeypatch.undo()
    assert cycle().placed == 2
    assert len(attempts(job)) == 2


def test_a_gang_that_is_to_stop_is_not_taken_back_when_a_centre_is_lost(gang, spec, centre, alice, acme):
    gpu1 = spec()
    lake, pond = centre("lake", gpu1, used_gpu=7), centre("pond", gpu1, used_gpu=7)
    job = gang()
    cycle()
    rows = attempts(job)
    assert {row.ai_center_id for row in rows} == {"lake", "pond"}
    for row in rows:
        say(row, RemoteState.RUNNING)
    job_stop(actor=alice.actor, tenant=acme, job_id=job.job_id)
    Center.objects.filter(pk=pond.pk).update(answered_at=timezone.now())
    long_ago = timezone.now() - timedelta(seconds=lake.lost_after_s + 5)
    Center.objects.filter(pk=lake.pk).update(
        answered_at=long_ago, failing_since=long_ago, error_at=timezone.now()
    )
    job_lost_replace(actor=SYSTEM, job_id=job.job_id)
    (lost,) = attempts(job, ai_center_id="lake")
    (stays,) = attempts(job, ai_center_id="pond")
    assert (lost.state, stays.again) == (ReplicaState.LOST, False)
    assert not Decision.objects.filter(kind=DecisionKind.TAKEN_BACK).exists()
    assert RemoteTask.objects.get(key=stays.key).desired == Wanted.STOP
    say(stays, RemoteState.STOPPED)
    assert fresh(job).state == WorkState.STOPPED
