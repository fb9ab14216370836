"""Trying where a job would go: every centre with its scores or the reasons against it, for operators and tenants."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.jointcloud.engine.cycle import plan
from apps.jointcloud.models import JointcloudSettings
from apps.jointcloud.selectors.snapshot import snapshot_now

pytestmark = pytest.mark.django_db
TRY = "/api/v1/placements/try"


@pytest.fixture
def alice(member):
    return member("acme", "tenant_front_line").api()


@pytest.fixture
def admin(operator):
    return operator("cluster_administrator").api()


def task(**more):
    return {"resource_spec_id": "gpu1"} | more


def rows(answer, at=0):
    assert answer.status_code == 200, answer.json()
    return {row["ai_center_id"]: row for row in answer.json()["tasks"][at]["centers"]}


@pytest.fixture
def network(spec, centre):
    one = spec()
    centre("cheap", one, prices={"gpu1": 100}, security_grade=2)
    centre("dear", one, prices={"gpu1": 900}, security_grade=5, running=5)
    centre("away", one, is_drained=True)
    return one


@pytest.mark.req("JC-6.6-1", "JC-6.6.3-2", "JC-6.6.3-3")
def test_every_centre_is_told_with_its_scores_or_why_not(alice, network):
    answer = alice.post(TRY, {"tasks": [task(name="train")], "weights": {"price": "0.75", "load": "0.25"}})
    found = rows(answer)
    assert set(found) == {"cheap", "dear", "away"}
    best, other, away = found["cheap"], found["dear"], found["away"]
    assert (best["rank"], best["final_score"], best["price"]) == (1, 100, 100)
    assert (other["rank"], other["final_score"]) == (2, 0)
    told = {score["policy"]: score for score in best["scores"]}
    assert (told["price"]["score"], told["price"]["weight"], told["price"]["milli_points"]) == (
        100,
        "0.750",
        75_000,
    )
    assert sum(score["milli_points"] for score in best["scores"]) == 100_000
    assert away["rank"] is None
    assert [reason["code"] for reason in away["reasons"]] == ["drained"]
    assert away["reasons"][0]["message"] == "The centre is being drained: it gets no new work."
    body = answer.json()
    assert body["is_placed"] is True
    assert body["tasks"][0]["name"] == "train"
    assert body["tasks"][0]["placed"] == [
        {"ai_center_id": "cheap", "center_name": "Centre cheap", "replicas": 1}
    ]
    assert body["tasks"][0]["sentences"][0]["message"].startswith("Centre cheap is best, with 100 of 100")


def test_nothing_is_kept_and_addresses_are_nobody_s_business(alice, network, django_assert_max_num_queries):
    with django_assert_max_num_queries(25):
        answer = alice.post(TRY, {"tasks": [task()]})
    text = json.dumps(answer.json())
    assert answer.status_code == 200
    assert "secret-address" not in text
    assert not JointcloudSettings.objects.exists()


def test_reasons_come_in_the_reader_s_language(alice, network):
    answer = alice.post(TRY, {"tasks": [task(replicas=9)]}, HTTP_ACCEPT_LANGUAGE="zh-hans")
    found = rows(answer)
    assert "GPU" in found["cheap"]["reasons"][0]["message"]
    assert "排空" in found["away"]["reasons"][0]["message"] or "新" in found["away"]["reasons"][0]["message"]
    assert answer.json()["tasks"][0]["placed"] == []


@pytest.mark.req("JC-5f1", "JC-6.6.1h", "JC-6.2-1", "JC-5f7")
@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        ({"center_ids": ["dear"]}, {"cheap": ["not_named"], "dear": []}),
        ({"security_grade": 3}, {"cheap": ["security_grade"], "dear": []}),
        ({"image_id": "nobody-s"}, {"cheap": ["image_missing"], "dear": ["image_missing"]}),
        ({"data": ["nobody-s"]}, {"cheap": ["data_nowhere"], "dear": ["data_nowhere"]}),
        ({"replicas": 9}, {"cheap": ["no_room"], "dear": ["no_room"]}),
    ],
)
def test_what_a_task_demands_is_asked_of_each_centre(alice, network, asked, codes):
    found = rows(alice.post(TRY, {"tasks": [task(**asked)]}))
    assert {code: [each["code"] for each in found[code]["reasons"]] for code in codes} == codes


@pytest.mark.req("JC-6.6.1a", "JC-6.5-1")
def test_the_tasks_of_a_job_share_the_room_as_in_a_cycle(alice, spec, centre):
    one = spec()
    centre("cheap", one, used_gpu=4, prices={"gpu1": 100})
    centre("dear", one, prices={"gpu1": 900})
    tasks = [task(name=name, replicas=3) for name in "abc"]
    body = {"tasks": tasks, "weights": {"price": "1"}}
    told = alice.post(TRY, body).json()
    assert [one["placed"][0]["ai_center_id"] for one in told["tasks"]] == ["cheap", "dear", "dear"]
    for one in told["tasks"]:
        first = next(row for row in one["centers"] if row["rank"] == 1)
        assert first["ai_center_id"] == one["placed"][0]["ai_center_id"]
    # A gang that lacks one waits whole, and says for whom.
    tasks.append(task(name="d", replicas=8))
    told = alice.post(TRY, body | {"tasks": tasks, "is_gang": True}).json()
    assert [one["placed"] for one in told["tasks"]] == [[], [], [], []]
    assert told["is_placed"] is False
    assert told["tasks"][0]["sentences"][0]["code"] == "gang_incomplete"
    assert told["tasks"][3]["sentences"][0]["code"] == "no_candidate"


def test_replicas_that_may_split_are_told_by_centre(alice, spec, centre):
    one = spec()
    centre("a", one)
    centre("b", one)
    told = alice.post(TRY, {"tasks": [task(replicas=12, may_split=True)]}).json()["tasks"][0]
    assert {each["ai_center_id"]: each["replicas"] for each in told["placed"]} == {"a": 6, "b": 6}
    assert "Centre a × 6" in told["sentences"][0]["message"]


def test_the_settings_in_force_decide_where_none_are_given(alice, network):
    JointcloudSettings.objects.create(number=1, weights=[["security", 1000]])
    assert rows(alice.post(TRY, {"tasks": [task()]}))["dear"]["rank"] == 1
    assert plan(snapshot_now(), now=0, seed=0).bindings == ()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tasks": []}, "tasks.non_field_errors"),
        ({}, "tasks"),
        ({"tasks": [{}]}, "tasks.0.resource_spec_id"),
        ({"tasks": [task(resource_spec_id="none")]}, "tasks.0.resource_spec_id"),
        ({"tasks": [task(), task(center_ids=["none"])]}, "tasks.1.center_ids"),
        ({"tasks": [task(replicas=0)]}, "tasks.0.replicas"),
        ({"tasks": [task(replicas=10**9)]}, "tasks.0.replicas"),
        ({"tasks": [task(security_grade=6)]}, "tasks.0.security_grade"),
        ({"tasks": [task(deadline="soon")]}, "tasks.0.deadline"),
        ({"tasks": [task()], "weights": {"price": "0.5"}}, "weights"),
        ({"tasks": [task()], "weights": {"luck": "1"}}, "weights"),
        ({"tasks": [task()], "weights": {"price": "1.0001", "load": "0"}}, "weights"),
        ({"tasks": [task()], "job_type": "dreaming"}, "job_type"),
    ],
)
def test_bad_input_is_refused_by_its_field(alice, network, body, field):
    answer = alice.post(TRY, body, format="json")
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]


def test_a_deadline_that_is_over_is_refused(alice, network):
    over = (timezone.now() - timedelta(minutes=1)).isoformat()
    answer = alice.post(TRY, {"tasks": [task(deadline=over)]})
    assert "tasks.0.deadline" in answer.json()["error"]["fields"]


def test_who_sees_no_work_tries_nothing(member, network, acme):
    from apps.kernel.planes import in_tenant
    from apps.orgs.models import RoleBinding

    person = member("acme", "tenant_front_line", "nobody")
    with in_tenant("acme"):
        RoleBinding.objects.filter(user_id=person.user.pk).delete()
    assert person.api().post(TRY, {"tasks": [task()]}).status_code == 403


def test_operators_try_too(admin, network):
    assert rows(admin.post(TRY, {"tasks": [task()]}))["cheap"]["rank"] == 1
