"""A cycle and a sweep read and write no more than they need, however much there is."""

from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.centers.models import RemoteTask
from apps.centers.states import RemoteState
from apps.jointcloud.errors import TooManyReplicas
from apps.jointcloud.models import Decision, Job, Replica, Task
from apps.jointcloud.selectors.jobs import jobs_waiting
from apps.jointcloud.services import following, placing, submission
from apps.jointcloud.services.submission import job_submit
from apps.kernel.actor import SYSTEM
from tests.apps.jointcloud.jobs import TASK, asked, attempts, cycle, other, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def submit(acme, member):
    """Submit a job of acme's."""
    person = member("acme", "tenant_front_line")

    def make(*tasks, **more):
        return job_submit(actor=person.actor, tenant=acme, asked=asked(*tasks, **more))

    return make


def test_a_tenants_open_jobs_have_so_many_replicas_and_no_more(submit, spec, monkeypatch):
    spec()
    monkeypatch.setattr(submission, "MOST_OPEN_REPLICAS", 5)
    submit(other("a", replicas=2), other("b"))
    with pytest.raises(TooManyReplicas, match="have 3 replicas, and with these 3"):
        submit(other("c", replicas=3))
    assert Job.plain.count() == 1
    submit(other("c", replicas=2))


def test_no_cycle_reads_the_commands_of_what_waits(submit, spec):
    spec()
    submit(TASK, other("check"))
    with CaptureQueriesContext(
        connection,
    ) as told:
        assert len(jobs_waiting(timezone.now())[0].tasks) == 2
        cycle()
    assert told.captured_queries
    assert not [each for each in told.captured_queries if "command" in each["sql"]]


def test_why_tasks_wait_is_kept_in_parts(submit, spec, centre, monkeypatch):
    centre("lake", spec(), used_gpu=8)
    monkeypatch.setattr(placing, "_WAITS_PART", 2)
    submit(TASK, other("b"), other("c"), other("d"), other("e"))
    with CaptureQueriesContext(connection) as told:
        assert cycle().waiting == 5
    assert len([each for each in told.captured_queries if "FOR NO KEY UPDATE" in each["sql"]]) == 3
    assert all(task.waits_for for task in Task.objects.all())
    assert Decision.objects.count() == 5


def test_what_a_centre_does_not_have_yet_counts_as_taken_however_often_it_was_asked(submit, spec, centre):
    lake = centre("lake", spec("gpu8", gpu=8))
    job = submit(other("a", resourcespec="gpu8"))
    assert cycle().placed == 1

    def asked_again():
        lake.sample.asked_at = lake.sample.answered_at = timezone.now()
        lake.sample.save()

    # It waits here to be sent, and then is being sent: the centre's own figures say that all is free.
    asked_again()
    submit(other("b", resourcespec="gpu8"))
    assert cycle().placed == 0
    RemoteTask.objects.update(state=RemoteState.SENDING)
    Replica.objects.update(placed_at=timezone.now() - timedelta(hours=1))
    asked_again()
    assert cycle().placed == 0
    # It is taken, after the centre was last asked.
    say(attempts(job)[0], RemoteState.WAITING)
    assert cycle().placed == 0
    # From the next answer on it is in the centre's figures, which here still say that all is free.
    asked_again()
    assert cycle().placed == 1


def test_a_sweep_follows_only_jobs_of_which_a_centre_has_news(submit, spec, centre, monkeypatch):
    centre("lake", spec())
    jobs = [submit() for _each in range(4)]
    cycle()
    same, runs, explained, gone = (attempts(job)[0] for job in jobs)
    RemoteTask.objects.filter(key=runs.key).update(state=RemoteState.RUNNING, started_at=timezone.now())
    RemoteTask.objects.filter(key=explained.key).update(state=RemoteState.WAITING, cause="no room")
    RemoteTask.objects.filter(key=gone.key).delete()
    followed, follow = [], placing.job_follow

    def count(*, actor, job_id):
        followed.append(job_id)
        follow(actor=actor, job_id=job_id)

    monkeypatch.setattr(placing, "job_follow", count)
    monkeypatch.setattr(following, "_PART", 3)
    placing.jobs_sweep(actor=SYSTEM)
    assert sorted(followed) == sorted(job.job_id for job in jobs[1:])
    followed.clear()
    placing.jobs_sweep(actor=SYSTEM)
    assert followed == []
    assert attempts(jobs[0])[0].state == same.state


@pytest.mark.req("JC-6.6.3-3")
def test_why_a_centre_was_chosen_is_told_of_the_room_that_the_cycle_had_left(submit, spec, centre):
    """The cheaper centre has room for the first task alone: of the others it is told that it had none."""
    gpu1 = spec()
    centre("lake", gpu1, used_gpu=7, prices={"gpu1": 10})
    centre("hill", gpu1, used_gpu=5, prices={"gpu1": 1000})
    submit(TASK, other("b"), other("c"))
    split = submit(other("d", replicas=2, may_split=True))
    assert cycle() == placing.CycleReport(led=True, placed=3, waiting=1)
    told = {row.task.name: row for row in Decision.objects.filter(kind="placed").select_related("task")}
    assert {name: row.ai_center_id for name, row in told.items()} == {
        "train": "lake",
        "b": "hill",
        "c": "hill",
    }
    for name, row in told.items():
        chosen = dict(row.reasons)
        assert chosen["chosen"]["centre"] == row.ai_center_id, name
        refused = {each["center"]: [code for code, _ in each["refused"]] for each in row.standings}
        assert refused == ({"lake": [], "hill": []} if name == "train" else {"lake": ["no_room"], "hill": []})
    assert not attempts(split)


def test_each_centre_of_a_task_that_splits_is_told_why(submit, spec, centre):
    gpu1 = spec()
    centre("lake", gpu1, used_gpu=7, prices={"gpu1": 10})
    centre("hill", gpu1, used_gpu=5, prices={"gpu1": 1000})
    submit(other("d", replicas=4, may_split=True))
    assert cycle().placed == 4
    rows = list(Decision.objects.filter(kind="placed").order_by("ai_center_id"))
    assert [(row.ai_center_id, row.replicas) for row in rows] == [("hill", 3), ("lake", 1)]
    assert [dict(row.reasons)["chosen"]["centre"] for row in rows] == ["hill", "lake"]


def test_one_sweep_runs_at_a_time(submit, spec, centre):
    centre("lake", spec())
    job = submit()
    cycle()
    RemoteTask.objects.update(state=RemoteState.RUNNING)
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as another:
        another.execute("SELECT pg_advisory_lock(%s)", [placing._SWEEP_LOCK])
        placing.jobs_sweep(actor=SYSTEM)
        assert attempts(job)[0].state == "pending"
        another.execute("SELECT pg_advisory_unlock(%s)", [placing._SWEEP_LOCK])
    placing.jobs_sweep(actor=SYSTEM)
    assert attempts(job)[0].state == "running"
