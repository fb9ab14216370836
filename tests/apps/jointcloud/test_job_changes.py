"""Jobs outside Annex A: changed until they end, deleted once they are over, forgotten after a while."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import Record
from apps.billing.selectors.charges import job_charges_open
from apps.centers.models import RemoteTask, ResourceSpec
from apps.centers.states import RemoteState
from apps.jointcloud.models import Decision, Job
from apps.jointcloud.services import changes, forgetting
from apps.jointcloud.services.following import job_stop
from apps.jointcloud.services.submission import job_submit
from apps.kernel.actor import SYSTEM
from tests.apps.jointcloud.jobs import TASK, asked, attempts, cycle, fresh, other, say
from tests.apps.jointcloud.money import settled

pytestmark = [pytest.mark.django_db, pytest.mark.req("JC-5d")]


@pytest.fixture
def person(member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def api(person):
    return person.api()


@pytest.fixture
def night(acme, person, spec, centre):
    """A job of two tasks at a centre's door."""
    centre("lake", spec())
    return job_submit(actor=person.actor, tenant=acme, asked=asked(TASK, other("check")))


@pytest.fixture
def over(night):
    """A job that has ended at its centre."""
    cycle()
    for row in attempts(night):
        say(row, RemoteState.SUCCEEDED)
    return fresh(night)


def path(job):
    return f"/api/v1/jobs/{job.job_id}"


def patch(api, job, **changes):
    return api.patch(path(job), changes, format="json")


def test_what_is_given_is_changed_and_the_rest_stays(api, night):
    deadline = timezone.now() + timedelta(hours=2)
    answer = patch(
        api, night, name="day run", priority=-2, weights={"price": "1"}, deadline_at=deadline.isoformat()
    )
    assert answer.status_code == 200, answer.json()
    told = answer.json()
    assert (told["name"], told["desc"], told["priority"], told["revision"]) == ("day run", "", -2, 2)
    assert told["weights"] == {"price": "1.000"}
    assert set(night.tasks.values_list("deadline_at", flat=True)) == {deadline}
    record = Record.objects.filter(name="job_change").get()
    assert record.detail["changed"] == "name, priority, weights, deadline_at"
    # The same again is no change.
    assert patch(api, night, name="day run", deadline_at=deadline.isoformat()).json()["revision"] == 2
    undone = patch(api, night, weights=None, deadline_at=None).json()
    assert (undone["weights"], undone["tasks"][1]["deadline_at"], undone["revision"]) == (None, None, 3)


def test_the_next_cycle_follows_the_new_weights(api, night, centre):
    one = ResourceSpec.objects.get(resource_spec_id="gpu1")
    centre("cheap", one, prices={"gpu1": 1}, used_gpu=4)
    assert patch(api, night, weights={"price": "1"}).status_code == 200
    cycle()
    assert {row.ai_center_id for row in attempts(night)} == {"cheap"}


def test_what_was_changed_meanwhile_is_not_overwritten(api, night):
    assert patch(api, night, name="mine", revision=1).status_code == 200
    answer = patch(api, night, name="yours", revision=1)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "job_revised")
    assert fresh(night).name == "mine"
    assert api.delete(f"{path(night)}?revision=1").json()["error"]["code"] == "job_revised"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "山" * 43}, "name"),
        ({"priority": 1}, "priority"),
        ({"priority": 10}, "priority"),
        ({"weights": {"price": "0.5"}}, "weights"),
        ({"weights": {"luck": "1"}}, "weights"),
        ({"deadline_at": "2020-01-01T00:00:00Z"}, "deadline_at"),
        ({"tasks": []}, "tasks"),
        ({"state": "completed", "name": "x"}, "state"),
        ({"revision": 0}, "revision"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_changed(api, night, changes, field):
    answer = patch(api, night, **changes)
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]
    now = fresh(night)
    assert (now.name, now.priority, now.revision) == ("night run", 0, 1)


def test_an_operator_gives_what_a_tenant_may_not(night, operator, api, member):
    ops = operator("cluster_administrator").api()
    assert patch(ops, night, priority=5).json()["priority"] == 5
    assert patch(api, night, name="still five").json()["priority"] == 5
    assert patch(member("globex", "tenant_front_line").api(), night, name="theirs").status_code == 404
    assert patch(member("acme", "tenant_decision_maker").api(), night, name="read").status_code == 403
    assert member("acme", "tenant_decision_maker").api().delete(path(night)).status_code == 403


def test_nothing_is_changed_of_what_has_ended_or_is_to(api, night, acme, person):
    cycle()
    say(attempts(night)[0], RemoteState.RUNNING)
    job_stop(actor=person.actor, tenant=acme, job_id=night.job_id)
    answer = patch(api, night, name="late")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "job_changes_no_more")
    assert fresh(night).name == "night run"


def test_only_what_is_over_is_deleted_with_all_that_is_known_of_it(api, night):
    assert api.delete(path(night)).json()["error"]["code"] == "job_not_over"
    cycle()
    first, second = attempts(night)
    say(first, RemoteState.FAILED)
    assert fresh(night).state == "failed"
    # The other still runs at its centre, which was asked to end it.
    assert api.delete(path(night)).json()["error"]["code"] == "job_not_over"
    say(second, RemoteState.STOPPED)
    # What it used is not settled yet.
    assert api.delete(path(night)).json()["error"]["code"] == "job_not_over"
    settled(night)
    assert api.delete(path(night)).status_code == 204
    assert not job_charges_open()
    assert not Job.plain.exists()
    assert not Decision.objects.exists()
    assert not RemoteTask.objects.exists()
    assert api.get(path(night)).status_code == 404
    assert api.delete(path(night)).status_code == 404


def test_what_a_centre_may_still_have_is_known_until_it_is_ended_there(api, over):
    key = attempts(over)[0].key
    settled(over)
    RemoteTask.objects.filter(key=key).update(is_left=True)
    assert api.delete(path(over)).status_code == 204
    assert [row.key for row in RemoteTask.objects.all()] == [key]


def test_what_is_not_settled_stays(api, over, monkeypatch):
    for module in (changes, forgetting):
        monkeypatch.setattr(module, "is_settled", lambda _job: False)
    assert api.delete(path(over)).json()["error"]["code"] == "job_not_over"
    assert forgetting.jobs_forget(actor=SYSTEM, now=timezone.now() + timedelta(days=4000)) == 0
    assert Job.plain.exists()
    assert Decision.objects.exists()


def test_ended_jobs_and_why_they_went_where_they_did_are_forgotten(over, acme, person, settings):
    settings.WEIR_ENDED_JOB_DAYS, settings.WEIR_JOB_DECISION_DAYS = 30, 10
    open_job = job_submit(actor=person.actor, tenant=acme, asked=asked(name="open"))
    cycle()
    settled(over)
    assert forgetting.jobs_forget(actor=SYSTEM) == 0
    assert Decision.objects.filter(task__job=over).exists()
    assert forgetting.jobs_forget(actor=SYSTEM, now=timezone.now() + timedelta(days=11)) == 0
    assert not Decision.objects.filter(task__job=over).exists()
    assert Decision.objects.filter(task__job=open_job).exists()
    assert Job.plain.count() == 2
    assert forgetting.jobs_forget(actor=SYSTEM, now=timezone.now() + timedelta(days=31)) == 1
    assert [row.job_id for row in Job.plain.all()] == [open_job.job_id]
    assert Decision.objects.filter(task__job=open_job).exists()


def test_what_ended_but_still_runs_somewhere_is_not_forgotten(night):
    cycle()
    say(attempts(night)[0], RemoteState.FAILED)
    assert forgetting.jobs_forget(actor=SYSTEM, now=timezone.now() + timedelta(days=4000)) == 0
    assert Job.plain.exists()
