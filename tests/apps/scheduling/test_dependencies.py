"""Work that waits for other work: named, shown, let go, ended; never in a circle, never another's."""

from dataclasses import replace

import pytest
from django.db import IntegrityError, transaction

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.kernel.reach import DataPermission
from apps.orgs.selectors.roles import reach_of
from apps.scheduling import tasks
from apps.scheduling.models import QuotaHold, Workload, WorkloadDependency
from apps.scheduling.selectors.usage.statistics import figures_get
from apps.scheduling.selectors.workloads import workload_reason
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workload_control import workload_resume, workload_suspend
from apps.scheduling.services.workloads.bulk import workload_submit_many
from apps.scheduling.services.workloads.dependents import dependencies_due, dependencies_settle
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make, tenant_ready
from tests.apps.scheduling.test_shell import ends, parts, runs

pytestmark = pytest.mark.req("ORCH-6.1.3-2", "ELA-503")
JOB = WorkloadRequest(name="prep", argv=("true",), compute_percent=10, memory_mib=10)


@pytest.fixture
def ready(db, acme, globex):
    node_make("n1", devices=2, memory_mib=1000)
    tenant_ready(globex)
    return tenant_ready(acme)


def ask(tenant, **more):
    return workload_request(actor=SYSTEM, tenant=tenant, asked=replace(JOB, **more))


def run(row):
    cycle_run(actor=SYSTEM)
    runs(row)


def end(row, *, code="completed", failed=False):
    for part in parts(row):
        ends(part, code=code, failed=failed)
    row.refresh_from_db()
    assert row.is_final


def settled(*rows):
    """What the portal's own look leaves of these."""
    tasks.dependencies_sweep()
    for row in rows:
        row.refresh_from_db()
    return [row.state for row in rows]


def test_work_waits_by_name_for_other_work_and_goes_once_that_has_finished_well(ready):
    first = ask(ready)
    then = ask(ready, name="train", after_ok=(first.no.lower(),))
    assert (then.state, then.waits_for_work, then.reason_code) == ("pending", True, "dependency")
    assert workload_reason(then) == f"It waits until prep ({first.no}) has finished well."
    run(first)
    cycle_run(actor=SYSTEM)
    then.refresh_from_db()
    assert (first.state, then.state) == ("running", "pending")
    assert [queue.pending for queue in figures_get().queues if queue.code == "default"] == [0]
    end(first)
    assert settled(then) == ["pending"]
    assert (then.waits_for_work, then.reason, then.reason_code) == (False, {}, "")
    assert then.not_before_at is not None, "its wait for room begins now"
    cycle_run(actor=SYSTEM)
    then.refresh_from_db()
    assert then.state == "placed"
    assert dependencies_due() == []


def test_each_kind_goes_when_it_holds_and_ends_when_it_never_can(ready):
    first = ask(ready)
    waiting = {
        kind: ask(ready, **{kind: (first.no,)}) for kind in ("after", "after_ok", "after_any", "after_not_ok")
    }
    run(first)
    settled(*waiting.values())
    assert {kind: row.waits_for_work for kind, row in waiting.items()} == {
        "after": False, "after_ok": True, "after_any": True, "after_not_ok": True,
    }  # fmt: skip
    end(first, code="crashed", failed=True)
    settled(*waiting.values())
    assert {kind: (row.state, row.waits_for_work) for kind, row in waiting.items()} == {
        "after": ("pending", False), "after_ok": ("failed", True),
        "after_any": ("pending", False), "after_not_ok": ("pending", False),
    }  # fmt: skip
    never = waiting["after_ok"]
    assert never.reason_code == "dependency_failed"
    assert workload_reason(never) == (
        f"It never started: {first.no} prep has ended otherwise than it waited for."
    )
    assert not QuotaHold.objects.of(ready).filter(holder_uid=never.uid).exclude(state="released").exists()


def test_a_chain_ends_link_by_link_and_stopped_work_has_not_finished_well(ready):
    first = ask(ready)
    second = ask(ready, after_ok=(first.no,))
    third = ask(ready, after_ok=(second.no,))
    workload_stop(actor=SYSTEM, tenant=ready, workload_uid=first.uid, reason="")
    assert settled(second) == ["failed"]
    assert settled(third) == ["failed"]


def test_of_several_the_last_lets_it_go_and_it_says_what_is_left(ready):
    a, b = ask(ready, name="a"), ask(ready, name="b")
    then = ask(ready, after_any=(a.no, b.no))
    workload_stop(actor=SYSTEM, tenant=ready, workload_uid=a.uid, reason="")
    settled(then)
    assert then.waits_for_work
    assert workload_reason(then) == f"It waits until b ({b.no}) has ended."
    workload_stop(actor=SYSTEM, tenant=ready, workload_uid=b.uid, reason="")
    assert dependencies_settle(actor=SYSTEM, workload_uid=b.uid) == 1
    assert dependencies_settle(actor=SYSTEM, workload_uid=b.uid) == 0
    then.refresh_from_db()
    assert not then.waits_for_work


def test_put_aside_and_resumed_it_still_waits(ready):
    first = ask(ready)
    then = ask(ready, after_any=(first.no,))
    workload_suspend(actor=SYSTEM, tenant=ready, workload_uid=then.uid)
    row = workload_resume(actor=SYSTEM, tenant=ready, workload_uid=then.uid)
    assert workload_reason(row) == f"It waits until prep ({first.no}) has ended."
    cycle_run(actor=SYSTEM)
    row.refresh_from_db()
    assert row.state == "pending"
    workload_suspend(actor=SYSTEM, tenant=ready, workload_uid=then.uid)
    workload_stop(actor=SYSTEM, tenant=ready, workload_uid=first.uid, reason="")
    assert settled(then) == ["suspended"]
    assert not then.waits_for_work


def test_what_cannot_be_waited_for_is_refused_before_anything_is_taken(ready, globex, member):
    theirs = ask(globex)
    failed = ask(ready)
    workload_stop(actor=SYSTEM, tenant=ready, workload_uid=failed.uid, reason="")
    for name in ("W-NONE", theirs.no, str(theirs.uid)):
        with pytest.raises(InvalidInput, match="There is no work"):
            ask(ready, after_ok=(name,))
    with pytest.raises(InvalidInput, match="could never start"):
        ask(ready, after_ok=(failed.no,))
    assert not ask(ready, after_any=(failed.no,)).waits_for_work, "it holds already"
    alice, carol = member("acme", "tenant_front_line"), member("acme", "tenant_front_line")
    hidden = workload_request(actor=carol.actor, tenant=ready, asked=JOB)
    narrow = replace(alice.actor, reach=reach_of(alice.user.pk, DataPermission(), None))
    with pytest.raises(InvalidInput, match="There is no work"):
        workload_request(actor=narrow, tenant=ready, asked=replace(JOB, after=(hidden.no,)))
    assert Workload.objects.of(ready).count() == 3


def test_jobs_of_one_call_wait_for_each_other_by_their_keys_and_never_in_a_circle(ready):
    call = [
        replace(JOB, name="a", client_key="a"),
        replace(JOB, name="b", client_key="b", after_ok=("a",)),
        replace(JOB, name="c", client_key="c", after_ok=("a", "b")),
    ]
    rows = workload_submit_many(actor=SYSTEM, tenant=ready, asked=call)
    assert [row.waits_for_work for row in rows] == [False, True, True]
    assert list(WorkloadDependency.objects.order_by("pk").values_list("on__name_en", flat=True)) == [
        "a",
        "a",
        "b",
    ]
    circle = [
        replace(JOB, client_key="x", after_ok=("y",)),
        replace(JOB, client_key="y", after_ok=("x",)),
    ]
    with pytest.raises(InvalidInput, match="There is no work y"):
        workload_submit_many(actor=SYSTEM, tenant=ready, asked=circle)
    assert not Workload.objects.of(ready).filter(client_key__in=["x", "y"]).exists()
    with pytest.raises(IntegrityError), transaction.atomic():
        WorkloadDependency.objects.create(workload=rows[0], on=rows[1], kind="after")


def test_form_and_api_take_it_and_show_it(ready, member):
    alice = member("acme", "tenant_front_line")
    first = workload_request(actor=alice.actor, tenant=ready, asked=JOB)
    form = {
        "name": "then", "kind": "program", "command": "true", "queue": "default", "compute_percent": 10,
        "memory_mib": 10, "shares": 1, "after_ok": f"{first.no}, {first.no}",
    }  # fmt: skip
    assert alice.page().post("/resources/submit/", form).status_code == 302
    then = Workload.objects.of(ready).get(name_en="then")
    page = alice.page().get(f"/resources/{then.uid}/").content.decode()
    assert f"It waits until prep ({first.no}) has finished well." in page
    told = alice.api().get(f"/api/v1/workloads/{then.uid}").json()
    assert told["waits_for"] == [
        {"kind": "after_ok", "uid": str(first.uid), "no": first.no, "name": "prep", "is_open": True}
    ]
    explained = alice.api().get(f"/api/v1/workloads/{then.uid}/explain").json()
    assert explained["expected"]["basis"] == "other_work"
