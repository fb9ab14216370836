"""Jobs over the API: by the printed names of tables 7 and 8, once under a key, without an address of a centre."""

import json

import pytest
from rest_framework.test import APIClient

from apps.centers.models import RemoteTask
from apps.centers.states import RemoteState
from apps.identity.services.tokens import api_token_make
from apps.jointcloud.models import Job
from apps.jointcloud.services import logs
from apps.kernel.actor import SYSTEM
from tests.apps.jointcloud.jobs import attempts, cycle, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(acme, globex, member):
    """A front-line member's client of the API, of acme where nothing else is said."""

    def make(schema="acme", role="tenant_front_line"):
        person = member(schema, role)
        tenant = {"acme": acme, "globex": globex}[schema]
        _row, secret = api_token_make(actor=SYSTEM, user=person.user, name="t", tenant=tenant)
        client = APIClient(headers={"host": "localhost"})
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        return client

    return make


TASK = {"name": "train", "command": "echo hello", "resourcespec": "gpu1"}
BODY = {"name": "night run", "desc": "one", "tasks": {"task1": TASK, "task2": {**TASK, "name": "check"}}}


def _post(client, body=BODY, **more):
    return client.post("/api/v1/jobs", body, format="json", **more)


@pytest.mark.req("JC-6.4-T7.1", "JC-6.4-T7.2", "JC-6.4-T7.3", "JC-6.4-T7.4", "JC-6.4-T7.5", "JC-6.4-T7.6")
@pytest.mark.req("JC-6.4-T8.1", "JC-6.4-T8.2", "JC-6.4-T8.3", "JC-6.4-T8.4")
def test_a_job_comes_back_by_the_printed_names_and_says_where_it_is_and_why(api, spec, centre):
    centre("lake", spec())
    client = api()
    answer = _post(client)
    assert answer.status_code == 201, answer.json()
    made = answer.json()
    assert (made["name"], made["desc"], made["user_name"]) == ("night run", "one", made["created_user"])
    assert len(made["id"]) <= 32
    assert made["reason"] == "train waits for a centre. The next cycle looks for a centre."
    first = made["tasks"][0]
    assert {name: first[name] for name in ("name", "command", "image_id", "resourcespec")} == {
        **TASK, "image_id": "",
    }  # fmt: skip
    cycle()
    told = client.get(f"/api/v1/jobs/{made['id']}")
    assert "secret-address" not in told.content.decode()
    (placed,) = told.json()["tasks"][1]["placed"]
    assert (placed["ai_center_id"], placed["state"], placed["price_minor"]) == ("lake", "pending", 500)
    said = [each["text"] for each in told.json()["decisions"]]
    assert any("lake is best" in text for text in said), said
    assert [row["id"] for row in client.get("/api/v1/jobs?state=pending").json()["results"]] == [made["id"]]


def test_the_same_key_again_is_the_same_job(api, spec):
    spec()
    client = api()
    first = _post(client, HTTP_IDEMPOTENCY_KEY="k1").json()
    assert _post(client, HTTP_IDEMPOTENCY_KEY="k1").json()["id"] == first["id"]
    assert Job.plain.count() == 1
    assert _post(client, {**BODY, "name": "x"}, HTTP_IDEMPOTENCY_KEY="k1").status_code == 409


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([], "at least one task"),
        ({"task1": TASK, "task3": TASK}, "task2 is missing"),
        ("x", "have to be a list"),
        ([TASK] * 10_000, "at most 1000 tasks"),
        ([{**TASK, "replicas": 0}], "tasks[0].replicas"),
        ([{**TASK, "replicas": -1}], "tasks[0].replicas"),
        (["x"], "tasks[0].name"),
        ([{**TASK, "centers": ["moon"]}], "There is no centre moon"),
        ([{**TASK, "deadline_at": "2020-01-01T00:00:00Z"}], "in the past"),
    ],
)
def test_a_body_that_cannot_be_meant_is_refused_in_words(tasks, said, api, spec):
    spec()
    answer = _post(api(), {**BODY, "tasks": tasks})
    assert answer.status_code == 400
    assert said in json.dumps(answer.json()["error"]["fields"])
    assert not Job.plain.exists()


def test_a_log_is_read_by_offset_and_no_character_is_cut(api, spec, centre, monkeypatch):
    centre("lake", spec())
    client = api()
    made = _post(client).json()
    path = f"/api/v1/jobs/{made['id']}/tasks/0/replicas/0/log"
    assert client.get(path).status_code == 404
    cycle()
    row = attempts(Job.plain.get())[0]
    say(row, RemoteState.RUNNING)
    output = "epoch 1\n山".encode()
    monkeypatch.setattr(logs, "remote_task_log", lambda _task, offset, limit: output[offset : offset + limit])
    output = output[:-1]
    told = client.get(path).json()
    assert told == {"text": "epoch 1\n", "offset": 0, "next_offset": 8, "is_whole": False}
    output = "epoch 1\n山\n".encode()
    assert client.get(f"{path}?offset=8").json()["text"] == "山\n"
    say(row, RemoteState.SUCCEEDED)
    assert client.get(f"{path}?offset=12").json() == {
        "text": "", "offset": 12, "next_offset": 12, "is_whole": True,
    }  # fmt: skip
    assert client.get(f"{path}?offset=-1").status_code == 400


def test_a_part_that_ends_inside_a_character_is_not_the_whole_log(api, spec, centre, monkeypatch):
    centre("lake", spec())
    _post(api())
    cycle()
    say(attempts(Job.plain.get())[0], RemoteState.SUCCEEDED)
    row, output = attempts(Job.plain.get())[0], "abc山d".encode()
    monkeypatch.setattr(logs, "remote_task_log", lambda _task, offset, limit: output[offset : offset + limit])
    first = logs.replica_log(row, 0, 5)
    assert (first.text, first.next_offset, first.is_whole) == ("abc", 3, False)
    second = logs.replica_log(row, first.next_offset, 5)
    assert (second.text, second.next_offset, second.is_whole) == ("山d", 7, True)


def test_a_job_is_stopped_and_another_tenants_is_not_there(api, spec, centre):
    centre("lake", spec())
    client = api()
    made = _post(client).json()
    cycle()
    other = api("globex")
    for path in (f"/api/v1/jobs/{made['id']}", f"/api/v1/jobs/{made['id']}/tasks/0/replicas/0/log"):
        assert other.get(path).status_code == 404
    assert other.post(f"/api/v1/jobs/{made['id']}/stop").status_code == 404
    stopped = client.post(f"/api/v1/jobs/{made['id']}/stop").json()
    assert stopped["stop_asked_at"]
    assert {row.desired for row in RemoteTask.objects.all()} == {"stop"}
    assert api(role="tenant_decision_maker").post(f"/api/v1/jobs/{made['id']}/stop").status_code == 403


def test_how_the_centres_stood_is_told_page_by_page_and_not_with_the_job(api, spec, centre):
    centre("lake", spec())
    client = api()
    made = _post(client).json()
    cycle()
    path = f"/api/v1/jobs/{made['id']}"
    for told in (client.get(path).json(), client.post(f"{path}/stop").json()):
        assert [each["kind"] for each in told["decisions"]] == ["placed", "placed"]
        assert not any("standings" in each for each in told["decisions"])
    first = client.get(f"{path}/decisions?page_size=1").json()
    (one,) = first["results"]
    assert one["kind"] == "placed"
    assert "Centre lake" in one["text"]
    assert [each["center"] for each in one["standings"]] == ["lake"]
    (two,) = client.get(first["next"]).json()["results"]
    assert {one["task"], two["task"]} == {0, 1}
    assert api("globex").get(f"{path}/decisions").status_code == 404
