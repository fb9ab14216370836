"""The scheduler's pages with rows in them: what stands in them, in words, and who may do what."""

import re
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.billing.models import UsageRecord
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import StartEstimate, WhatIf, Workload
from apps.scheduling.selectors.queues.queue_tree import queue_tree
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.environments import environment_make
from apps.scheduling.services.queues.queue_settings import policy_set, queue_make
from apps.scheduling.services.quota.quotas import quota_defaults
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from apps.scheduling.views.queues.policy_changes import changes_said, policy_history
from apps.scheduling.views.work.charts import use_option
from tests.apps.scheduling.pool import node_make
from tests.apps.scheduling.test_cycles import started
from tests.apps.scheduling.test_pages import text
from tests.harness.money import account_ready

pytestmark = pytest.mark.django_db
JOB = {"name": "job", "argv": ("true",), "compute_percent": 60, "memory_mib": 512}


@pytest.fixture
def alice(acme, globex, member):
    quota_defaults(actor=SYSTEM, tenant=acme)
    account_ready(acme)
    node_make("n1", devices=2)
    return member("acme", "tenant_front_line")


@pytest.fixture
def ops(operator):
    return operator("cluster_administrator")


def make(code, parent=None, **changes):
    changes |= {"parent": parent} if parent else {}
    return queue_make(actor=SYSTEM, code=code, name_en=code.title(), name_zh=f"{code}队列", changes=changes)


def ask(person, acme, **more):
    return workload_request(actor=person.actor, tenant=acme, asked=WorkloadRequest(**{**JOB, **more}))


@pytest.fixture
def busy(alice, acme):
    """Queues three deep, of which the lowest borrows and lets work wait."""
    top = make("top", max_compute_percent=200, guaranteed_compute_percent=100)
    middle = make("middle", top, max_compute_percent=50, borrow_compute_percent=80)
    make("low", middle)
    runs = [ask(alice, acme, queue="low"), ask(alice, acme, queue="low", name="other")]
    cycle_run(actor=SYSTEM)
    for row in runs:
        started(row)
    ask(alice, acme, queue="low", name="waits")
    cycle_run(actor=SYSTEM)
    return runs


@pytest.mark.req("ELA-1101", "ELA-610")
def test_a_branch_is_bounded_by_what_it_is_part_of(busy):
    found = {branch.queue.code: branch for branch in queue_tree()}
    low, middle, top = (found[code] for code in ("low", "middle", "top"))
    assert (low.depth, low.bound_percent, low.is_bound_above) == (2, 130, True)
    assert (middle.bound_percent, middle.is_bound_above) == (130, False)
    assert (top.bound_percent, top.is_bound_above) == (200, False)
    assert (middle.borrowed_percent, middle.kept_percent) == (70, 50)
    assert found["default"].bound_percent is None


@pytest.mark.req("ELA-1101", "PLAT-AICFG-23")
def test_a_queue_shows_what_runs_and_waits_in_it(busy, ops):
    tree = text(ops.page().get("/scheduling/queues/"))
    for part in ("120 % of it", "borrowed", 'data-code="low" data-depth="2"', "/ 130 % ↑"):
        assert part in tree.replace("120 % in use, 70 % of it", "120 % of it"), part
    shown = text(ops.page().get("/scheduling/queues/low/"))
    assert shown.count('data-test="queue-runs"') == 2
    assert shown.count('data-test="queue-waits"') == 1
    assert "60 % more are asked" in shown
    # The live part alone is fetched again; the form beside it stays.
    assert 'hx-select="#queue-now"' in shown


@pytest.mark.req("PLAT-AICFG-18")
def test_the_history_of_the_policy_says_what_became_of_what(ops):
    policy_set(actor=ops.actor, changes={"ordering": "first_come", "half_life_s": 86400})
    policy_set(actor=ops.actor, changes={"ordering": "priority", "has_preemption": True})
    policy_set(actor=ops.actor, changes={"ordering": "priority", "half_life_s": None})
    newest, middle, oldest = policy_history()
    assert [(each.label, each.before, each.value) for each in newest.settings] == [
        ("Past use counts half after", "1 d", "none")
    ]
    assert [(each.before, each.value) for each in middle.settings] == [
        ("First in, first out", "Priority"),
        ("", "yes"),
    ]
    assert [each.value for each in oldest.settings] == ["First in, first out", "1 d"]
    page = text(ops.page().get("/scheduling/policy/"))
    assert page.count('data-test="policy-change"') == 3
    assert "1 d" in page


@pytest.mark.req("ELA-103")
def test_a_what_if_names_settings_and_tenants_in_words(acme, ops):
    make("night")
    changes = {
        "policy": {"placing": "best_fit", "aging_s": 60},
        "queues": {"night": {"weight": 2}},
        "quotas": {"acme": {"compute_percent": 300}},
    }
    policy, queue, quota = changes_said(changes)
    assert [(each.label, each.value) for each in policy.settings] == [
        ("Resource scheduling", "BestFit"),
        ("Waiting that counts as one priority more", "1 min"),
    ]
    assert queue.subject == "Queue night"
    assert quota.subject == f"Quota {acme.name}"
    figures = [
        {"name": "wait_p50_s", "before": 90, "after": 30},
        {"name": "money", "before": 5, "after": 4},
        {"name": "unstarted", "before": 1, "after": 1},
    ]
    both = {"before": [(5, 1), (100, 9000)], "after": [(5, 1), (100, 30)]}
    result = {
        "figures": figures,
        "submissions": 3,
        "waits": both,
        "use": {"before": [(0, 10)], "after": [(0, 20)]},
        "tenants": [{"tenant": "acme", "submissions": 3, "before": 90, "after": 30}],
    }
    row = WhatIf.objects.create(name="try", changes=changes, state="done", result=result)
    page = text(ops.page().get(f"/scheduling/what-if/{row.uid}/"))
    for part in (
        'data-turn="better"',
        'data-turn="worse"',
        'data-turn=""',
        acme.name,
        "0:01:30",
        "wait (min)",
    ):
        assert part in page, part
    assert "{&#x27;" not in page


@pytest.mark.req("ELA-103")
def test_missed_start_estimates_stand_by_name(busy, ops):
    now = timezone.now()
    kept, missed = busy
    for row, is_kept, error_s in ((kept, True, 0), (missed, False, -600)):
        StartEstimate.objects.update_or_create(
            workload=row,
            defaults={
                "queue": row.queue, "basis": "known_ends", "start_at": now, "low_at": now - timedelta(seconds=9),
                "high_at": now, "started_at": now, "is_kept": is_kept, "error_s": error_s,
            },
        )  # fmt: skip
    page = text(ops.page().get("/scheduling/start-estimates/"))
    assert page.count('data-test="missed-row"') == 1
    assert missed.no in page
    assert "10 min earlier" in page
    shown = text(ops.page().get(f"/t/acme/resources/{missed.uid}/"))
    assert "missed" in shown


@pytest.mark.req("ELA-503", "ELA-504")
def test_a_jobs_page_has_all_its_acts_for_who_may_and_none_for_others(busy, acme, alice, member):
    row = ask(alice, acme, name="elastic", shares=2, min_shares=1, compute_percent=10)
    cycle_run(actor=SYSTEM)
    started(row)
    page = alice.page()
    shown = text(page.get(f"/resources/{row.uid}/"))
    for act in ("suspend", "requeue", "resize", "scale", "stop"):
        assert f'data-test="{act}"' in shown, act
    for part in ("timeline", "cost", "log", "story"):
        assert f'data-test="{part}"' in shown or f'id="{part}"' in shown, part
    live = page.get(f"/resources/{row.uid}/", headers={"HX-Request": "true"})
    assert text(live).count("hx-swap-oob") == 2
    reader = member("acme", "tenant_decision_maker").page()
    assert 'data-test="acts"' not in text(reader.get(f"/resources/{row.uid}/"))
    stranger = member("globex", "tenant_front_line").page()
    given = {"compute_percent": 5, "memory_mib": 5, "shares": 1}
    for act in ("stop", "scale", "resize", "steer/suspend", "steer/resume", "steer/requeue"):
        path = f"/resources/{row.uid}/{act}/"
        assert (reader.post(path, given).status_code, stranger.post(path, given).status_code) == (403, 404), (
            act
        )
    page.post(f"/resources/{row.uid}/steer/requeue/")
    row.refresh_from_db()
    assert (row.state, row.reason_code) == ("stopping", "requeued")


@pytest.mark.req("ELA-505")
def test_a_jobs_page_tells_which_slice_is_which_share_and_replica(alice, acme):
    rows = [ask(alice, acme, compute_percent=10, **of) for of in ({"shares": 4, "shares_per_replica": 2}, {})]
    cycle_run(actor=SYSTEM)
    several, one = (text(alice.page().get(f"/resources/{row.uid}/")) for row in rows)
    assert re.findall(r"share (\d) · replica (\d)", several) == [
        ("0", "0"),
        ("1", "0"),
        ("2", "1"),
        ("3", "1"),
    ]
    assert one.count('data-test="slice"') == 1
    assert "share-of" not in one


def test_what_all_slices_used_in_the_same_seconds_is_one_point_of_the_chart():
    at, a, b, day = datetime(2026, 1, 1, 8, tzinfo=UTC), uuid4(), uuid4(), 24 * 3600
    told = ((a, 5, 5, 5, 10), (b, 7, 5, 10, 20), (a, 10, 5, 5, 30), (a, 12, 2, 4, 8), (a, day + 5, 5, 0, 7))
    records = [
        UsageRecord(
            slice_uid=uid,
            end_at=at + timedelta(seconds=end),
            seconds=seconds,
            cpu_seconds=busy,
            memory_peak_mib=peak,
        )
        for uid, end, seconds, busy, peak in told
    ]
    drawn = use_option(records)
    assert len(drawn["xAxis"]["data"]) == 3, (
        "the last two of a end within one interval; another day is another point"
    )
    assert [series["data"] for series in drawn["series"]] == [[3, 1.29, 0], [30, 30, 7]]


@pytest.mark.req("ELA-409", "PLAT-SVC-17")
def test_the_list_tells_where_work_is_or_why_it_waits(busy, alice):
    page = text(alice.page().get("/resources/"))
    assert page.count('data-test="resource-row"') == 3
    assert page.count('data-test="why"') == 1
    assert "60 % more are asked" in page
    assert page.count("n1 <") == 2


@pytest.mark.req("ELA-501", "POOL-12.1")
def test_work_is_submitted_into_an_environment_from_the_form(alice, acme):
    row = environment_make(
        actor=alice.actor,
        tenant=acme,
        name="lab",
        shares=1,
        compute_percent=25,
        memory_mib=300,
        is_fixed=False,
    )
    given = {
        "name": "train", "kind": "program", "command": "true", "environment": str(row.uid), "compute_percent": 30,
        "memory_mib": 512, "shares": 1, "queue": "default",
    }  # fmt: skip
    page = alice.page()
    dry = text(page.post("/resources/submit/dry-run/", given))
    assert "1 × 25 %" in dry
    assert 'data-test="dry-run-cost"' in dry
    assert page.post("/resources/submit/", given).status_code == 302
    made = Workload.objects.across().get()
    assert (made.environment, made.compute_percent, made.memory_mib) == (row, 25, 300)
