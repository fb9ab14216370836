"""What is our own pool's own: one accelerator at most, and its portal's own watcher sends the work."""

from __future__ import annotations

import pytest

from apps.centers.adapters.base import CenterRefused, JobState, Quantities
from portal.devstack.servers.processes import wait_until
from tests.engines.engines import job

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
