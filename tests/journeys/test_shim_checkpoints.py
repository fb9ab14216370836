"""Work that saves itself before it is stopped, over real processes (ELA-810)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from tests.journeys.test_shim import ROOT, ShimSlice, kept

__all__ = ["kept"]
pytestmark = [
    pytest.mark.journey, pytest.mark.xdist_group("shim"), pytest.mark.req("ELA-810"),
]  # fmt: skip

SAVES = f"""
import os, signal, sys, time
sys.path[:0] = [{str(ROOT / "client")!r}, {str(ROOT)!r}]
import weir
def save(*_):
    open("state", "w").write("all of it")
    assert weir.checkpointed()
    print("saved", flush=True)
signal.signal(signal.SIGUSR1, save)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(print("left", os.path.exists("state"), flush=True)))
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""
HEARS_NOTHING = """
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: print("asked", flush=True))
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


def test_work_is_asked_to_save_itself_and_ends_as_soon_as_it_has(kept: Callable[..., ShimSlice]) -> None:
    one = kept(grace_s=300, memory_mib=512, checkpoint={"signal": "USR1", "argv": []}).program(SAVES)
    one.until(lambda: "ready" in one.log())
    one.want(state="stopped", saves=True)
    state = one.ended()
    log = one.log()
    assert log.index("asked to save itself by USR1") < log.index("saved\n") < log.index("left True")
    assert (state["state"], state["reason_code"]) == ("exited", "stopped")
    saved, ended = (datetime.fromisoformat(state[name]) for name in ("checkpoint_at", "ended_at"))
    assert saved <= ended
    assert one.seconds() < 250, "it did not wait for the whole grace"


def test_work_that_does_not_answer_is_ended_after_its_grace(kept: Callable[..., ShimSlice]) -> None:
    one = kept(grace_s=1, checkpoint={"signal": "USR1", "argv": []}).program(HEARS_NOTHING)
    one.until(lambda: "ready" in one.log())
    one.want(state="stopped", saves=True)
    state = one.ended()
    assert "asked\n" in one.log()
    assert (state["reason_code"], state["checkpoint_at"]) == ("stopped", None)


def test_a_command_saves_in_the_work_s_folder_and_tells_by_its_exit(kept: Callable[..., ShimSlice]) -> None:
    command = ["sh", "-c", "echo kept by $WEIR_SLICE of $WEIR_WORK_PID; touch kept; exit 0"]
    one = kept(grace_s=300, checkpoint={"signal": "", "argv": command}).program(HEARS_NOTHING)
    one.until(lambda: "ready" in one.log())
    pid = one.state()["work_pid"]
    one.want(state="stopped", saves=True)
    state = one.ended()
    assert f"kept by {state['slice_uid']} of {pid}" in one.log()
    assert (one.files.work / "kept").exists()
    assert state["checkpoint_at"]


def test_a_command_that_fails_saved_nothing_and_nobody_waits(kept: Callable[..., ShimSlice]) -> None:
    one = kept(grace_s=300, checkpoint={"signal": "", "argv": ["false"]}).program(HEARS_NOTHING)
    one.until(lambda: "ready" in one.log())
    one.want(state="stopped", saves=True)
    state = one.ended()
    assert "the checkpoint command ended with 1" in one.log()
    assert state["checkpoint_at"] is None
    assert one.seconds() < 250


def test_a_plain_stop_asks_for_no_checkpoint(kept: Callable[..., ShimSlice]) -> None:
    one = kept(checkpoint={"signal": "USR1", "argv": []}).program(SAVES)
    one.until(lambda: "ready" in one.log())
    one.want(state="stopped")
    assert one.ended()["checkpoint_at"] is None
    assert "left False" in one.log()


def test_what_work_saves_by_itself_is_known_while_it_runs(kept: Callable[..., ShimSlice]) -> None:
    code = "import os, time\nopen(os.environ['WEIR_CHECKPOINT_FILE'], 'w')\ntime.sleep(300)"
    one = kept().program(code)
    one.until(lambda: one.state().get("checkpoint_at"))
    assert one.state()["state"] == "running"
