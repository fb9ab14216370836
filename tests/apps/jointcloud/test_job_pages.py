"""The pages of jobs: submitted by a form, seen with reason and place, its log read, stopped once it was asked."""

import pytest
from django.test import Client

from apps.centers.errors import CenterSaysNo, CenterSilent
from apps.centers.states import RemoteState
from apps.jointcloud.models import Job
from apps.jointcloud.services import logs
from apps.jointcloud.services.data import dataset_make
from apps.jointcloud.types import CopyFacts, DatasetFacts
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import NotFound
from tests.apps.jointcloud.jobs import attempts, cycle, say

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
