"""Annex A.5 and A.6 on the wire: always `{status, code, errorMsg, data}`, and the scores of the very cycle."""

import pytest

from apps.jointcloud.api.wire import cut
from apps.jointcloud.engine.evaluate import default_request, evaluate
from apps.jointcloud.engine.policies.registry import POLICIES
from apps.jointcloud.models import JointcloudSettings
from apps.jointcloud.selectors.snapshot import snapshot_now

pytestmark = pytest.mark.django_db
A5 = pytest.mark.req("JC-7.2.1", "JC-A.5-1", "JC-A.5-2.1", "JC-A.5-2.2", "JC-A.5-3.1", "JC-A.5-3.2", "JC-A.5-3.3",
                     "JC-A.5-3.4", "JC-A.5-3.5")  # fmt: skip
A6 = pytest.mark.req("JC-7.3.1", "JC-A.6-1", "JC-A.6-2.1", "JC-A.6-2.2", "JC-A.6-2.3", "JC-A.6-3.1", "JC-A.6-3.2",
                     "JC-A.6-3.3", "JC-A.6-3.4", "JC-A.6-3.5")  # fmt: skip


@pytest.fixture(params=["provider", "tenant"])
def api(request, operator, member):
    """A caller on either host."""
    if request.param == "provider":
        return operator("cluster_administrator").api()
    return member("acme", "tenant_front_line").api()


@pytest.fixture
def network(spec, centre):
    one = spec()
    centre("cheap", one, prices={"gpu1": 100}, running=9)
    centre("dear", one, prices={"gpu1": 900}, running=3)
    centre("fair", one, prices={"gpu1": 500}, running=1)


def refused(answer, status):
    body = answer.json()
    assert answer.status_code == status
    assert set(body) == {"status", "code", "errorMsg", "data"}
    assert (body["status"], body["data"]) == (status, {})
    assert 0 < len(body["errorMsg"].encode()) <= 128
    assert 0 < len(body["code"].encode()) <= 256
    return body


@A5
def test_the_score_of_a_centre_under_each_policy_is_the_cycle_s(api, network):
    snapshot = snapshot_now()
    job, task = default_request(snapshot)
    now = max(centre.seen_at_s for centre in snapshot.centres)
    for code in ("cheap", "dear", "fair"):
        scores = {each.policy: each.score for each in evaluate(snapshot, job, task, now=now).of(code).scores}
        for policy in POLICIES:
            answer = api.get(f"/scheduler/algorithm/{policy}/score/{code}")
            assert answer.status_code == 200
            assert answer.json() == {
                "status": 200, "code": "ok", "errorMsg": "", "data": {"score": scores[policy]},
            }  # fmt: skip


@A5
@pytest.mark.parametrize(
    ("policy", "code", "status", "words"),
    [
        ("luck", "cheap", 404, "luck"),
        ("price", "nowhere", 404, "nowhere"),
        ("p" * 33, "cheap", 400, "algorithmId"),
        ("price", "湖" * 11, 400, "centerId"),
    ],
)
def test_a_score_that_there_is_not_is_refused_in_the_envelope(api, network, policy, code, status, words):
    assert words in refused(api.get(f"/scheduler/algorithm/{policy}/score/{code}"), status)["errorMsg"]


def test_scores_of_a_job_are_not_taken_for_those_of_the_default_request(api, network):
    assert "jobId" in refused(api.get("/scheduler/algorithm/price/score/cheap?jobId=1"), 400)["errorMsg"]


@A6
def test_the_final_score_is_the_weighted_sum_of_what_is_given(api, network):
    JointcloudSettings.objects.create(number=1, weights=[["price", 600], ["load", 400]])
    url = "/scheduler/evaluate/score/cheap"
    repeated = api.get(f"{url}?algorithmIds=price&algorithmIds=load&algorithmScores=75&algorithmScores=50")
    assert repeated.json() == {"status": 200, "code": "ok", "errorMsg": "", "data": {"score": 65}}
    commas = api.get(url, {"algorithmIds": "load,price", "algorithmScores": "50,75"})
    assert commas.json()["data"] == {"score": 65}


@A6
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, "algorithmIds"),
        ({"algorithmIds": "price"}, "algorithmScores"),
        ({"algorithmIds": "price,load", "algorithmScores": "1"}, "1 scores"),
        ({"algorithmIds": "price,price", "algorithmScores": "1,2"}, "twice"),
        ({"algorithmIds": "price", "algorithmScores": "1"}, "load"),
        ({"algorithmIds": "price,load", "algorithmScores": "1,101"}, "101"),
        ({"algorithmIds": "price,load", "algorithmScores": "1,x"}, "algorithmScores"),
        ({"algorithmIds": "price,load", "algorithmScores": "1,²"}, "algorithmScores"),
        ({"algorithmIds": "p" * 33, "algorithmScores": "1"}, "algorithmIds"),
    ],
)
def test_lists_that_cannot_be_meant_are_refused(api, network, query, words):
    JointcloudSettings.objects.create(number=1, weights=[["price", 600], ["load", 400]])
    assert words in refused(api.get("/scheduler/evaluate/score/cheap", query), 400)["errorMsg"]


@A6
def test_a_centre_that_there_is_not_has_no_final_score(api, network):
    query = {"algorithmIds": "price", "algorithmScores": "1"}
    assert refused(api.get("/scheduler/evaluate/score/nowhere", query), 404)["code"] == "not_found"


@A5
@A6
@pytest.mark.parametrize("host", ["localhost", "acme.localhost"])
@pytest.mark.parametrize(
    "path", ["/scheduler/algorithm/price/score/cheap", "/scheduler/evaluate/score/cheap"]
)
def test_who_is_not_signed_in_is_told_so_in_the_envelope(client, network, acme, host, path):
    refused(client.get(path, HTTP_HOST=host), 401)
    refused(client.get(path, HTTP_HOST=host, HTTP_AUTHORIZATION="Bearer no-such-token"), 401)


def test_an_address_that_leads_nowhere_and_another_method_are_in_the_envelope(api, network):
    refused(api.get("/scheduler/algorithm/price"), 404)
    refused(api.post("/scheduler/algorithm/price/score/cheap", {}), 405)


@pytest.mark.parametrize(("text", "kept"), [("a" * 200, "a" * 128), ("湖" * 50, "湖" * 42), ("ab", "ab")])
def test_texts_are_cut_at_a_character(text, kept):
    assert cut(text, 128) == kept
