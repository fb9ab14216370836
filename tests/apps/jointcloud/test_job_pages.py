"""The pages of jobs: submitted by a form, seen with reason and place, its log read, stopped once it was asked."""

import pytest
from django.test import Client

from apps.centers.errors import CenterSaysNo, CenterSilent
from apps.centers.states import RemoteState
from apps.jointcloud.models import Job
from apps.jointcloud.services import logs
from apps.jointcloud.services.data import dataset_make
from apps.jointcloud.types import CopyFacts, DatasetFacts
from apps.jointcloud.views import jobs as job_views
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import NotFound
from tests.apps.jointcloud.jobs import attempts, cycle, say
from tests.apps.jointcloud.money import settled

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(acme, globex, member):
    """A member's browser on the tenant's own host."""

    def make(schema="acme", role="tenant_front_line"):
        person = member(schema, role)
        client = Client(headers={"host": person.host, "accept-language": "en"})
        client.force_login(person.user)
        return client

    return make


FORM = {
    "tasks": "2", "name": "night run", "job_type": "batch", "desc": "", "gang": "", "task0_name": "train",
    "task0_spec": "gpu1", "task0_replicas": "1", "task0_command": "echo one\r\necho two", "task1_name": "check",
    "task1_spec": "gpu1", "task1_replicas": "1", "task1_command": "true",
}  # fmt: skip


def test_a_job_of_two_tasks_is_submitted_seen_read_and_stopped(page, spec, centre, monkeypatch):
    centre("lake", spec())
    client = page()
    more = client.get(
        "/jobs/submit/?tasks=1&more=2&name=night+run", headers={"hx-request": "true"}
    ).content.decode()
    assert 'name="task1_command"' in more
    assert 'value="night run"' in more
    answer = client.post("/jobs/submit/", FORM)
    job = Job.plain.get()
    assert answer.status_code == 302
    assert answer.url == f"/jobs/{job.job_id}/"
    assert job.tasks.get(number=0).command == "echo one\necho two"
    cycle()
    row = attempts(job)[0]
    say(row, RemoteState.RUNNING)
    shown = client.get(answer.url).content.decode()
    assert "It runs." in shown
    assert "lake is best" in shown
    assert "Centre lake" in shown
    assert "secret-address" not in shown
    assert "Stop this job?" in shown
    monkeypatch.setattr(logs, "remote_task_log", lambda _task, offset, limit: b"<b>epoch 1</b>\n")
    log = client.get(f"/jobs/{job.job_id}/log/0/0/").content.decode()
    assert "&lt;b&gt;epoch 1" in log
    assert "night run" in client.get("/jobs/?state=running").content.decode()
    client.post(f"/jobs/{job.job_id}/stop/")
    job.refresh_from_db()
    assert job.stop_asked_at is not None
    assert "asked to stop" in client.get(answer.url).content.decode()


def test_a_task_that_reads_data_says_so_in_the_form_and_on_its_page(page, spec, centre, acme):
    centre("lake", spec())
    copies = [CopyFacts("lake", "/share/imagenet")]
    facts = DatasetFacts(size_bytes=1, files=1)
    dataset_make(
        actor=SYSTEM, tenant=acme, data_name="imagenet", data_version="2", facts=facts, copies=copies
    )
    client = page()
    refused = client.post("/jobs/submit/", {**FORM, "task0_data": "coco"}, headers={"hx-request": "true"})
    assert "There is no data coco." in refused.content.decode()
    assert not Job.plain.exists()
    client.post("/jobs/submit/", {**FORM, "task0_data": " imagenet , imagenet"})
    job = Job.plain.get()
    assert [str(row) for row in job.tasks.get(number=0).data.all()] == ["imagenet:2"]
    assert "Reads imagenet:2" in client.get(f"/jobs/{job.job_id}/").content.decode()
    tried = client.get("/placements/?resource_spec_id=gpu1&replicas=1&data=imagenet,coco").content.decode()
    assert "The data coco is at no centre." in tried


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (NotFound("secret-address"), "Centre lake tells no logs."),
        (CenterSaysNo("no folder at secret-address"), "The centre does not tell this log."),
        (CenterSilent("secret-address is silent"), "The centre did not answer."),
    ],
)
def test_the_page_of_a_log_says_why_there_is_none(page, spec, centre, monkeypatch, error, said):
    def fails(*_given):
        raise error

    centre("lake", spec())
    client = page()
    client.post("/jobs/submit/", FORM)
    cycle()
    monkeypatch.setattr(logs, "remote_task_log", fails)
    answer = client.get(f"/jobs/{Job.plain.get().job_id}/log/0/0/")
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert "secret-address" not in answer.content.decode()


def test_what_is_wrong_on_the_form_is_said_and_nothing_is_submitted(page, spec, centre):
    centre("lake", spec())
    answer = page().post("/jobs/submit/", FORM | {"task1_name": "train"})
    assert answer.status_code == 400
    assert "Two tasks have the name train" in answer.content.decode()
    assert not Job.plain.exists()


@pytest.mark.parametrize(
    ("sent", "input_", "label", "said"),
    [
        ({"task1_name": "train"}, "task0_name", "Task 1: Name", "Two tasks have the name train"),
        ({"task1_name": "山" * 22}, "task1_name", "Task 2: Name", "At most 63 bytes"),
        ({"task1_command": " "}, "task1_command", "Task 2: Start command", "Give the command"),
        ({"weight_price": "0.5"}, "weight_manual", "Manual", "sum to 1"),
        ({"deadline_at": "2020-01-01T00:00"}, "deadline_at", "Has to have ended by", "in the past"),
        ({"priority": "3"}, "priority", "Priority", "less than or equal to 0"),
    ],
)
def test_a_fault_is_said_at_its_field(page, spec, centre, sent, input_, label, said):
    centre("lake", spec())
    answer = page().post("/jobs/submit/", FORM | sent)
    assert answer.status_code == 400
    (row,) = answer.context["error"].rows
    assert (row[0], row[2]) == (label, input_)
    assert said in str(row[1])
    assert f'data-input="{input_}"' in answer.content.decode()
    assert not Job.plain.exists()


def test_weights_of_its_own_are_chosen_on_the_form_and_what_was_filled_in_stays(page, spec, centre):
    centre("lake", spec())
    centre("hill")
    client = page()
    first = client.get("/jobs/submit/").content.decode()
    assert first.count("<details") == 3
    assert " open>" not in first
    more = client.get(
        "/jobs/submit/?tasks=1&more=2&center_ids=lake&center_ids=hill&weight_price=0.5&job_type=batch"
    )
    folded = {group.mark: group.is_open for group in more.context["form"].groups}
    assert folded == {"where": True, "how": False, "weights": True}
    assert more.content.decode().count(" checked") == 2
    client.post("/jobs/submit/", FORM | {"weight_price": "0.4", "weight_load": "0.6", "priority": "-2"})
    job = Job.plain.get()
    assert (job.priority, dict(job.weights)["price"], dict(job.weights)["load"]) == (-2, 400, 600)


def test_a_job_is_changed_and_deleted_on_its_page(page, spec, centre):
    centre("lake", spec())
    client = page()
    client.post("/jobs/submit/", FORM)
    path = f"/jobs/{Job.plain.get().job_id}/"
    assert 'data-test="job-change"' in client.get(path).content.decode()
    form = client.get(f"{path}change/").context["form"]
    sent = {"revision": "1", "name": "day run", "desc": "", "priority": "0", "deadline_at": ""}
    assert (form["name"].value(), form["revision"].value(), form["priority"].value()) == ("night run", 1, 0)
    wrong = client.post(f"{path}change/", sent | {"weight_price": "0.5"})
    assert (wrong.status_code, wrong.context["error"].rows[0][2]) == (400, "weight_manual")
    assert client.post(f"{path}change/", sent | {"weight_price": "1", "priority": "-1"}).status_code == 302
    job = Job.plain.get()
    assert (job.name, job.priority, job.revision, dict(job.weights)["price"]) == ("day run", -1, 2, 1000)
    late = client.post(f"{path}change/", sent | {"name": "mine"})
    assert (late.status_code, late.context["error"].code) == (409, "job_revised")
    cycle()
    for row in attempts(job):
        say(row, RemoteState.SUCCEEDED)
    assert 'data-test="job-unsettled"' in client.get(path).content.decode()
    settled(job)
    shown = client.get(path).content.decode()
    assert 'data-test="job-delete"' in shown
    assert 'data-test="job-change"' not in shown
    assert client.post(f"{path}delete/").url == "/jobs/"
    assert not Job.plain.exists()


def test_what_stands_in_one_language_is_read_in_the_readers(page, spec, centre):
    centre("lake", spec())
    client = page()
    client.post("/jobs/submit/", FORM)
    job = Job.plain.get()
    cycle()
    first, second = attempts(job)
    say(first, RemoteState.LOST, "gone with secret-address")
    say(second, RemoteState.REFUSED, "The settings of this centre name no device that counts as gpu.")
    shown = client.get(f"/jobs/{job.job_id}/", headers={"accept-language": "zh-hans"}).content.decode()
    assert "该智算中心的设置没有指定计为 gpu 的设备。" in shown
    assert "name no device" not in shown


def test_replicas_count_from_one_and_a_log_is_offered_where_there_are_some(page, spec, centre, monkeypatch):
    centre("lake", spec())
    client = page()
    client.post("/jobs/submit/", FORM)
    job = Job.plain.get()
    cycle()
    path = f"/jobs/{job.job_id}/"
    shown = client.get(path)
    assert 'data-test="open-log"' not in shown.content.decode()
    monkeypatch.setattr(job_views, "centers_telling_logs", set)
    assert client.get(path).content.decode().count('data-test="open-log"') == 2
    say(attempts(job)[0], RemoteState.FAILED, "exit code 1")
    assert "Replica 1 of train has failed at Centre lake. exit code 1" in client.get(path).content.decode()


def test_another_tenant_sees_nothing_and_operators_see_all(page, spec, centre, operator):
    centre("lake", spec())
    page().post("/jobs/submit/", FORM)
    job = Job.plain.get()
    other = page("globex")
    assert other.get(f"/jobs/{job.job_id}/").status_code == 404
    assert "night run" not in other.get("/jobs/").content.decode()
    ops = operator("cluster_administrator")
    client = Client(headers={"host": "localhost", "accept-language": "en"})
    client.force_login(ops.user)
    assert "night run" in client.get("/jobs/").content.decode()
    assert "train waits for a centre" in client.get(f"/jobs/{job.job_id}/").content.decode()
    client.post(f"/jobs/{job.job_id}/stop/")
    job.refresh_from_db()
    assert job.state == "stopped"


@pytest.mark.parametrize("path", ["/jobs/submit/", "/placements/"])
def test_without_a_specification_the_page_says_what_comes_first(page, path):
    shown = page().get(path).content.decode()
    assert "There is no network specification yet" in shown
    assert 'data-test="job-form"' not in shown
    assert 'data-test="try-form"' not in shown
