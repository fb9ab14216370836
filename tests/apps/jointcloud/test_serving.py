"""A tenant sees, and is placed at, the centres that serve it alone: by page, API, dry run and Annex A."""

import json

import pytest

from apps.centers.models import Center, CenterTenant
from apps.centers.services.tenants import center_tenant_remove, center_tenant_set
from apps.jointcloud.models import Decision, Task
from apps.jointcloud.services import placing
from apps.jointcloud.services.submission import job_submit
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from tests.apps.jointcloud.jobs import asked, attempts, cycle, other

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-TEN-2")]
TRY = "/api/v1/placements/try"


@pytest.fixture
def network(spec, centre, acme, globex):
    """One centre serves acme, the best one globex alone, and one nobody."""
    one = spec()
    for code, tenant, price in (("ours", acme, 900), ("theirs", globex, 100), ("empty", None, 100)):
        row = centre(code, one, prices={"gpu1": price}, serves="named")
        if tenant is not None:
            center_tenant_set(actor=SYSTEM, ai_center_id=code, tenant=tenant.schema_name)
        assert row.serves == "named"
    return one


@pytest.fixture
def alice(member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def submit(alice, acme):
    def make(*tasks, **more):
        return job_submit(actor=alice.actor, tenant=acme, asked=asked(*tasks, **more))

    return make


def test_a_job_goes_to_a_centre_that_serves_its_tenant_alone(submit, network):
    job = submit()
    assert cycle().placed == 1
    (attempt,) = attempts(job)
    assert attempt.ai_center_id == "ours"
    placed = Decision.objects.get(task__job=job, kind="placed")
    assert [each["center"] for each in placed.standings] == ["ours"]


def test_without_such_a_centre_it_waits_and_says_why(submit, network, alice):
    center_tenant_remove(actor=SYSTEM, ai_center_id="ours", tenant="acme")
    job = submit()
    assert cycle().placed == 0
    assert ["not_served", {"centres": 3}] in Task.objects.get(job=job).waits_for
    page = alice.page().get(f"/jobs/{job.job_id}/", headers={"accept-language": "en"}).content.decode()
    assert "Do not serve this tenant: 3 centres." in page
    assert "theirs" not in page
    # Named again, it goes there.
    center_tenant_set(actor=SYSTEM, ai_center_id="ours", tenant="acme")
    assert cycle().placed == 1


def test_who_is_taken_off_between_plan_and_dispatch_is_not_placed_there(submit, network, monkeypatch):
    whole = placing.plan

    def planned(*args, **more):
        found = whole(*args, **more)
        CenterTenant.objects.filter(center__ai_center_id="ours").delete()
        return found

    monkeypatch.setattr(placing, "plan", planned)
    job = submit()
    assert cycle().placed == 0
    assert attempts(job) == []


def test_another_tenants_centre_is_as_none_to_a_tenant(alice, submit, network):
    with pytest.raises(InvalidInput) as error:
        submit(other("t", centers=("theirs",)))
    with pytest.raises(InvalidInput) as none:
        submit(other("t", centers=("nowhere",)))
    told = [str(each.value.fields["tasks[0].centers"]) for each in (error, none)]
    assert told[0].replace("theirs", "nowhere") == told[1]
    api = alice.api()
    named = {"resource_spec_id": "gpu1", "center_ids": ["theirs"]}
    assert api.post(TRY, {"tasks": [named]}).status_code == 400
    for path in (
        "/scheduler/algorithm/price/score/{}",
        "/scheduler/evaluate/score/{}?algorithmIds=price&algorithmScores=1",
    ):
        theirs, nowhere = (api.get(path.format(code)) for code in ("theirs", "nowhere"))
        assert (theirs.status_code, nowhere.status_code) == (404, 404)
        assert theirs.json()["errorMsg"].replace("theirs", "nowhere") == nowhere.json()["errorMsg"]
    assert api.get("/scheduler/algorithm/price/score/ours").status_code == 200
    page = alice.page()
    for path in ("/jobs/submit/", "/placements/?resource_spec_id=gpu1&replicas=1"):
        text = page.get(path).content.decode()
        assert "ours" in text
        assert "theirs" not in text


@pytest.mark.parametrize("whose", ["", "globex"])
def test_a_tenants_dry_run_tells_of_its_centres_whomever_it_names(alice, network, whose):
    answer = alice.api().post(TRY, {"tasks": [{"resource_spec_id": "gpu1"}], "tenant": whose})
    (told,) = answer.json()["tasks"]
    assert [row["ai_center_id"] for row in told["centers"]] == ["ours"]
    assert told["placed"][0]["ai_center_id"] == "ours"
    assert "theirs" not in json.dumps(answer.json())


def test_operators_try_for_a_tenant_and_read_why_not(operator, network):
    api = operator("cluster_administrator").api()
    body = {"tasks": [{"resource_spec_id": "gpu1"}]}
    found = {row["ai_center_id"]: row for row in api.post(TRY, body).json()["tasks"][0]["centers"]}
    assert all(row["is_candidate"] for row in found.values())
    answer = api.post(TRY, body | {"tenant": "globex"}, headers={"accept-language": "en"})
    found = {row["ai_center_id"]: row for row in answer.json()["tasks"][0]["centers"]}
    assert [code for code, row in found.items() if row["is_candidate"]] == ["theirs"]
    assert found["ours"]["reasons"] == [
        {"code": "not_served", "message": "The centre does not serve the tenant globex."}
    ]
    assert api.post(TRY, body | {"tenant": "nobody"}).status_code == 400


def test_a_centre_for_all_serves_tenants_that_are_not_named(submit, network):
    Center.objects.filter(ai_center_id="empty").update(serves="all")
    job = submit()
    cycle()
    assert attempts(job)[0].ai_center_id == "empty"
