"""Work reaches the real engine exactly once: by the portal's own watchers, which are killed, stopped and cut off."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

from apps.centers import runner
from apps.centers.adapters.base import CallLimits, CenterUnreachable, JobMessage, Quantities
from apps.centers.models import Center, RemoteTask
from apps.centers.services.centers import center_join
from apps.centers.services.remote_tasks import remote_task_log, remote_task_request, remote_task_stop
from apps.kernel.actor import SYSTEM
from tests.harness.bad_network import Fault
from tests.harness.schedulers import environment

pytestmark = [pytest.mark.req("JC-6.5-2", "JC-6.4-5"), pytest.mark.wire]
_JOBS = 12
_WAIT_S = 150


@pytest.fixture
def center(committed, engine, settings, monkeypatch):
    """The engine as a centre of the portal; keys of its jobs are no other test's."""
    settings.WEIR_CENTER_LOCAL_ADDRESSES = True
    monkeypatch.setenv("WEIR_CENTER_LOCAL_ADDRESSES", "true")
    return center_join(
        actor=SYSTEM,
        ai_center_id="engine",
        kind=engine.kind,
        settings=engine.settings,
        secrets=engine.secrets,
        serves="all",
        may_share=True,
        facts={"name": "Engine", "stale_after_s": 2, "lost_after_s": 8},
    )


@pytest.fixture
def crew():
    """Starts watchers; whoever still runs is killed afterwards."""
    processes = []

    def more():
        more_of_it = {"WEIR_CENTER_LOCAL_ADDRESSES": "true"}
        # `portal.centers`, which waits less long for what may be under way: this engine answers within seconds.
        command = [sys.executable, "-m", "tests.apps.centers.telling", "15"]
        processes.append(subprocess.Popen(command, env=environment() | more_of_it))
        return processes[-1]

    yield more
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def ask(center, key):
    """Have a job run there; the key it has."""

    def make(command="true", number=0, quantities=None):
        row = remote_task_request(
            actor=SYSTEM,
            center=center,
            key=f"{key}-{number}",
            message=JobMessage(command, quantities or Quantities(cpu=1, memory=50), {"WHO": "weir"}),
            owner=f"replica {number}",
        )
        return row.key

    return make


def wait(holds):
    ends_s = time.monotonic() + _WAIT_S
    while not holds():
        assert time.monotonic() < ends_s, list(RemoteTask.objects.values_list("key", "state", "cause"))
        time.sleep(0.1)


def are(state, *keys):
    rows = RemoteTask.objects.filter(key__in=keys) if keys else RemoteTask.objects.all()
    return lambda: set(rows.all().values_list("state", flat=True)) == {state}


def test_a_task_runs_there_and_its_end_and_its_output_come_back(engine, crew, ask):
    done, wrong = ask('printf "%s" "$WHO"'), ask("exit 3", 1)
    impossible = ask("true", 2, Quantities(cpu=1, mlu=10**6))
    crew()
    wait(lambda: not RemoteTask.objects.filter(state__in=["new", "sending", "waiting", "running"]).exists())
    rows = {row.key: row for row in RemoteTask.objects.all()}
    assert (rows[done].state, rows[done].exit_code) == ("succeeded", 0)
    assert (rows[wrong].state, rows[wrong].exit_code) == ("failed", 3)
    assert rows[impossible].state == "refused"
    assert rows[impossible].cause
    assert rows[done].started_at <= rows[done].ended_at
    wait(lambda: remote_task_log(rows[done], 0) == b"weir")
    assert [engine.count(each) for each in (done, wrong, impossible)] == [1, 1, 0]


def test_watchers_killed_at_random_double_nothing_and_lose_nothing(engine, crew, ask):
    keys = [ask("sleep 1", number) for number in range(_JOBS)]
    dice = random.Random(11)
    for _time in range(3):
        process = crew()
        begun = RemoteTask.objects.exclude(state="new").count()
        wait(
            lambda begun=begun: RemoteTask.objects.exclude(state="new").count() > begun or are("succeeded")()
        )
        time.sleep(dice.random() / 2)
        process.kill()
        process.wait()
    # Two at once now; what the last one was sending is looked for, and sent again only when it can no longer arrive.
    crew()
    crew()
    wait(are("succeeded"))
    assert [engine.count(each) for each in keys] == [1] * _JOBS


def test_a_job_whose_answer_is_lost_is_found_and_not_sent_again(engine, crew, ask):
    lost = ask()
    with engine.network.bad(Fault(only=engine.creating, is_lost=True)):
        crew()
        wait(lambda: engine.count(lost) == 1)
        wait(lambda: RemoteTask.objects.get().native_id)
    wait(are("succeeded"))
    assert engine.count(lost) == 1


def test_it_is_stopped_before_and_after_its_start(engine, crew, ask):
    held = [ask("sleep 120", number, engine.whole()) for number in range(2)]
    never = ask("sleep 120", 9)
    remote_task_stop(actor=SYSTEM, remote_task=RemoteTask.objects.get(key=never))
    crew()
    wait(are("running", *held))
    waits = ask("sleep 120", 2, engine.whole())
    wait(are("waiting", waits))
    for each in (waits, *held):
        remote_task_stop(actor=SYSTEM, remote_task=RemoteTask.objects.get(key=each))
    wait(are("stopped"))
    assert engine.count(never) == 0
    if engine.ends_waiting:
        assert RemoteTask.objects.get(key=waits).started_at is None


def test_a_centre_that_falls_silent_loses_its_task_and_stops_it_when_it_returns(engine, crew, ask):
    runs = ask("sleep 300")
    crew()
    wait(are("running", runs))
    engine.network.fault = Fault(is_kept_off=True)
    try:
        wait(are("lost", runs))
        assert RemoteTask.objects.get().is_left
    finally:
        engine.network.fault = None
    wait(lambda: not RemoteTask.objects.get().is_left)
    assert Center.objects.get().disbelieved_count == 0
    seen = engine.adapter().job_find(runs)
    assert seen.state == "stopped"
    assert engine.count(runs) == 1


@pytest.mark.parametrize(("slow", "delay_s", "arrives"), [("all", 0.9, 0), ("the sending", 20, 1)])
def test_however_many_questions_a_sending_takes_it_is_over_in_time(engine, key, slow, delay_s, arrives):
    """Each answer comes well within its own time; what is not sent by then is not sent at all."""
    adapter = engine.adapter(limits=CallLimits(answer_s=30, create_s=1.5 if slow == "all" else 4))
    message = JobMessage("true", Quantities(cpu=1, memory=50))
    fault = Fault(only="" if slow == "all" else engine.creating, delay_s=delay_s)
    with engine.network.bad(fault):
        began_s = time.monotonic()
        with pytest.raises(CenterUnreachable, match="did not answer within"):
            adapter.job_create(message, key)
        assert time.monotonic() - began_s < 6
        assert len([line for line in engine.network.asked if line.startswith(engine.creating)]) == arrives
    # The bound is of that call alone.
    assert adapter.job_create(message, key) == adapter.job_find(key).native_id
    assert engine.count(key) == 1
    adapter.close()


def test_nothing_is_sent_again_while_a_sending_may_still_be_under_way():
    assert runner.SETTLE_S > CallLimits().create_s > CallLimits().answer_s
