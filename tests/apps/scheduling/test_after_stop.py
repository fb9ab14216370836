"""What stopping work becomes stands in a column of its own, in every case, and nowhere else."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from apps.fleet.models import Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import WeirError
from apps.scheduling.models import Queue, Workload
from apps.scheduling.services.cycle.apply_changes import workload_preempt
from apps.scheduling.services.cycle.cluster_cache import feed_take
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workload_control import workload_requeue, workload_suspend
from apps.scheduling.services.workloads.resizing.extending import workload_extend
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make, tenant_ready
from tests.apps.scheduling.test_shell import BENEFICIARY, ends, parts, preemption, runs

MOVED = import_module("apps.scheduling.migrations.0007_after_stop")


@pytest.fixture
def running(db, acme):
    """Makes work that runs, submitted by somebody and by no order."""
    node_make(devices=2)
    tenant_ready(acme)

    def make(**more):
        asked = WorkloadRequest(
            name="job", argv=("true",), compute_percent=50, memory_mib=1, preemptible=True, **more
        )
        row = workload_request(actor=SYSTEM, tenant=acme, asked=asked)
        cycle_run(actor=SYSTEM)
        row.refresh_from_db()
        runs(row)
        return row

    return make


def asked(work, **more):
    return lambda row: work(actor=SYSTEM, tenant=row.tenant, workload_uid=row.uid, reason="enough", **more)


CASES = {
    "stop": (asked(workload_stop), "finished"),
    "suspend": (asked(workload_suspend), "suspended"),
    "requeue": (asked(workload_requeue), "pending"),
    "preempt": (lambda row: workload_preempt(actor=SYSTEM, preemption=preemption(row)), "pending"),
    "finish": (lambda row: ends(parts(row)[0], code="completed"), "finished"),
    "fail": (lambda row: ends(parts(row)[0], code="crashed", failed=True), "failed"),
}


@pytest.mark.req("ELA-503", "ELA-811")
@pytest.mark.parametrize("after", CASES)
def test_what_it_will_become_is_said_from_the_first_and_gone_with_the_stop(running, after):
    row = running(shares=2)
    begin, final = CASES[after]
    begin(row)
    row.refresh_from_db()
    assert (row.state, row.after_stop) == ("stopping", after)
    assert set(row.reason) == {"text"}
    for part in parts(row):
        ends(part, code="stopped")
    row.refresh_from_db()
    assert (row.state, row.after_stop, row.preempted_by) == (final, "", None)


def test_no_row_stops_without_saying_what_it_becomes(running):
    row = running()
    for wrong in (
        {"state": "stopping"},
        {"after_stop": "stop"},
        {"state": "stopping", "after_stop": "preempt"},
        {"state": "stopping", "after_stop": "stop", "preempted_by": BENEFICIARY},
    ):
        with (
            pytest.raises(IntegrityError, match=r"workload_(after_stop|preempted_by)"),
            transaction.atomic(),
        ):
            Workload.plain.filter(pk=row.pk).update(**wrong)


def test_work_asked_to_end_is_not_tried_again_because_its_node_was_lost_meanwhile(running):
    """The owner had stopped it, and it waited again and ran once more."""
    row = running(max_attempts=3)
    asked(workload_stop)(row)
    ends(parts(row)[0], code="lost", failed=True)
    row.refresh_from_db()
    assert (row.state, row.attempt) == ("lost", 1)


BEFORE = {
    "stop": {"text": "enough"},
    "suspend": {"text": "later", "failed": False, "suspend": True},
    "requeue": {"text": "", "failed": False, "requeue": True},
    "finish": {"text": "", "failed": False, "requeue": False},
    "fail": {"text": "no memory", "failed": True, "requeue": False},
    "preempt": {
        "text": "", "failed": False, "requeue": True, "preempted": "reclaim", "for": BENEFICIARY, "card_seconds": 7,
    },
}  # fmt: skip


def test_rows_that_stopped_before_the_columns_were_there_are_moved_and_back(running):
    row = running()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for name in ("workload_after_stop", "workload_preempted_by"):
            cursor.execute(f"ALTER TABLE scheduling_workload DROP CONSTRAINT {name}")
        for after, reason in BEFORE.items():
            clear = {"after_stop": "", "preempted_by": None, "preemption_cause": ""}
            Workload.plain.filter(pk=row.pk).update(state="stopping", reason=reason, **clear)
            cursor.execute(MOVED.MOVE)
            row.refresh_from_db()
            assert (row.after_stop, row.reason) == (after, {"text": reason["text"]})
            assert str(row.preempted_by or "") == reason.get("for", "")
            cursor.execute(MOVED.BACK)
            row.refresh_from_db()
            assert row.reason == {key: reason[key] for key in reason if key != "card_seconds"}


@pytest.mark.req("PLAT-APPLY-22")
def test_direct_work_is_given_more_time_on_its_nodes_too(running):
    row = running(shares=2, run_timeout_s=600)
    extend = {"actor": SYSTEM, "tenant": row.tenant, "workload_uid": row.uid}
    feed_take()
    assert workload_extend(**extend, more_s=300).run_timeout_s == 900
    assert row.pk in feed_take()["work"], "the scheduler reckons with its new end"
    slices = Slice.plain.filter(workload_uid=row.uid)
    assert set(slices.values_list("run_timeout_s", "generation")) == {(900, 2)}
    Queue.objects.filter(pk=row.queue_id).update(max_run_s=1000)
    with pytest.raises(WeirError) as refused:
        workload_extend(**extend, more_s=101)
    assert refused.value.code == "run_too_long"
    # Its node ends it by its own clock: who comes at the last moment comes too late.
    slices.update(started_at=timezone.now() - timedelta(seconds=890))
    with pytest.raises(WeirError, match="ends within"):
        workload_extend(**extend, more_s=60)
    row.refresh_from_db()
    assert row.run_timeout_s == 900
    workload_stop(**extend, reason="done")
    with pytest.raises(WeirError, match="has ended"):
        workload_extend(**extend, more_s=60)


def test_work_without_a_limit_is_not_extended(running):
    row = running()
    with pytest.raises(WeirError, match="without a limit"):
        workload_extend(actor=SYSTEM, tenant=row.tenant, workload_uid=row.uid, more_s=60)
