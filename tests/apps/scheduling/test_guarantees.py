"""A queue's guarantee can be had at any load, with nothing switched on for it (ELA-312, ELA-604)."""

import pytest

from apps.fleet.models import Slice
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import Workload
from apps.scheduling.selectors.timeline import timeline
from apps.scheduling.selectors.workloads import policy_get, workload_reason
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import policy_set, queue_ensure, queue_make
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import tenant_ready
from tests.apps.scheduling.test_preempting import running, state
from tests.apps.scheduling.working_node import WorkingNode

pytestmark = [pytest.mark.django_db, pytest.mark.req("ELA-312", "ELA-604")]


@pytest.fixture
def lent(acme):
    """A pool of two cards, one of them guaranteed to a queue that is idle, both lent to work that asked for nothing
    special; and what submits more of it."""
    tenant_ready(acme)
    queue_ensure(actor=SYSTEM)
    node = WorkingNode(devices=2)
    queue_make(
        actor=SYSTEM, code="vip", name_en="VIP", name_zh="贵宾", changes={"guaranteed_compute_percent": 100}
    )

    def submit(name, **more):
        asked = WorkloadRequest(name=name, argv=("true",), compute_percent=100, memory_mib=1024, **more)
        return workload_request(actor=SYSTEM, tenant=acme, asked=asked)

    rows = [submit("first", priority=9), submit("second")]
    running(node, *rows)
    return node, submit, rows


def test_work_of_the_guaranteed_queue_starts_within_the_notice_in_a_full_pool(lent):
    node, submit, (first, second) = lent
    assert not first.preemptible
    notices = Slice.plain.filter(workload_uid=second.uid).values_list("work", flat=True)
    assert [work["grace_s"] for work in notices] == [policy_get().grace_s], "known to its node from the start"
    vip = submit("vip", queue="vip")
    cycle_run(actor=SYSTEM)
    second.refresh_from_db()
    assert (state(first), state(second)) == ("running", "stopping"), "the less important goes"
    assert (second.preemption_cause, second.preempted_by) == ("reclaim", vip.uid)
    assert (
        workload_reason(second) == "A queue takes its guarantee back: it is told to save and will be stopped."
    )
    node.turn()
    cycle_run(actor=SYSTEM)
    second.refresh_from_db()
    assert (state(vip), state(second), second.preemptions) == ("placed", "pending", 1)
    assert workload_reason(second), "it is told why it waits"
    assert any("made room for other work" in line.sentence for line in timeline(second))


def test_no_more_than_the_guarantee_is_taken(lent):
    _node, submit, rows = lent
    vips = [submit(f"vip {number}", queue="vip") for number in range(2)]
    cycle_run(actor=SYSTEM)
    assert [state(row) for row in rows] == ["running", "stopping"]
    assert [state(row) for row in vips] == ["pending", "pending"]


@pytest.mark.parametrize("off", ["policy", "queue"])
def test_an_operator_may_switch_it_off(lent, off):
    _node, submit, rows = lent
    if off == "policy":
        policy_set(actor=SYSTEM, changes={"has_reclaim": False})
    else:
        queue_make(actor=SYSTEM, code="calm", name_en="Calm", name_zh="静", changes={
            "guaranteed_compute_percent": 100, "reclaims": False})  # fmt: skip
    submit("owner", queue="vip" if off == "policy" else "calm")
    cycle_run(actor=SYSTEM)
    assert [state(row) for row in rows] == ["running", "running"]


def test_without_a_guarantee_nothing_that_is_not_preemptible_is_stopped(lent):
    _node, submit, rows = lent
    policy_set(actor=SYSTEM, changes={"has_preemption": True})
    high = submit("high", priority=99)
    cycle_run(actor=SYSTEM)
    assert [state(row) for row in (*rows, high)] == ["running", "running", "pending"]
    assert not Workload.plain.exclude(preemption_cause="").exists()
