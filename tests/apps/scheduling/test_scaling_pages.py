"""Scaling rules on the queue's page, on the work's own page and over the API (ELA-907)."""

import pytest

from apps.kernel.actor import SYSTEM
from apps.scheduling.models import ScalingRule
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.quota.quotas import quota_defaults
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_pages import text
from tests.harness.money import account_ready

pytestmark = [pytest.mark.django_db, pytest.mark.req("ELA-907")]
USE = {"by": "utilisation", "low": 30, "high": 80, "step": 2, "grows_when_high": "1", "cooldown_s": 60}


@pytest.fixture
def alice(acme, globex, member):
    for tenant in (acme, globex):
        quota_defaults(actor=SYSTEM, tenant=tenant)
        account_ready(tenant)
    node_make("n1", devices=2)
    return member("acme", "tenant_front_line")


@pytest.fixture
def ops(operator):
    return operator("cluster_administrator")


@pytest.fixture
def row(alice, acme):
    asked = WorkloadRequest(
        name="job", argv=("true",), compute_percent=20, memory_mib=512, shares=4, min_shares=1
    )
    made = workload_request(actor=alice.actor, tenant=acme, asked=asked)
    cycle_run(actor=SYSTEM)
    return made


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_an_operator_sets_and_removes_a_rule_of_a_queue(alice, ops, language):
    page = ops.page()
    page.cookies["django_language"] = language
    path = "/scheduling/queues/default/scaling/"
    assert path in text(page.get("/scheduling/queues/default/"))
    assert 'data-test="scaling-rule"' not in text(page.get(path))
    assert page.post(path, USE).status_code == 302
    window = {"by": "window", "shares": 2, "windows": "Mon-Fri 08:00-18:00", "cooldown_s": 0}
    assert page.post(path, window).status_code == 302
    shown = text(page.get(path))
    assert shown.count('data-test="scaling-rule"') == 2
    assert "80 %" in shown
    assert "08:00-18:00" in shown
    rule = ScalingRule.objects.get(by="utilisation")
    assert (rule.step, rule.low, rule.high, rule.cooldown_s, rule.made_by) == (2, 30, 80, 60, ops.user)
    assert page.post(f"{path}{rule.uid}/remove/").status_code == 302
    assert ScalingRule.objects.get().by == "window"
    assert page.post(path, {**USE, "low": 90}).status_code == 400
    assert page.post(path, {"by": "moon"}).status_code == 404
    assert alice.page().get(path).status_code == 404


def test_an_owner_sets_rules_of_their_own_work_alone(alice, row, member):
    page, path = alice.page(), f"/resources/{row.uid}/scaling/"
    assert path in text(page.get(f"/resources/{row.uid}/"))
    assert page.post(path, USE).status_code == 302
    shown = text(page.get(path))
    assert shown.count('data-test="scaling-rule"') == 1
    rule = ScalingRule.objects.get()
    assert rule.workload_id == row.pk
    assert member("globex", "tenant_front_line").page().get(path).status_code == 404
    assert page.post(f"{path}{rule.uid}/remove/").status_code == 302
    assert not ScalingRule.objects.exists()


def test_rigid_work_offers_no_rules(alice, acme):
    asked = WorkloadRequest(name="rigid", argv=("true",), compute_percent=20, memory_mib=512)
    rigid = workload_request(actor=alice.actor, tenant=acme, asked=asked)
    assert "/scaling/" not in text(alice.page().get(f"/resources/{rigid.uid}/"))


def test_rules_over_the_api(alice, ops, row, member):
    api, path = alice.api(), f"/api/v1/workloads/{row.uid}/scaling-rules"
    windows = [{"weekday": 0, "from_minute": 480, "to_minute": 1080}]
    made = api.post(path, {"by": "window", "shares": 2, "windows": windows}, format="json")
    assert made.status_code == 201, made.content
    assert made.json()["windows"] == windows
    assert made.json()["sentence"] == "At most 2 shares: Mon 08:00-18:00."
    assert [each["uid"] for each in api.get(path).json()] == [made.json()["uid"]]
    assert api.post(path, {"by": "window", "shares": 9, "windows": windows}, format="json").status_code == 400
    stranger = member("globex", "tenant_front_line").api()
    assert stranger.get(path).status_code == 404
    assert stranger.delete(f"{path}/{made.json()['uid']}").status_code == 404
    assert api.delete(f"{path}/{made.json()['uid']}").status_code == 204
    depth = {"by": "queue_depth", "low": 0, "high": 5}
    queue = "/api/v1/queues/default/scaling-rules"
    assert api.get(queue).status_code in (403, 404)
    made = ops.api().post(queue, depth, format="json")
    assert (made.status_code, made.json()["grows_when_high"]) == (201, False)
    assert len(ops.api().get(queue).json()) == 1
    assert ops.api().delete(f"{queue}/{made.json()['uid']}").status_code == 204


@pytest.mark.req("ELA-906")
def test_the_api_tells_the_size_that_work_goes_by(alice, row):
    told = alice.api().get(f"/api/v1/workloads/{row.uid}").json()
    assert told["wanted_shares"] is None
    assert told["size"] == {"shares": 4, "confirmed": 4, "step": 1, "is_open": False, "due_at": None}
