"""The operators' scheduling pages: queues, policy with its history, priorities, validity, special specs, what-ifs."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.fleet.services import groups
from apps.identity.models import Membership
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import QuotaExceeded
from apps.scheduling.errors import DeadlineImpossible, OutsideValidity, PriorityNotAllowed, TooMuchOpen
from apps.scheduling.models import Queue, SchedulingPolicy, StartEstimate, TenantQuota, WhatIf, Workload
from apps.scheduling.selectors.forecasts import forecast
from apps.scheduling.selectors.forecasts.what_if import what_if_get
from apps.scheduling.selectors.timeline import calibration
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.cycle.start_estimates import (
    start_estimates_make,
    start_estimates_score,
    workload_dry_run,
)
from apps.scheduling.services.cycle.what_ifs import what_if_ask
from apps.scheduling.services.entitlements.access_rules import priority_set, special_make, validity_make
from apps.scheduling.services.queues.queue_settings import policy_set, queue_ensure
from apps.scheduling.services.quota.quotas import quota_defaults
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.tasks import what_if_run, what_ifs_sweep
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make, submit
from tests.apps.scheduling.test_pages import text
from tests.harness.money import account_ready

pytestmark = pytest.mark.django_db
JOB = {"name": "job", "argv": ("true",), "compute_percent": 60, "memory_mib": 512}


@pytest.fixture
def alice(acme, globex, member):
    for tenant in (acme, globex):
        quota_defaults(actor=SYSTEM, tenant=tenant)
        account_ready(tenant)
    node_make("n1")
    return member("acme", "tenant_front_line")


@pytest.fixture
def ops(operator):
    return operator("cluster_administrator")


def ask(person, acme, **more):
    return workload_request(actor=person.actor, tenant=acme, asked=WorkloadRequest(**{**JOB, **more}))


# --- pages -----------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-AICFG-17")
@pytest.mark.parametrize(
    "path",
    [
        "queues/",
        "queues/default/",
        "policy/",
        "priorities/",
        "validity/",
        "specials/",
        "start-estimates/",
        "what-if/",
    ],
)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_pages_open_for_operators_only(alice, ops, path, language):
    page = ops.page()
    page.cookies["django_language"] = language
    for headers in ({}, {"HX-Request": "true"}):
        assert "{%" not in text(page.get(f"/scheduling/{path}", headers=headers))
    assert alice.page().get(f"/scheduling/{path}").status_code == 404


@pytest.mark.req("PLAT-AICFG-23", "ELA-601", "PLAT-CLU-46")
def test_a_queue_is_made_changed_and_removed_on_its_pages(alice, ops):
    page = ops.page()
    given = {
        "code": "night", "name_en": "Night", "name_zh": "夜间", "state": "up", "priority": 3, "weight": 2,
        "guaranteed_compute_percent": 40, "windows": "Mon-Sun 20:00-24:00", "preempts": "on",
        "time_limit": "unlimited", "oversubscribe": "force",
    }  # fmt: skip
    made = page.post("/scheduling/queues/new/", given)
    assert made.status_code == 302, made.content
    row = Queue.objects.get(code="night")
    assert (row.weight, row.preempts, row.reclaims, row.windows.count(), row.borrow_memory_mib) == (
        2,
        True,
        False,
        7,
        0,
    )
    shown = text(page.get("/scheduling/queues/"))
    assert 'data-code="night"' in shown
    assert "Mon-Sun 20:00-24:00" in shown
    form = text(page.get("/scheduling/queues/night/"))
    assert 'value="40"' in form
    refused = page.post("/scheduling/queues/night/", {**given, "parent": row.pk})
    assert refused.status_code == 400
    page.post("/scheduling/queues/night/", {**given, "state": "drain", "windows": ""})
    row.refresh_from_db()
    assert (row.state, row.windows.count()) == ("drain", 0)
    page.post("/scheduling/queues/night/remove/")
    assert not Queue.objects.filter(code="night").exists()


@pytest.mark.req("PLAT-AICFG-18")
def test_a_change_of_the_policy_is_kept_and_logged(alice, ops):
    page = ops.page()
    given = {
        "ordering": "fair_share", "placing": "best_fit", "has_backfill": "on", "grace_s": 60, "min_run_s": 0,
        "max_preemptions": 3, "hysteresis_s": 300, "reserved_starts": 1, "ahead_s": 600, "max_moves": 4,
        "max_open_per_user": 9, "max_open_per_tenant": 99,
    }  # fmt: skip
    assert page.post("/scheduling/policy/", given).status_code == 302
    assert page.post("/scheduling/policy/", {**given, "grace_s": 90}).status_code == 302
    row = SchedulingPolicy.objects.get()
    assert (row.ordering, row.grace_s, row.max_open_per_user, row.patience_s) == ("fair_share", 90, 9, None)
    shown = text(page.get("/scheduling/policy/"))
    assert shown.count('data-test="policy-change"') == 2
    assert "<strong>1 min 30 s</strong>" in shown


# --- who may what ------------------------------------------------------------------------------------------------


@pytest.mark.req("PLAT-AICFG-24", "PLAT-AICFG-25")
def test_a_users_work_has_the_priority_that_operators_gave_them(alice, acme, ops):
    page = ops.page()
    assert f'data-user="{alice.user.username}"' not in text(page.get("/scheduling/priorities/"))
    groups.group_make(actor=SYSTEM, code="labs", name_en="Labs", name_zh="实验室")
    groups.group_grant(actor=SYSTEM, code="labs", tenant=acme)
    assert f'data-user="{alice.user.username}"' in text(page.get("/scheduling/priorities/"))
    page.post(f"/scheduling/priorities/{alice.user.username}/", {"priority": 5, "most_priority": 7})
    assert ask(alice, acme).priority == 5
    assert ask(alice, acme, compute_percent=1, priority=7).priority == 7
    with pytest.raises(PriorityNotAllowed, match="priority 7 at most, not 8"):
        ask(alice, acme, priority=8)
    with pytest.raises(PriorityNotAllowed, match="urgent"):
        ask(alice, acme, urgent=True)
    priority_set(actor=SYSTEM, user=alice.user, priority=0, most_priority=0, may_urgent=True)
    assert ask(alice, acme, compute_percent=1, urgent=True).urgent
    assert (
        page.post(
            f"/scheduling/priorities/{alice.user.username}/", {"priority": 5, "most_priority": 1}
        ).status_code
        == 400
    )


@pytest.mark.req("PLAT-AICFG-24")
def test_the_page_lists_who_has_a_resource_group_and_nobody_else(alice, acme, globex, member, ops):
    bob, carol, dave = (member(tenant, "tenant_front_line") for tenant in ("acme", "acme", "globex"))
    for each in (alice, bob, carol, dave):
        priority_set(actor=SYSTEM, user=each.user, priority=1, most_priority=2)
    groups.group_make(actor=SYSTEM, code="labs", name_en="Labs", name_zh="实验室")

    def listed():
        rows = ops.api().get("/api/v1/user-priorities").json()
        shown = text(ops.page().get("/scheduling/priorities/"))
        assert all(f'data-user="{row["user"]}"' in shown for row in rows)
        assert shown.count('data-test="priority-row"') == len(rows)
        return {row["user"] for row in rows}

    assert listed() == set(), "a priority alone is no resource group"
    groups.group_grant(actor=SYSTEM, code="labs", tenant=acme)
    assert listed() == {each.user.username for each in (alice, bob, carol)}
    named = [bob.user.username, carol.user.username]
    groups.group_grant(actor=SYSTEM, code="labs", tenant=acme, members=named)
    assert listed() == set(named)
    Membership.objects.filter(user=carol.user).update(is_active=False)
    assert listed() == {bob.user.username}


@pytest.mark.req("PLAT-AICFG-30", "PLAT-AICFG-31", "PLAT-AICFG-33")
def test_outside_their_period_users_start_nothing_of_that_purpose(alice, acme, ops):
    local = timezone.localtime(timezone.now(), timezone.get_default_timezone())
    other_day = (local.weekday() + 3) % 7
    rule = validity_make(
        actor=SYSTEM, name="training", users=[alice.user], periods={"training": [(other_day, 0, 1440)]}
    )
    with pytest.raises(OutsideValidity, match="00:00-24:00"):
        ask(alice, acme)
    assert ask(alice, acme, purpose="inference").purpose == "inference"
    page = ops.page()
    assert "training" in text(page.get("/scheduling/validity/"))
    page.post("/scheduling/validity/remove/", {"rule": [rule.pk]})
    assert ask(alice, acme, compute_percent=1).purpose == "training"


@pytest.mark.req("PLAT-AICFG-29")
def test_a_validity_rule_is_made_on_its_page(alice, ops):
    page = ops.page()
    given = {"name": "day", "users": alice.user.username, "development": "Mon-Fri 08:00-18:00"}
    assert page.post("/scheduling/validity/", given).status_code == 302
    assert "Mon 08:00-18:00" in text(page.get("/scheduling/validity/"))
    assert page.post("/scheduling/validity/", {**given, "name": "x", "users": "nobody"}).status_code == 400
    assert page.post("/scheduling/validity/", given).status_code == 409


@pytest.mark.req("PLAT-CLU-35", "PLAT-CLU-38", "PLAT-CLU-39")
def test_a_special_spec_bounds_a_user_while_it_is_in_force(alice, acme, ops):
    now = timezone.now()
    row = special_make(
        actor=SYSTEM, tenant=acme, name="intern", user=alice.user, compute_percent=70,
        from_at=now - timedelta(hours=1), until_at=now + timedelta(hours=1),
    )  # fmt: skip
    ask(alice, acme)
    said = r"70 % of compute, by special spec of the user intern until .*: 60 % are used, 60 % more"
    with pytest.raises(QuotaExceeded, match=said):
        ask(alice, acme)
    page = ops.page()
    page.post(f"/scheduling/specials/{row.pk}/disable/")
    ask(alice, acme)
    page.post(f"/scheduling/specials/{row.pk}/delete/")
    assert 'data-name="intern"' not in text(page.get("/scheduling/specials/"))


# --- what is refused at once -------------------------------------------------------------------------------------


@pytest.mark.req("ELA-507")
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"deadline_at": -60}, "deadline is past"),
        ({"deadline_at": 60, "earliest_start_at": 120}, "not start before its deadline"),
        ({"deadline_at": 600, "run_timeout_s": 700}, "may run 11 min 40 s"),
    ],
)
def test_a_deadline_that_cannot_be_met_is_refused(alice, acme, more, message):
    now = timezone.now()
    given = {
        name: now + timedelta(seconds=value) if name.endswith("_at") else value
        for name, value in more.items()
    }
    with pytest.raises(DeadlineImpossible, match=message):
        ask(alice, acme, **given)
    assert not Workload.objects.across().exists()


@pytest.mark.req("ELA-501", "ELA-507")
@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"shares": 2, "min_shares": 3}, "min_shares"),
        ({"min_shares": 0}, "min_shares"),
        ({"affinity": "a", "anti_affinity": "a"}, "anti_affinity"),
        ({"placing": "local"}, "local_node"),
        ({"purpose": "fun"}, "purpose"),
    ],
)
def test_contradictory_wishes_are_refused_by_their_field(alice, more, field):
    body = {**JOB, "argv": ["true"], **more}
    refused = alice.api().post("/api/v1/workloads", body, format="json")
    assert refused.status_code == 400, refused.content
    assert field in refused.json()["error"]["fields"]


@pytest.mark.req("ELA-507")
def test_more_open_work_than_the_policy_lets_is_refused(alice, acme):
    policy_set(actor=SYSTEM, changes={"max_open_per_user": 2})
    ask(alice, acme, compute_percent=1)
    ask(alice, acme, compute_percent=1)
    with pytest.raises(TooMuchOpen, match="2 workloads at a time wait or run for you at most: 2 do"):
        ask(alice, acme, compute_percent=1)


def test_asked_twice_with_one_key_it_is_one_workload(alice, acme):
    assert ask(alice, acme, client_key="k").pk == ask(alice, acme, client_key="k").pk
    assert Workload.objects.across().count() == 1


# --- dry run, start estimates ------------------------------------------------------------------------------------


@pytest.mark.req("ELA-1102")
def test_a_dry_run_says_when_and_with_how_much_now_and_keeps_nothing(alice, acme):
    api = alice.api()
    body = {**JOB, "argv": ["true"]}
    found = api.post("/api/v1/workloads/dry-run", body, format="json").json()
    assert (found["basis"], found["now"]) == ("free_now", None)
    row = ask(alice, acme, run_timeout_s=600)
    cycle_run(actor=SYSTEM)
    found = api.post("/api/v1/workloads/dry-run", body, format="json").json()
    assert found["basis"] == "known_ends"
    assert found["low_at"] <= found["start_at"] <= found["high_at"]
    assert found["now"]["percent"] == 40
    assert "40 %" in found["now"]["sentence"]
    assert Workload.objects.across().count() == 1
    refused = api.post("/api/v1/workloads/dry-run", {**body, "shares": 500}, format="json")
    assert refused.json()["error"]["code"] == "gang_too_large"
    row.refresh_from_db()
    told = api.get(f"/api/v1/workloads/{row.uid}/explain").json()
    assert (told["state"], told["expected"]) == ("placed", None)


@pytest.mark.req("ELA-1102")
def test_a_start_estimate_is_made_once_and_scored_at_the_start(alice, acme):
    ask(alice, acme, run_timeout_s=600)
    cycle_run(actor=SYSTEM)
    waiting = ask(alice, acme)
    assert start_estimates_make(actor=SYSTEM) == 1
    assert start_estimates_make(actor=SYSTEM) == 0
    made = StartEstimate.objects.get(workload=waiting)
    assert made.low_at <= made.start_at <= made.high_at
    at = made.start_at + timedelta(seconds=5)
    start_estimates_score([waiting.pk], at)
    start_estimates_score([waiting.pk], at + timedelta(days=1))
    made.refresh_from_db()
    assert (made.started_at, made.error_s, made.is_kept) == (at, 5, True)
    StartEstimate.objects.update(started_at=timezone.now())
    found = calibration()
    assert (found.scored, found.inside_percent, found.median_error_s) == (1, 100, 5)
    told = alice.api().get(f"/api/v1/workloads/{waiting.uid}/explain").json()
    assert told["start_estimate"]["basis"] == "known_ends"
    assert told["expected"]["sentence"]


@pytest.mark.req("ELA-1102")
def test_another_tenants_work_is_explained_to_nobody_else(alice, acme, member):
    row = ask(alice, acme)
    stranger = member("globex", "tenant_front_line").api()
    assert stranger.get(f"/api/v1/workloads/{row.uid}/explain").status_code == 404


def test_a_dry_run_is_refused_as_the_submission_would_be(alice, acme):
    with pytest.raises(DeadlineImpossible):
        workload_dry_run(
            actor=alice.actor,
            tenant=acme,
            asked=WorkloadRequest(**JOB, deadline_at=timezone.now() - timedelta(hours=1)),
        )


# --- what if -----------------------------------------------------------------------------------------------------


def past_make(acme, count=6):
    """Work that ran an hour each, one after the other on one card, the last of it important."""
    queue_ensure(actor=SYSTEM)
    now = timezone.now()
    for index in range(count):
        row = submit(acme, percent=100, priority=index)
        begin = now - timedelta(hours=count - index)
        Workload.plain.filter(pk=row.pk).update(
            state="finished", created_at=now - timedelta(hours=count + 1) + timedelta(seconds=index),
            started_at=begin, ended_at=begin + timedelta(minutes=50),
        )  # fmt: skip


@pytest.mark.req("ELA-103")
def test_a_what_if_replays_the_past_and_changes_nothing_live(alice, acme, ops):
    past_make(acme)
    page = ops.page()
    asked = page.post("/scheduling/what-if/", {"name": "two", "days": 1, "ordering": "priority", "tenant": "acme",
        "compute_percent": 100})  # fmt: skip
    assert asked.status_code == 302, asked.content
    row = WhatIf.objects.get()
    assert row.changes == {"policy": {"ordering": "priority"}, "quotas": {"acme": {"compute_percent": 100}}}
    quota = TenantQuota.objects.across().get(tenant=acme, item="compute_percent").total
    policy = SchedulingPolicy.objects.get()
    what_if_run(str(row.uid))
    row = what_if_get(row.uid)
    assert row.state == "done", row.error
    figures = {each["name"]: each for each in row.result["figures"]}
    assert row.result["submissions"] == 6
    assert figures["wait_p95_s"]["before"] > 0
    assert figures["unstarted"]["before"] == figures["unstarted"]["after"] == 0
    assert SchedulingPolicy.objects.get().ordering == policy.ordering != "priority"
    assert TenantQuota.objects.across().get(tenant=acme, item="compute_percent").total == quota
    shown = text(page.get(f"/scheduling/what-if/{row.uid}/"))
    assert 'data-name="jain_permille"' in shown
    assert what_ifs_sweep() == 0


def test_a_what_if_that_could_not_be_set_is_refused(alice, ops):
    queue_ensure(actor=SYSTEM)
    page = ops.page()
    given = {"name": "too much", "days": 1, "queue": "default", "guaranteed_compute_percent": 9999}
    assert page.post("/scheduling/what-if/", given).status_code == 400
    assert page.post("/scheduling/what-if/", {"name": "nothing", "days": 1}).status_code == 400
    assert not WhatIf.objects.exists()


def test_what_cannot_be_set_any_more_fails_and_says_why(alice, ops):
    queue_ensure(actor=SYSTEM)
    row = what_if_ask(
        actor=ops.actor,
        name="x",
        days=1,
        changes={"queues": {"default": {"guaranteed_compute_percent": 50}}},
    )
    WhatIf.objects.update(changes={"queues": {"default": {"guaranteed_compute_percent": 5000}}})
    what_if_run(str(row.uid))
    row.refresh_from_db()
    assert row.state == "failed"
    assert "can guarantee 100" in row.error


# --- a member's pages --------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-501", "ELA-503")
def test_work_is_submitted_in_the_browser_after_a_dry_run(alice, acme):
    page = alice.page()
    form = text(page.get("/resources/submit/"))
    assert 'data-test="submit-deadline_at"' in form
    given = {
        "name": "train", "kind": "program", "command": "python 'my train.py' --lr 0.1", "compute_percent": 30,
        "memory_mib": 512, "shares": 2, "min_shares": 1, "queue": "default", "run_minutes": 10, "preemptible": "on",
    }  # fmt: skip
    begun = {name: value for name, value in given.items() if name not in ("name", "command")}
    for stage in (given, {**begun, "name": "", "command": ""}):
        dry = text(page.post("/resources/submit/dry-run/", stage))
        assert "There is room now" in dry
    assert "once" in dry
    wrong = text(page.post("/resources/submit/dry-run/", {**given, "command": "python 'x"}))
    assert "quotation mark" in wrong
    assert page.post("/resources/submit/", given).status_code == 302
    row = Workload.objects.across().get()
    assert row.work["argv"] == ["python", "my train.py", "--lr", "0.1"]
    assert (row.shares, row.min_shares, row.run_timeout_s, row.preemptible, row.purpose) == (
        2,
        1,
        600,
        True,
        "training",
    )
    shown = text(page.get(f"/resources/{row.uid}/"))
    for part in ("timeline", "expected", "elastic", "suspend", "scale"):
        assert f'data-test="{part}"' in shown, part
    listed = text(page.get("/resources/?search=train&kind=program&queue=default&mine=on"))
    assert row.no in listed
    assert row.no not in text(page.get("/resources/?search=other"))


@pytest.mark.req("ELA-503")
def test_work_is_put_aside_and_taken_up_again_on_its_page_and_over_the_api(alice, acme, member):
    row = ask(alice, acme, min_shares=1, shares=3, compute_percent=10)
    page, api = alice.page(), alice.api()
    page.post(f"/resources/{row.uid}/steer/suspend/", {"reason": "lunch"})
    row.refresh_from_db()
    assert row.state == "suspended"
    assert 'data-test="resume"' in text(page.get(f"/resources/{row.uid}/"))
    assert api.post(f"/api/v1/workloads/{row.uid}/resume", {}, format="json").json()["state"] == "pending"
    scaled = api.post(f"/api/v1/workloads/{row.uid}/scale", {"shares": 2}, format="json")
    assert scaled.json()["shares"] == 2, scaled.content
    assert page.post(f"/resources/{row.uid}/steer/explode/").status_code == 404
    kinds = [line["kind"] for line in api.get(f"/api/v1/workloads/{row.uid}/explain").json()["decisions"]]
    assert kinds[0] == "submitted"
    assert kinds[-3:] == ["suspended", "resumed", "scaled"]
    stranger = member("globex", "tenant_front_line").api()
    for act in ("suspend", "resume", "requeue", "scale"):
        answer = stranger.post(f"/api/v1/workloads/{row.uid}/{act}", {"shares": 1}, format="json")
        assert answer.status_code == 404, act


@pytest.mark.req("ELA-503")
def test_many_are_submitted_in_one_call_or_none(alice, acme):
    api = alice.api()
    jobs = [
        {**JOB, "argv": ["true"], "name": f"j{index}", "compute_percent": 1, "memory_mib": 1}
        for index in range(12)
    ]
    done = api.post("/api/v1/workloads/bulk", {"jobs": jobs}, format="json")
    assert done.status_code == 201, done.content
    assert done.json()["count"] == 12
    names = Workload.objects.across().order_by("pk").values_list("name_en", flat=True)
    assert list(names) == [job["name"] for job in jobs]
    for wrong, field in (
        ({"shares": "x"}, "jobs[3].shares"),
        ({"argv": "true"}, "jobs[3].argv"),
        ({"name": ""}, "jobs[3].name"),
    ):
        bad = [*jobs[:3], {**jobs[3], **wrong}]
        refused = api.post("/api/v1/workloads/bulk", {"jobs": bad}, format="json")
        assert (refused.status_code, list(refused.json()["error"]["fields"])) == (400, [field])
    refused = api.post(
        "/api/v1/workloads/bulk", {"jobs": [jobs[0], {**jobs[0], "shares": 513}]}, format="json"
    )
    assert refused.status_code == 400
    assert api.post("/api/v1/workloads/bulk", {"jobs": []}, format="json").status_code == 400
    assert Workload.objects.across().count() == 12


@pytest.mark.req("PLAT-AICFG-25", "ELA-103")
def test_priorities_start_estimates_and_what_ifs_over_the_api(alice, acme, ops):
    queue_ensure(actor=SYSTEM)
    api = ops.api()
    groups.group_make(actor=SYSTEM, code="labs", name_en="Labs", name_zh="实验室")
    groups.group_grant(actor=SYSTEM, code="labs", tenant=acme, members=[alice.user.username])
    given = {"priority": 2, "most_priority": 4, "may_urgent": True}
    assert api.put(f"/api/v1/user-priorities/{alice.user.username}", given, format="json").json() == given
    (row,) = api.get("/api/v1/user-priorities").json()
    assert (row["user"], row["most_priority"], row["groups"]) == (alice.user.username, 4, ["labs"])
    assert api.get("/api/v1/start-estimates").json()["scored"] == 0
    body = {"name": "w", "days": 2, "policy": {"ordering": "priority"}, "queues": {"default": {"weight": 3}}}
    made = api.post("/api/v1/what-ifs", body, format="json")
    assert made.status_code == 201, made.content
    assert made.json()["changes"] == {
        "policy": {"ordering": "priority"},
        "queues": {"default": {"weight": 3}},
    }
    assert api.get(f"/api/v1/what-ifs/{made.json()['uid']}").json()["state"] == "waiting"
    assert len(api.get("/api/v1/what-ifs").json()["results"]) == 1
    for wrong in (
        {"queues": {"default": {"weight": "heavy"}}},
        {"queues": {"none": {"weight": 1}}},
        {"days": 8},
        {},
    ):
        assert api.post("/api/v1/what-ifs", {"name": "w", **wrong}, format="json").status_code in (400, 404)
    assert alice.api().get("/api/v1/what-ifs").status_code == 403


@pytest.mark.req("ELA-1102")
def test_how_long_such_work_ran_makes_an_expected_start_where_nobody_said(alice, acme):
    past_make(acme, count=12)
    first = ask(alice, acme)
    cycle_run(actor=SYSTEM)
    Workload.plain.filter(pk=first.pk).update(placed_at=timezone.now() - timedelta(minutes=10))
    found = alice.api().post("/api/v1/workloads/dry-run", {**JOB, "argv": ["true"]}, format="json").json()
    assert found["basis"] == "history"
    wait = datetime.fromisoformat(found["start_at"]) - timezone.now()
    assert timedelta(minutes=35) < wait < timedelta(minutes=45)


@pytest.mark.req("ELA-1102")
def test_of_a_long_line_the_pace_tells_the_start(alice, acme, monkeypatch):
    monkeypatch.setattr(forecast, "MOST_JUDGED", 1)
    rows = [ask(alice, acme, compute_percent=1) for _index in range(4)]
    assert forecast.expectation_of(rows[-1]).start_at is None
    past_make(acme, count=6)
    Workload.plain.filter(state="finished").update(placed_at=timezone.now() - timedelta(minutes=30))
    found = forecast.expectation_of(rows[-1])
    assert (found.basis, found.basis_text) == ("pace", "how fast its queue moved in the last hour")
    # Six started within the hour, and it is the fifth in line.
    assert timedelta(minutes=49) < found.start_at - timezone.now() < timedelta(minutes=51)
    assert found.low_at < found.start_at < found.high_at
    assert start_estimates_make(actor=SYSTEM) == 4
