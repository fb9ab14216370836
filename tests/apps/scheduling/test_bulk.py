"""Many submissions in one call, and what owners do with work while it waits or runs."""

from dataclasses import replace
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from apps.billing.models import Charge
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from apps.scheduling.errors import TooMuchOpen
from apps.scheduling.models import Allocation, QuotaHold, Workload
from apps.scheduling.selectors.workloads import quota_get
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import policy_set
from apps.scheduling.services.quota.quotas import quota_set
from apps.scheduling.services.workload_control import (
    workload_requeue,
    workload_resume,
    workload_scale,
    workload_suspend,
)
from apps.scheduling.services.workloads.admission import MOST
from apps.scheduling.services.workloads.bulk import workload_submit_many
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make, tenant_ready
from tests.apps.scheduling.test_shell import ends, parts, runs

ASKED = WorkloadRequest(name="job", argv=("true",), compute_percent=1, memory_mib=1)


@pytest.fixture
def acme_ready(db, acme):
    node_make(devices=2)
    return tenant_ready(acme)


def many(tenant, asked):
    return workload_submit_many(actor=SYSTEM, tenant=tenant, asked=asked)


def test_what_is_submitted_together_is_as_if_submitted_one_by_one(acme_ready):
    asked = [replace(ASKED, name=f"job {number}", argv=("echo", str(number))) for number in range(20)]
    rows = many(acme_ready, [*asked, replace(ASKED, compute_percent=2)])
    assert [row.name_en for row in rows[:20]] == [each.name for each in asked]
    assert [row.pk for row in rows] == sorted(row.pk for row in rows)
    assert quota_get(acme_ready)["compute_percent"].in_process == 22
    assert Charge.objects.of(acme_ready).count() == 21
    cycle_run(actor=SYSTEM)
    assert Workload.objects.of(acme_ready).filter(state="placed").count() == 21
    assert quota_get(acme_ready)["compute_percent"].used == 22
    assert rows[3].work["argv"] == ["echo", "3"]
    alone = workload_request(actor=SYSTEM, tenant=acme_ready, asked=ASKED)
    shared = ("queue_id", "purpose", "shares", "compute_percent", "memory_mib", "labels", "priority", "state")
    assert all(getattr(alone, name) == getattr(rows[0], name) for name in shared)


def test_one_submission_given_twice_is_two(acme_ready):
    first, second = many(acme_ready, [ASKED, ASKED])
    assert first.pk != second.pk


def test_repeated_with_the_same_keys_it_gives_the_same_workloads(acme_ready):
    asked = [replace(ASKED, client_key=f"k{number}") for number in range(5)]
    first = many(acme_ready, asked)
    again = many(acme_ready, [*asked, replace(ASKED, client_key="k5")])
    assert [row.uid for row in again[:5]] == [row.uid for row in first]
    assert Workload.objects.of(acme_ready).count() == 6


def test_a_key_is_each_submitters_own(alice, member):
    bob = member("acme", "tenant_front_line", "bob")
    job = {"name": "job", "argv": ["true"], "compute_percent": 1, "memory_mib": 1}
    told = []
    for person in (alice, bob, alice, bob):
        api = person.api()
        alone = api.post("/api/v1/workloads", {**job, "client_key": "nightly"}, format="json")
        jobs = [{**job, "client_key": key} for key in ("nightly", "hourly")]
        both = api.post("/api/v1/workloads/bulk", {"jobs": jobs}, format="json")
        assert (alone.status_code, both.status_code) == (201, 201), (alone.json(), both.json())
        uids = [each["uid"] for each in both.json()["workloads"]]
        assert uids[0] == alone.json()["uid"]
        told.append(uids)
    assert told[:2] == told[2:], "asked again each gets his own work"
    assert not set(told[0]) & set(told[1])
    for person, uids in zip((alice, bob), told, strict=False):
        rows = Workload.plain.filter(uid__in=uids)
        assert {row.submitted_by_id for row in rows} == {person.user.pk}


def test_the_database_keeps_one_workload_for_a_key_without_a_submitter_too(acme_ready):
    (row,) = many(acme_ready, [replace(ASKED, client_key="k")])
    assert row.submitted_by_id is None
    row.pk, row.uid, row._state.adding = None, uuid4(), True
    with pytest.raises(IntegrityError, match="workload_once_per_key"), transaction.atomic():
        row.save()


@pytest.mark.parametrize("wrong", [{"compute_percent": 0}, {"queue": "nowhere"}, {"argv": ("",)}])
def test_one_that_is_wrong_leaves_none(acme_ready, wrong):
    with pytest.raises((InvalidInput, NotFound)):
        many(acme_ready, [ASKED, ASKED, replace(ASKED, **wrong)])
    assert not Workload.plain.exists()
    assert not QuotaHold.plain.exists()


def test_too_many_are_refused_with_the_reason(acme_ready):
    with pytest.raises(InvalidInput, match="in one call"):
        many(acme_ready, [ASKED] * (MOST + 1))
    with pytest.raises(InvalidInput, match="stands for two"):
        many(acme_ready, [replace(ASKED, client_key="k")] * 2)
    policy_set(actor=SYSTEM, changes={"max_open_per_tenant": 10})
    many(acme_ready, [ASKED] * 8)
    with pytest.raises(TooMuchOpen):
        many(acme_ready, [ASKED] * 3)
    quota_set(actor=SYSTEM, tenant=acme_ready, item="compute_percent", total=9)
    with pytest.raises(QuotaExceeded):
        many(acme_ready, [ASKED] * 2)
    assert Workload.plain.count() == 8


# --- put aside, taken up, started over, scaled -------------------------------------------------------------------


def one(tenant, **more):
    row = workload_request(actor=SYSTEM, tenant=tenant, asked=replace(ASKED, compute_percent=50, **more))
    cycle_run(actor=SYSTEM)
    runs(row)
    return row


def steer(verb, row, **more):
    return verb(actor=SYSTEM, tenant=row.tenant, workload_uid=row.uid, **more)


@pytest.mark.req("ELA-503")
def test_suspended_work_holds_nothing_until_it_is_resumed(acme_ready, globex):
    row = one(acme_ready)
    with pytest.raises(NotFound):
        workload_suspend(actor=SYSTEM, tenant=globex, workload_uid=row.uid)
    assert steer(workload_suspend, row).state == "stopping"
    ends(parts(row)[0], code="suspended")
    row.refresh_from_db()
    assert row.state == "suspended"
    assert quota_get(acme_ready)["compute_percent"].used == 0
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert row.state == "suspended"
    assert steer(workload_resume, row).state == "pending"
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert (row.state, row.attempt) == ("placed", 2)
    kinds = list(row.decisions.values_list("kind", flat=True))
    assert kinds == ["submitted", "placed", "started", "suspended", "resumed", "placed"]


def test_waiting_work_is_suspended_at_once_and_twice_changes_nothing(acme_ready):
    row = workload_request(actor=SYSTEM, tenant=acme_ready, asked=ASKED)
    assert steer(workload_suspend, row).state == "suspended"
    assert steer(workload_suspend, row).state == "suspended"
    assert steer(workload_resume, row).state == "pending"
    assert steer(workload_resume, row).state == "pending"


def test_requeued_work_waits_again_with_its_first_start(acme_ready):
    row = one(acme_ready)
    began = row.started_at
    steer(workload_requeue, row, reason="again")
    ends(parts(row)[0], code="requeued")
    row.refresh_from_db()
    assert (row.state, row.attempt, row.started_at) == ("pending", 2, began)


@pytest.mark.req("ELA-905")
def test_elastic_work_is_scaled_by_its_owner_and_rigid_work_is_not(acme_ready):
    rigid = one(acme_ready)
    with pytest.raises(Conflict):
        steer(workload_scale, rigid, shares=2)
    row = one(acme_ready, shares=3, min_shares=1)
    assert len(parts(row)) == 3
    assert steer(workload_scale, row, shares=1).active_shares == 1
    for part in Allocation.objects.filter(workload=row, is_beside=True).select_related("workload"):
        ends(part, code="scaled")
    row.refresh_from_db()
    assert (row.state, len(parts(row))) == ("running", 1)
    with pytest.raises(InvalidInput):
        steer(workload_scale, row, shares=0)


@pytest.mark.req("ELA-509")
def test_work_that_failed_is_tried_again_later_and_not_for_ever(acme_ready):
    row = one(acme_ready, max_attempts=2, retry_delay_s=60)
    ends(parts(row)[0], code="crashed", failed=True)
    row.refresh_from_db()
    assert (row.state, row.attempt) == ("pending", 2)
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert row.state == "pending", "it backs off first"
    Workload.plain.filter(pk=row.pk).update(not_before_at=None)
    cycle_run(actor=SYSTEM)
    runs(row)
    ends(parts(row)[0], code="crashed", failed=True)
    row.refresh_from_db()
    assert (row.state, row.reason_code) == ("failed", "crashed")
