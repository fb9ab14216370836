"""Annex A.1 to A.3 on the wire: a job is created, told and stopped by the printed names, in the envelope."""

import pytest

from apps.centers.states import RemoteState
from apps.jointcloud.models import Job
from tests.apps.jointcloud.jobs import attempts, cycle, say
from tests.apps.jointcloud.test_annex import refused

pytestmark = pytest.mark.django_db
TASK = {"name": "train", "command": "true", "imageId": "", "resourceSpecId": "gpu1", "replicaNumber": 2}
ROOT = "/openapi/v1/trainjob"
A1 = pytest.mark.req("JC-7.1.1", "JC-A.1-1", "JC-A.1-2.1", "JC-A.1-2.2", "JC-A.1-2.3", "JC-A.1-2.4", "JC-A.1-2.5",
                     "JC-A.1-3.1", "JC-A.1-3.2", "JC-A.1-3.3", "JC-A.1-3.4", "JC-A.1-3.5")  # fmt: skip
A2 = pytest.mark.req("JC-7.1.2", "JC-A.2-1", "JC-A.2-2.1", "JC-A.2-3.1", "JC-A.2-3.2", "JC-A.2-3.3")
A3 = pytest.mark.req("JC-7.1.3", "JC-A.3-1", "JC-A.3-2.1", "JC-A.3-3.5", "JC-A.3-3.6", "JC-A.3-3.7", "JC-A.3-3.8",
                     "JC-A.3-4.1", "JC-A.3-4.2", "JC-A.3-4.3", "JC-A.3-4.4", "JC-A.3-4.5", "JC-A.3-4.6",
                     "JC-A.3-4.7")  # fmt: skip


@pytest.fixture
def api(member, spec, centre):
    centre("lake", spec())
    return member("acme", "tenant_front_line").api()


def create(api, tasks, name="night", **more):
    return api.post(ROOT, {"name": name, "tasks": tasks}, format="json", **more)


@A1
@A2
@A3
def test_a_job_is_created_told_and_stopped(api):
    made = create(api, {"task1": TASK, "task2": {**TASK, "name": "check", "replicaNumber": 1}})
    assert made.status_code == 200, made.json()
    body = made.json()
    assert (body["status"], body["code"], body["errorMsg"]) == (200, "ok", "")
    assert body["data"]["taskInfos"] == [
        {"name": "train", "centerIDs": []},
        {"name": "check", "centerIDs": []},
    ]
    path = f"{ROOT}/{body['data']['jobId']}"
    cycle()
    say(attempts(Job.plain.get())[1], RemoteState.RUNNING)
    told = api.get(path).json()["data"]
    assert (told["jobId"], told["name"], told["status"]) == (body["data"]["jobId"], "night", "running")
    assert told["taskInfos"][0] == {
        **TASK, "centerIDs": ["lake", "lake"], "replicaStatus": ["pending", "running"],
    }  # fmt: skip
    assert api.post(f"{path}/stop").json() == {"status": 200, "code": "ok", "errorMsg": "", "data": {}}
    for row in attempts(Job.plain.get()):
        say(row, RemoteState.STOPPED)
    stopped = api.get(path).json()
    assert (stopped["code"], stopped["data"]["status"]) == ("STOPPED", "failed")
    refused(api.post(f"{path}/stop"), 409)


@A1
@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([{**TASK, "name": "山" * 11}], "At most 32 bytes"),
        ([{**TASK, "imageId": "torch"}], "image"),
        ([{key: TASK[key] for key in TASK if key != "imageId"}], "imageId"),
        ([{**TASK, "replicaNumber": 0}], "at least 1"),
        ([{**TASK, "replicaNumber": True}], "at least 1"),
        ([{**TASK, "resourceSpecId": "moon"}], "moon"),
        ({"task1": TASK, "task3": TASK}, "task2 is missing"),
        ([7], "needed"),
        ([], "at least one task"),
        (None, "list"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_the_envelope(api, tasks, said):
    assert said in refused(create(api, tasks), 400)["errorMsg"]
    assert not Job.plain.exists()


@A1
@A3
def test_a_key_makes_one_job_and_others_see_none(api, member):
    first = create(api, [TASK], HTTP_IDEMPOTENCY_KEY="k").json()
    assert create(api, [TASK], HTTP_IDEMPOTENCY_KEY="k").json() == first
    assert Job.plain.count() == 1
    other = member("globex", "tenant_front_line").api()
    refused(other.get(f"{ROOT}/{first['data']['jobId']}"), 404)
    refused(other.post(f"{ROOT}/{first['data']['jobId']}/stop"), 404)
    refused(create(member("acme", "tenant_decision_maker").api(), [TASK]), 403)
