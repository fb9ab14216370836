"""What is our own pool's own: one accelerator at most, and its portal's own watcher sends the work."""

from __future__ import annotations

import pytest

from apps.centers.adapters.base import CenterRefused, JobState, Quantities
from portal.devstack import demo_centers
from portal.devstack.demo_centers import SPEC, centers_join
from portal.devstack.demo_job import job_tell
from portal.devstack.demo_order import Journey
from portal.devstack.servers.processes import wait_until
from tests.engines.engines import job
from tests.harness.portal import password_of

pytestmark = pytest.mark.req("JC-6.4-5")


def test_a_job_has_one_accelerator_at_most_and_runs_its_command_once(engine, adapter, key, until):
    for number, asked in enumerate((Quantities(cpu=1, npu=2), Quantities(cpu=1, npu=1, gpu=1))):
        with pytest.raises(CenterRefused):
            adapter.job_create(job("true", asked), f"{key}.{number}")
        assert engine.count(f"{key}.{number}") == 0
    native_id = adapter.job_create(job("echo once", engine.whole()), key)
    until(native_id, JobState.SUCCEEDED)
    assert wait_until(lambda: adapter.job_log(native_id, 0) == b"once\n", timeout_s=60)


def test_a_job_without_an_accelerator_holds_none(engine, adapter, key, until):
    with pytest.raises(CenterRefused):
        adapter.job_create(job("true", Quantities(memory=50)), f"{key}.0")
    native_id = adapter.job_create(job("sleep 60"), key)
    until(native_id, JobState.RUNNING)
    used = adapter.resources().used
    assert (used.cpu >= 1, used.npu) == (True, 0)
    # Both accelerators can be given beside it.
    others = [adapter.job_create(job("true", engine.whole()), f"{key}.{number}") for number in (1, 2)]
    for each in others:
        until(each, JobState.SUCCEEDED)
    adapter.job_stop(native_id)
    until(native_id, JobState.STOPPED)


@pytest.mark.req("JC-6.5-2", "JC-6.4-2")
def test_the_portals_own_watcher_sends_work_to_its_own_pool_once(engine, key):
    pool = engine.pool
    pool.call("center_joined")
    pool.call("task_sent", key, 'printf "%s" "$WHO"', {"WHO": "weir"})
    assert wait_until(lambda: pool.call("task_seen", key)[0] == "succeeded", timeout_s=120), pool.call(
        "task_seen", key
    )
    assert pool.call("task_seen", key) == ("succeeded", 0, b"weir")
    assert engine.count(key) == 1


@pytest.mark.req("JC-6.4-1", "JC-6.5-2", "JC-6.1.2-3")
def test_make_run_tells_a_job_over_the_pool_alone(engine):
    """What `make run` does where nothing but the pool is here; a second time finds all of it again."""
    stack = engine.pool.stack
    told: list[str] = []
    journey = Journey(f"http://127.0.0.1:{stack.options.port}", password_of(stack), say=told.append)
    operator = journey.person("admin")
    assert centers_join(operator, stack.var_dir, ["local"]) == []
    operator.center_change("pool", region="Lakeside")
    assert centers_join(operator, stack.var_dir, ["local"]) == []
    assert operator.center("pool")["region"] == "Lakeside"
    [offer] = operator.network_spec(SPEC)["offers"]
    assert offer["ai_center_id"] == "pool"
    made = job_tell(journey)
    assert made["state"] == "completed"
    placed = [replica for task in made["tasks"] for replica in task["placed"]]
    assert {replica["ai_center_id"] for replica in placed} == {"pool"}
    story = "\n".join(told)
    assert "count goes to Our own pool (replicas: 1). Our own pool is best" in story
    # Another test's centre may have joined, which offers nothing.
    assert story.count("There is no other centre.") + story.count("It is the only candidate") == 2
    assert "| 1 to 1000 is 500500 in all" in story
    assert story.count("| replica on ") == 2
    # An engine that does not come is said, and hinders nothing else.
    with pytest.MonkeyPatch.context() as patience:
        patience.setattr(demo_centers, "PATIENCE_S", 0)
        [trouble] = centers_join(operator, stack.var_dir, ["slurm", "local"])
    assert trouble.startswith("Slurm of this machine takes no jobs after 0 s; see ")
