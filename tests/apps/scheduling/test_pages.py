"""The pages of direct work: what they show, and what is done from them."""

import pytest

from apps.fleet.models import Slice
from apps.fleet.services.specs import spec_make
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Environment, SchedulingPolicy, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import queue_ensure
from apps.scheduling.services.quota.quotas import quota_defaults
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.catalog.market import commodity_make
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_cycles import started
from tests.harness.money import account_ready

SESSION = WorkloadRequest(name="lab", kind="session", compute_percent=40, memory_mib=1000, idle_timeout_s=90)


@pytest.fixture
def alice(db, acme, globex, member):
    quota_defaults(actor=SYSTEM, tenant=acme)
    account_ready(acme)
    node_make("n1")
    return member("acme", "tenant_front_line")


@pytest.fixture
def session(alice, acme):
    row = workload_request(actor=alice.actor, tenant=acme, asked=SESSION)
    cycle_run(actor=SYSTEM)
    started(row)
    return row


def text(response):
    """The page as a reader sees it: a line break is a space like any other."""
    assert response.status_code == 200, response.content
    return " ".join(response.content.decode().split())


def test_a_resource_shows_what_it_holds_and_what_may_be_done(alice, session, member):
    page = text(alice.page().get(f"/resources/{session.uid}/"))
    for part in (
        "Session",
        "1 × 40 %",
        "not mounted yet",
        "Idle at most",
        'data-test="resize"',
        'data-test="migrate"',
    ):
        assert part in page
    reader = text(member("acme", "tenant_decision_maker").page().get(f"/resources/{session.uid}/"))
    assert 'data-test="acts"' not in reader
    stranger = member("globex", "tenant_front_line").page()
    for act in ("", "stop/", "resize/", "migrate/"):
        call = stranger.post if act else stranger.get
        given = {"compute_percent": 5, "memory_mib": 5}
        assert call(f"/resources/{session.uid}/{act}", given).status_code == 404


def test_its_share_is_changed_and_it_is_stopped_from_its_page(alice, session):
    page = alice.page()
    page.post(f"/resources/{session.uid}/resize/", {"compute_percent": 70, "memory_mib": 1500})
    assert Slice.plain.get().compute_percent == 70
    refused = page.post(f"/resources/{session.uid}/resize/", {"compute_percent": 70, "memory_mib": 99999})
    assert refused.status_code == 400
    page.post(f"/resources/{session.uid}/stop/", {"reason": "enough"})
    row = Workload.plain.get()
    assert (row.state, row.reason["text"]) == ("stopping", "enough")


def test_the_list_shows_direct_work_and_how_to_run_a_first_script(alice, session):
    page = text(alice.page().get("/resources/"))
    assert "weir run --share 30" in page
    assert session.no in page


@pytest.mark.req("POOL-12.1", "POOL-12.14")
def test_environments_are_made_listed_and_retired(alice, member):
    spec_make(actor=SYSTEM, code="small", name_en="Small", compute_percent=10, memory_mib=512)
    page = alice.page()
    assert "Small" in text(page.get("/resources/environments/"))
    page.post("/resources/environments/add/", {"name": "one", "spec": "small", "shares": 1, "is_fixed": "on"})
    row = Environment.plain.get()
    assert (row.is_fixed, row.compute_percent, row.memory_mib) == (True, 10, 512)
    assert 'data-name="one"' in text(page.get("/resources/environments/"))
    assert page.post("/resources/environments/add/", {"name": "two", "shares": 1}).status_code == 400
    stranger = member("globex", "tenant_front_line").page()
    assert stranger.post(f"/resources/environments/{row.uid}/remove/").status_code == 404
    page.post(f"/resources/environments/{row.uid}/remove/")
    assert 'data-name="one"' not in text(page.get("/resources/environments/"))


def test_operators_say_on_the_policys_page_what_direct_work_is_charged_as(db, operator):
    row = commodity_make()
    page = operator("cluster_administrator").page()
    assert 'data-test="direct-save"' in text(page.get("/scheduling/policy/"))
    answer = page.post("/scheduling/policy/direct/", {"commodity": row.pk})
    assert f"Direct work is charged as {row.name} from now on." in text(page.get(answer.url))
    assert SchedulingPolicy.objects.get().direct_commodity == row
    assert page.post("/scheduling/policy/direct/", {"commodity": 0}).status_code == 400
    assert SchedulingPolicy.objects.get().direct_commodity == row
    looks = operator("executive").page()
    assert 'data-test="direct-save"' not in text(looks.get("/scheduling/policy/"))
    assert looks.post("/scheduling/policy/direct/", {"commodity": ""}).status_code == 403
    page.post("/scheduling/policy/direct/", {"commodity": ""})
    assert SchedulingPolicy.objects.get().direct_commodity is None


@pytest.mark.req("POOL-12.27", "POOL-12.10")
def test_operators_set_the_policy_which_queues_follow(db, operator):
    queue_ensure(actor=SYSTEM)
    ops = operator("cluster_administrator").page()
    given = {"placing": "node_compact", "ordering": "priority", "patience_s": 60, "aging_s": ""}
    ops.post("/admin/scheduling/schedulingpolicy/add/", given)
    policy = SchedulingPolicy.objects.get()
    assert (policy.placing, policy.ordering, policy.patience_s, policy.aging_s) == (
        "node_compact",
        "priority",
        60,
        None,
    )
    assert "as the policy says" in text(ops.get("/admin/scheduling/queue/"))
