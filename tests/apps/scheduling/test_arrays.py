"""Arrays: one submission, a workload for each number, so many at once, shown and ended as one."""

from dataclasses import replace
from time import monotonic

import pytest

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput, NotFound
from apps.scheduling import tasks
from apps.scheduling.errors import TooMuchOpen
from apps.scheduling.models import SchedulingPolicy, Workload, WorkloadArray
from apps.scheduling.selectors.arrays import progress_of
from apps.scheduling.selectors.workloads import workload_reason
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.workload_control import workload_resume, workload_suspend
from apps.scheduling.services.workloads.arrays import (
    array_stop,
    array_stop_batch,
    array_submit,
    array_turns,
    arrays_due,
    numbers_read,
)
from apps.scheduling.services.workloads.bulk import workload_submit_many
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.scheduling.pool import node_make, tenant_ready
from tests.apps.scheduling.test_shell import ends, parts, runs

pytestmark = pytest.mark.req("ELA-501", "ELA-503")
JOB = WorkloadRequest(name="sweep", argv=("true",), compute_percent=1, memory_mib=1, env={"LR": "1"})
LIMIT_S = 10


@pytest.fixture
def ready(db, acme, globex):
    node_make("n1", devices=2, memory_mib=4000)
    return tenant_ready(acme)


def ask(tenant, array, **more):
    return array_submit(actor=SYSTEM, tenant=tenant, asked=replace(JOB, array=array, **more))


def rows_of(first):
    return list(Workload.plain.filter(array=first.array).order_by("array_index"))


def states(first):
    return [(row.state, row.waits_for_turn) for row in rows_of(first)]


def end(row, code="completed"):
    for part in parts(row):
        ends(part, code=code, failed=code != "completed")


@pytest.mark.parametrize(
    ("text", "indices", "at_once"),
    [
        ("0-3", [0, 1, 2, 3], None),
        ("0-99%8", list(range(100)), 8),
        ("0,3,7-9", [0, 3, 7, 8, 9], None),
        ("0-20:4", [0, 4, 8, 12, 16, 20], None),
        ("5,1-2,2%1", [1, 2, 5], 1),
    ],
)
def test_numbers_are_read_as_slurm_reads_them(text, indices, at_once):
    found = numbers_read(text)
    assert (list(found.indices), found.at_once) == (indices, at_once)


@pytest.mark.parametrize(
    "text",
    [
        "0-999999",
        "0-9,0-999999999",
        "9-1",
        "a",
        "1-",
        "-1",
        "1,,2",
        "0-3%0",
        "0-3%",
        "0-9:0",
        "4000001",
        "%3",
        "1" * 60,
    ],
)
def test_what_is_no_array_or_too_large_is_refused_before_anything_is_taken(ready, text):
    began = monotonic()
    with pytest.raises(InvalidInput) as refused:
        ask(ready, text)
    assert refused.value.fields["array"]
    assert str(refused.value.cure)
    assert monotonic() - began < LIMIT_S / 2
    assert not Workload.objects.of(ready).exists()
    assert not WorkloadArray.plain.exists()


def test_each_task_is_a_workload_that_is_told_its_number(ready):
    first = ask(ready, "1-9:4")
    rows = rows_of(first)
    assert [(row.name_en, row.array_index) for row in rows] == [
        ("sweep[1]", 1),
        ("sweep[5]", 5),
        ("sweep[9]", 9),
    ]
    no = first.array.no
    assert rows[1].work["env"] == {
        "LR": "1", "WEIR_ARRAY": no, "WEIR_ARRAY_INDEX": "5", "WEIR_ARRAY_SIZE": "3", "SLURM_ARRAY_JOB_ID": no,
        "SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1",
        "SLURM_ARRAY_TASK_MAX": "9",
    }  # fmt: skip
    assert (first.array.size, first.array.spec, first.array.at_once) == (3, "1-9:4", None)


def test_so_many_run_at_once_and_the_next_follow_as_they_end(ready):
    first = ask(ready, "0-4%2")
    cycle_run(actor=SYSTEM)
    assert states(first) == [("placed", False)] * 2 + [("pending", True)] * 3
    assert workload_reason(rows_of(first)[2]) == (
        f"It waits for its turn: 2 tasks of {first.array.no} run at once."
    )
    assert array_turns(actor=SYSTEM, array_pk=first.array_id) == 0
    for row in rows_of(first)[:2]:
        runs(row)
    end(rows_of(first)[0], "crashed")
    assert arrays_due() == [first.array_id]
    tasks.arrays_sweep()
    cycle_run(actor=SYSTEM)
    assert [state for state, _turn in states(first)] == ["failed", "running", "placed", "pending", "pending"]
    third = rows_of(first)[2]
    assert (third.reason, third.not_before_at is not None) == ({}, True)
    assert progress_of([first.array_id]) == {
        first.array_id: {"waiting": 2, "running": 2, "finished": 0, "failed": 1}
    }


def test_put_aside_a_task_gives_its_turn_and_waits_for_another_when_it_is_resumed(ready):
    first = ask(ready, "0-2%1")
    workload_suspend(actor=SYSTEM, tenant=ready, workload_uid=first.uid)
    tasks.arrays_sweep()
    assert states(first) == [("suspended", False), ("pending", False), ("pending", True)]
    row = workload_resume(actor=SYSTEM, tenant=ready, workload_uid=first.uid)
    assert row.waits_for_turn
    assert "its turn" in workload_reason(row)
    tasks.arrays_sweep()
    cycle_run(actor=SYSTEM)
    assert states(first) == [("pending", True), ("placed", False), ("pending", True)]


def test_an_array_ends_as_one_whatever_its_tasks_do(ready, globex):
    first = ask(ready, "0-249%3")
    cycle_run(actor=SYSTEM)
    runs(rows_of(first)[0])
    with pytest.raises(NotFound):
        array_stop(actor=SYSTEM, tenant=globex, array_uid=first.array.uid)
    array_stop(actor=SYSTEM, tenant=ready, array_uid=first.array.uid, reason="enough")
    array_stop(actor=SYSTEM, tenant=ready, array_uid=first.array.uid)
    assert array_stop_batch(actor=SYSTEM, array_pk=first.array_id) == 100, (
        "as if its worker had died after these"
    )
    assert arrays_due() == [first.array_id]
    tasks.arrays_sweep()
    # Those that no node was told of ended at once; the one that runs ends with its slice.
    assert [state for state, _turn in states(first)] == ["stopping"] + ["finished"] * 249
    assert arrays_due() == []
    end(rows_of(first)[0], "stopped")
    assert {state for state, _turn in states(first)} == {"finished"}
    assert workload_reason(rows_of(first)[9]) == "It was stopped: enough"


def test_other_work_waits_for_a_whole_array_and_tasks_wait_for_other_work(ready):
    before = workload_request(actor=SYSTEM, tenant=ready, asked=JOB)
    first = ask(ready, "0-2%1", after_any=(before.no,))
    after = workload_request(actor=SYSTEM, tenant=ready, asked=replace(JOB, after_any=(first.array.no,)))
    assert after.dependencies.count() == 3
    assert all("It waits until" in workload_reason(row) for row in rows_of(first))
    cycle_run(actor=SYSTEM)
    runs(before)
    end(before)
    tasks.dependencies_sweep()
    assert [row.waits_for_work for row in rows_of(first)] == [False] * 3
    assert ["its turn" in workload_reason(row) for row in rows_of(first)] == [False, True, True]


def test_asked_twice_with_a_key_it_is_one_and_bounds_hold(ready):
    first = ask(ready, "0-3", client_key="k")
    assert ask(ready, "0-3", client_key="k").pk == first.pk
    assert WorkloadArray.plain.count() == 1
    with pytest.raises(InvalidInput):
        ask(ready, "0-3", client_key="k" * 62)
    with pytest.raises(InvalidInput) as refused:
        workload_submit_many(actor=SYSTEM, tenant=ready, asked=[replace(JOB, array="0-3")])
    assert "array" in refused.value.fields
    SchedulingPolicy.objects.update_or_create(pk=1, defaults={"max_open_per_user": 6})
    with pytest.raises(TooMuchOpen):
        ask(ready, "0-9")
    assert Workload.objects.of(ready).count() == 4


def test_a_thousand_tasks_take_seconds(ready):
    ask(ready, "0-1")
    began = monotonic()
    first = ask(ready, "0-999%8")
    took = monotonic() - began
    assert Workload.plain.filter(array=first.array).count() == 1000
    assert took < LIMIT_S, took


def test_lists_show_an_array_as_one_and_its_tasks_when_asked(ready, member):
    alice = member("acme", "tenant_front_line")
    body = {"name": "sweep", "argv": ["true"], "compute_percent": 1, "memory_mib": 1, "array": "0-4%2"}
    made = alice.api().post("/api/v1/workloads", body, format="json").json()
    no = made["array"]["no"]
    assert (made["array_index"], made["array_progress"]["waiting"]) == (0, 5)
    workload_request(actor=alice.actor, tenant=ready, asked=JOB)
    as_one = alice.api().get("/api/v1/workloads?tasks=first").json()["results"]
    assert [row["name"] for row in as_one] == ["sweep", "sweep[0]"]
    assert len(alice.api().get(f"/api/v1/workloads?array={no}").json()["results"]) == 5
    [listed] = alice.api().get("/api/v1/arrays").json()["results"]
    assert (listed["spec"], listed["progress"]["waiting"]) == ("0-4%2", 5)
    page = alice.page().get("/resources/").content.decode()
    assert page.count('data-test="resource-row"') == 2
    assert "sweep [0-4%2]" in page
    assert "5 waiting" in page
    tasks_page = alice.page().get(f"/resources/?array={no}").content.decode()
    assert tasks_page.count('data-test="resource-row"') == 5
    assert 'data-test="array-stop"' in tasks_page
    stranger = member("globex", "tenant_front_line")
    assert stranger.api().post(f"/api/v1/arrays/{listed['uid']}/stop").status_code == 404
    assert stranger.page().post(f"/resources/arrays/{listed['uid']}/stop/").status_code == 404
    assert alice.page().post(f"/resources/arrays/{listed['uid']}/stop/").status_code == 302
    assert alice.api().post(f"/api/v1/arrays/{listed['uid']}/stop").json()["stopped_at"]
