"""A job is submitted, its replicas go to centres, it follows what these say, and is stopped."""

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from apps.centers.errors import ResourceSpecInUse
from apps.centers.models import Center, RemoteTask
from apps.centers.services.specs import resource_spec_remove
from apps.centers.states import RemoteState, Wanted
from apps.jointcloud.errors import JobEnded, TooManyJobs
from apps.jointcloud.events import JobChanged
from apps.jointcloud.models import Decision, Job, Replica, Task
from apps.jointcloud.selectors.jobs import job_get, job_list
from apps.jointcloud.services import placing, settling, submission
from apps.jointcloud.services.following import job_follow, job_stop, jobs_with_news
from apps.jointcloud.services.placing import cycle_run, jobs_sweep
from apps.jointcloud.services.submission import job_submit
from apps.jointcloud.states import DecisionKind, ReplicaState, WorkState
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Forbidden, InvalidInput, NotFound
from tests.apps.jointcloud.jobs import TASK, asked, attempts, cycle, fresh, other, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(acme, globex, member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def submit(alice, acme):
    """Submit a job of alice's."""

    def make(*tasks, **more):
        return job_submit(actor=alice.actor, tenant=acme, asked=asked(*tasks, **more))

    return make


@pytest.mark.req("JC-6.4-T7.1", "JC-6.4-T7.6", "JC-6.5-4")
def test_each_task_goes_to_the_best_centre_at_the_price_of_now(submit, spec, centre):
    gpu1 = spec()
    centre("dear", gpu1, prices={"gpu1": 900})
    centre("cheap", gpu1, prices={"gpu1": 100})
    job = submit(TASK, other("check", replicas=2, centers=("dear",)), weights={"price": "1"})
    report = cycle()
    assert (report.placed, report.waiting) == (3, 0)
    rows = attempts(job)
    assert [(row.ai_center_id, row.price_minor) for row in rows] == [
        ("cheap", 100),
        ("dear", 900),
        ("dear", 900),
    ]
    remote = {row.key: row for row in RemoteTask.objects.all()}
    assert {row.key for row in rows} == set(remote)
    assert remote[rows[0].key].owner == f"job:{job.job_id}"
    job = fresh(job)
    assert job.dispatched_at is not None
    assert job.dispatched_at >= job.created_at
    placed = Decision.objects.get(task__job=job, task__name="train", kind=DecisionKind.PLACED)
    assert placed.ai_center_id == "cheap"
    assert placed.score == 100
    assert next(code for code, _ in placed.reasons) == "chosen"
    assert {each["center"]: each["final"] for each in placed.standings} == {"cheap": 100, "dear": 0}


def test_a_cycle_that_runs_again_places_nothing_twice(submit, spec, centre):
    centre("lake", spec())
    submit()
    assert cycle().placed == 1
    assert cycle().placed == 0
    assert Replica.objects.count() == RemoteTask.objects.count() == 1


@pytest.mark.req("JC-6.4-6", "JC-6.4-Sa")
def test_a_job_follows_its_replicas_and_late_reports_change_nothing(submit, spec, centre):
    centre("lake", spec())
    job = submit(TASK, other("check"))
    cycle()
    one, two = attempts(job)
    say(one, RemoteState.RUNNING)
    assert fresh(job).state == WorkState.RUNNING
    say(one, RemoteState.SUCCEEDED)
    assert fresh(job).state == WorkState.RUNNING
    say(two, RemoteState.SUCCEEDED)
    ended = fresh(job)
    assert ended.state == WorkState.COMPLETED
    assert ended.ended_at is not None
    job_follow(actor=SYSTEM, job_id=job.job_id)
    assert fresh(job).ended_at == ended.ended_at
    assert [task.state for task in Task.objects.filter(job=job)] == ["completed", "completed"]


def test_what_a_lost_hint_left_behind_the_sweep_finds(submit, spec, centre):
    centre("lake", spec())
    job = submit()
    cycle()
    RemoteTask.objects.update(state=RemoteState.FAILED, cause="exit code 3", native_id="7")
    jobs_sweep(actor=SYSTEM)
    assert fresh(job).state == WorkState.FAILED
    assert attempts(job)[0].reason == "exit code 3"
    assert jobs_with_news() == []


def test_a_failed_job_ends_what_still_runs_of_it(submit, spec, centre, monkeypatch):
    told = []
    monkeypatch.setattr(settling, "emit", lambda event, **_more: told.append(event))
    centre("lake", spec())
    job = submit(TASK, other("check"))
    cycle()
    one, two = attempts(job)
    say(two, RemoteState.RUNNING)
    say(one, RemoteState.FAILED)
    assert fresh(job).state == WorkState.FAILED
    assert RemoteTask.objects.get(key=two.key).desired == Wanted.STOP
    assert [task.state for task in Task.objects.filter(job=job)] == ["failed", "running"]
    ended_at = fresh(job).ended_at
    told.clear()
    say(two, RemoteState.STOPPED)
    assert [row.state for row in attempts(job)] == ["failed", "stopped"]
    # The tasks follow, and who looks at the job hears of it; the job stays as it ended.
    assert [task.state for task in Task.objects.filter(job=job)] == ["failed", "stopped"]
    assert [type(event) for event in told] == [JobChanged]
    assert (fresh(job).state, fresh(job).ended_at) == (WorkState.FAILED, ended_at)


def test_what_never_found_a_centre_ends_with_its_job(submit, spec, centre):
    centre("lake", spec(), used_gpu=7)
    job = submit(TASK, other("check"))
    cycle()
    say(attempts(job)[0], RemoteState.FAILED)
    assert fresh(job).state == WorkState.FAILED
    assert [task.state for task in Task.objects.filter(job=job)] == ["failed", "stopped"]


@pytest.mark.parametrize(("replaces", "state"), [(True, WorkState.PENDING), (False, WorkState.FAILED)])
def test_a_replica_whose_centre_was_removed_before_its_end_was_told_is_lost(
    submit, spec, centre, replaces, state
):
    gpu1 = spec()
    centre("lake", gpu1)
    job = submit(replaces_lost=replaces)
    cycle()
    say(attempts(job)[0], RemoteState.RUNNING)
    # Over there, and gone with its centre before the job heard of it.
    RemoteTask.objects.all().delete()
    jobs_sweep(actor=SYSTEM)
    assert fresh(job).state == state
    (row,) = attempts(job)
    assert (row.state, row.is_current) == ((ReplicaState.LOST, False) if replaces else ("failed", True))
    assert row.ended_at is not None
    if replaces:
        cycle()
        assert attempts(job, attempt=2)


@pytest.mark.req("JC-6.4-Rb", "JC-6.4-Ra")
def test_a_job_that_always_fails_makes_exactly_n_further_attempts(submit, spec, centre):
    centre("lake", spec())
    job = submit(TASK, other("check"), retries=2)
    cycle()
    say(attempts(job)[1], RemoteState.SUCCEEDED)
    for attempt in (1, 2, 3):
        say(attempts(job, task__name="train", attempt=attempt)[0], RemoteState.FAILED)
        cycle()
    assert [row.attempt for row in attempts(job, task__name="train")] == [1, 2, 3]
    # What had succeeded is not run again.
    assert len(attempts(job, task__name="check")) == 1
    found = fresh(job)
    assert (found.state, found.retries_made) == (WorkState.FAILED, 2)


def test_a_centre_that_refuses_is_followed_by_the_next_best(submit, spec, centre):
    gpu1 = spec()
    centre("dear", gpu1, prices={"gpu1": 900})
    centre("cheap", gpu1, prices={"gpu1": 100})
    job = submit(weights={"price": "1"})
    cycle()
    say(attempts(job)[0], RemoteState.REFUSED, "no such account")
    cycle()
    first, second = attempts(job)
    assert (first.state, first.is_current, first.reason) == (ReplicaState.REFUSED, False, "no such account")
    assert (second.ai_center_id, second.attempt) == ("dear", 2)
    assert Decision.objects.filter(kind=DecisionKind.REFUSED, ai_center_id="cheap").exists()


def test_a_centre_drained_while_the_cycle_plans_is_followed_by_the_next_best(
    submit, spec, centre, monkeypatch
):
    gpu1 = spec()
    centre("dear", gpu1, prices={"gpu1": 900})
    cheap = centre("cheap", gpu1, prices={"gpu1": 100})
    job = submit(weights={"price": "1"})
    planned = placing.plan

    def plan_and_drain(*given, **more):
        found = planned(*given, **more)
        Center.objects.filter(pk=cheap.pk).update(is_drained=True)
        return found

    monkeypatch.setattr(placing, "plan", plan_and_drain)
    assert cycle().placed == 1
    assert [row.ai_center_id for row in attempts(job)] == ["dear"]
    assert Decision.objects.filter(kind=DecisionKind.REFUSED, ai_center_id="cheap").count() == 1


@pytest.mark.req("JC-6.6.1a")
def test_a_gang_waits_as_a_whole_and_is_taken_back_as_a_whole(submit, spec, centre):
    gpu1 = spec()
    lake = centre("lake", gpu1, used_gpu=7)
    job = submit(TASK, other("check"), is_gang=True)
    assert cycle().placed == 0
    assert [code for code, _ in Task.objects.get(job=job, name="check").waits_for]
    lake.sample.used_gpu = 0
    lake.sample.save()
    assert cycle().placed == 2
    one, two = attempts(job)
    say(one, RemoteState.RUNNING)
    say(two, RemoteState.REFUSED, "full")
    assert RemoteTask.objects.get(key=one.key).desired == Wanted.STOP
    # Until it has ended there, it is not placed anew.
    cycle()
    assert not attempts(job, task__name="train", attempt=2)
    say(one, RemoteState.STOPPED)
    assert fresh(job).state == WorkState.PENDING
    centre("pond", gpu1)
    cycle()
    assert {row.ai_center_id for row in attempts(job, is_current=True)} <= {"pond", "lake"}
    assert len(attempts(job, is_current=True)) == 2


def test_what_is_lost_with_its_centre_is_placed_anew_where_the_job_allows_it(submit, spec, centre):
    gpu1 = spec()
    lake = centre("lake", gpu1)
    lake.answered_at = timezone.now()
    lake.save()
    job, stays = submit(), submit(replaces_lost=False)
    cycle()
    for row in (*attempts(job), *attempts(stays)):
        say(row, RemoteState.RUNNING)
    pond = centre("pond", gpu1)
    pond.answered_at = timezone.now()
    pond.save()
    long_ago = timezone.now() - timedelta(seconds=lake.lost_after_s + 5)
    Center.objects.filter(pk=lake.pk).update(
        answered_at=long_ago, failing_since=long_ago, error_at=timezone.now(), status=0
    )
    jobs_sweep(actor=SYSTEM)
    cycle()
    old, new = attempts(job)
    assert (old.state, new.ai_center_id, new.attempt) == (ReplicaState.LOST, "pond", 2)
    assert RemoteTask.objects.get(key=old.key).desired == Wanted.STOP
    assert [row.state for row in attempts(stays)] == ["running"]
    # The centre comes back and tells of the end of the old one: that is nobody's any more.
    say(old, RemoteState.SUCCEEDED)
    assert fresh(job).state == WorkState.PENDING


def test_a_job_is_stopped_once_before_and_after_its_start(submit, spec, centre, alice, acme):
    gpu1 = spec()
    job = submit()
    stopped = job_stop(actor=alice.actor, tenant=acme, job_id=job.job_id)
    assert stopped.state == WorkState.STOPPED
    assert stopped.ended_at
    with pytest.raises(JobEnded):
        job_stop(actor=alice.actor, tenant=acme, job_id=job.job_id)
    centre("lake", gpu1)
    job = submit()
    cycle()
    row = attempts(job)[0]
    say(row, RemoteState.RUNNING)
    for _twice in range(2):
        job_stop(actor=alice.actor, tenant=acme, job_id=job.job_id)
    assert fresh(job).state == WorkState.RUNNING
    assert RemoteTask.objects.get(key=row.key).desired == Wanted.STOP
    say(row, RemoteState.STOPPED)
    assert fresh(job).state == WorkState.STOPPED
    assert cycle_run(actor=SYSTEM).placed == 0


BAD = {
    "no task": ({"tasks": ()}, "tasks"),
    "10^4 tasks": ({"tasks": tuple(other(f"t{n}") for n in range(10_000))}, "tasks"),
    "no replica": ({"tasks": (replace(TASK, replicas=0),)}, "tasks[0].replicas"),
    "less than none": ({"tasks": (replace(TASK, replicas=-1),)}, "tasks[0].replicas"),
    "image": ({"tasks": (replace(TASK, image_id="torch"),)}, "tasks[0].image_id"),
    "specification": ({"tasks": (replace(TASK, resourcespec="x\0"),)}, "tasks[0].resourcespec"),
    "centre": ({"tasks": (replace(TASK, centers=("moon",)),)}, "tasks[0].centers"),
    "policy": ({"weights": {"luck": "1"}}, "weights"),
    "sum": ({"weights": {"price": "0.5"}}, "weights"),
    "deadline": ({"tasks": (replace(TASK, deadline_at=timezone.now()),)}, "tasks[0].deadline_at"),
    "retry once": ({"retries": 1}, "retries"),
    "state policy": ({"success_policy": "luck"}, "success_policy"),
    "long name": ({"name": "山" * 43}, "name"),
    "long task name": ({"tasks": (replace(TASK, name="山" * 22),)}, "tasks[0].name"),
    "no command": ({"tasks": (replace(TASK, command=" "),)}, "tasks[0].command"),
    "names twice": ({"tasks": (TASK, TASK)}, "tasks"),
    "priority": ({"priority": 1}, "priority"),
    "job type": ({"job_type": "streaming"}, "tasks[0].resourcespec"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_meant_is_refused_in_words_and_leaves_nothing(case, submit, spec, centre):
    centre("lake", spec())
    given, field = BAD[case]
    with pytest.raises(InvalidInput) as error:
        submit(**({"tasks": (TASK,)} | given))
    assert field in error.value.fields, error.value.fields
    assert not Job.plain.exists()
    assert not Task.objects.exists()


def test_a_tenant_has_so_many_open_jobs_and_no_more(submit, spec, monkeypatch):
    spec()
    monkeypatch.setattr(submission, "MOST_OPEN", 1)
    submit()
    with pytest.raises(TooManyJobs, match="1 jobs"):
        submit()


def test_jobs_are_seen_and_stopped_by_those_they_concern_alone(submit, spec, acme, globex, member, operator):
    spec()
    job = submit()
    gina = member("globex", "tenant_front_line")
    assert not job_list(globex, actor=gina.actor).exists()
    with pytest.raises(NotFound):
        job_stop(actor=gina.actor, tenant=globex, job_id=job.job_id)
    decider = member("acme", "tenant_decision_maker")
    with pytest.raises(Forbidden):
        job_stop(actor=decider.actor, tenant=acme, job_id=job.job_id)
    ops = operator("cluster_administrator", "acme")
    assert job_get(acme, job.job_id, actor=ops.actor).pk == job.pk
    assert job_stop(actor=ops.actor, tenant=acme, job_id=job.job_id).state == WorkState.STOPPED


def test_a_specification_that_work_asks_for_stays(submit, spec):
    spec()
    submit()
    with pytest.raises(ResourceSpecInUse, match="night run"):
        resource_spec_remove(actor=SYSTEM, resource_spec_id="gpu1")


def test_one_cycle_runs_at_a_time(submit, spec, centre):
    centre("lake", spec())
    submit()
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as another:
        another.execute("SELECT pg_advisory_lock(%s)", [placing._LOCK])
        assert not cycle().led
        assert not Replica.objects.exists()
        # An ended session lets go a moment later.
        another.execute("SELECT pg_advisory_unlock(%s)", [placing._LOCK])
    assert cycle().placed == 1
