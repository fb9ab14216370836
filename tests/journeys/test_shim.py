"""One slice's keeper, run by itself over real processes: time-outs, resizing, sharing, sessions."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from node_agent.files import SliceFolder, read_json, write_json
from node_agent.runtime import proc
from node_agent.runtime.metrics.sending import batch_oldest, batches_drop
from tests.journeys.priority import go_first

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("shim")]

ROOT = Path(__file__).resolve().parents[2]
SPIN = "while True: sum(range(10000))"
# How late a busy machine may be with what is due at a moment (POOL-12.11 allows 5 s).
LATE_S = 3.0
LOOKS = 6
WORKER = """
import json, os, pathlib, sys, time
def say(**told):
    pathlib.Path('part').write_text(json.dumps(told)); os.replace('part', 'status.json')
wish = json.loads(pathlib.Path('session.json').read_text())
exec(pathlib.Path('../script.py').read_text())
"""
"""A session's worker in what it says and hears; what it does between is a test's script."""


class ShimSlice:
    """A slice folder with its shim."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.files = SliceFolder(folder)
        self.files.work.mkdir(parents=True)
        self.spec = {
            "slice_uid": f"shim-{folder.name}", "generation": 1, "device_uid": "d", "vendor": "cpu", "cores": 1,
            "compute_percent": 50, "memory_mib": 128, "argv": ["true"], "env": {}, "run_timeout_s": None,
            "grace_s": 1, "meter_s": 1, "log_limit_bytes": 100_000,
            "peer_usage_dir": str(folder.parent / "device"), "device_memory_mib": 1000,
        } | changes  # fmt: skip
        self.generation = 1
        write_json(self.files.spec, self.spec)

    def program(self, code: str) -> ShimSlice:
        write_json(self.files.spec, self.spec | {"argv": ["python", "-c", code]})
        return self.start()

    def session(self, script: str, **wish: Any) -> ShimSlice:
        library = self.files.path.parent / "lib" / "node_agent" / "sessions"
        library.mkdir(parents=True, exist_ok=True)
        for package in (library, library.parent):
            (package / "__init__.py").touch()
        (library / "worker.py").write_text(WORKER)
        (self.files.path / "script.py").write_text(script)
        session = {"kind": "session", "argv": [], "session": {"token": "secret-token"} | wish,
                   "host": "127.0.0.1", "bind": "127.0.0.1", "lib_dir": str(library.parents[1])}  # fmt: skip
        write_json(self.files.spec, self.spec | session)
        return self.start()

    def start(self) -> ShimSlice:
        command = [sys.executable, "-m", "node_agent.runtime.shim.supervisor", str(self.files.path)]
        self.shim = subprocess.Popen(command, cwd=ROOT)
        self.until(lambda: self.state().get("work_pid") or self.shim.poll() is not None)
        go_first(self.shim.pid, self.state().get("work_pid", 0))
        return self

    def state(self) -> dict[str, Any]:
        return read_json(self.files.state) or {}

    def told(self) -> dict[str, Any]:
        return read_json(self.files.work / "session.json") or {}

    def want(self, **changes: Any) -> None:
        self.generation += 1
        now = {"compute_percent": self.state()["compute_percent"], "memory_mib": self.state()["memory_mib"]}
        write_json(self.files.control, {"generation": self.generation, "state": "running"} | now | changes)

    def until(self, is_so: Callable[[], object], wait_s: float = 300) -> None:
        end = time.monotonic() + wait_s
        while not is_so():
            assert time.monotonic() < end, (self.state(), self.log())
            time.sleep(0.02)

    def log(self) -> str:
        return self.files.log.read_text() if self.files.log.exists() else ""

    def ended(self, wait_s: float = 300) -> dict[str, Any]:
        self.shim.wait(wait_s)
        return self.state()

    def most(self) -> int:
        """What the work has written of its memory, once it has written all of it."""
        path = self.files.work / "most"
        self.until(lambda: path.exists() and path.read_text())
        return int(path.read_text())

    def seconds(self) -> float:
        """From start to the reported end."""
        instants = [datetime.fromisoformat(self.state()[name]) for name in ("started_at", "ended_at")]
        return (instants[1] - instants[0]).total_seconds()

    def cpu_s(self) -> float:
        return proc.cpu_seconds([self.state()["work_pid"]])


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Callable[..., ShimSlice]]:
    made: list[ShimSlice] = []

    def make(name: str = "s", **changes: Any) -> ShimSlice:
        made.append(ShimSlice(tmp_path / name, **changes))
        return made[-1]

    yield make
    for one in made:
        one.shim.send_signal(signal.SIGTERM)
    for one in made:
        one.shim.wait(120)


def share_over(one: ShimSlice, seconds: float) -> float:
    before, began = one.cpu_s(), time.monotonic()
    time.sleep(seconds)
    return 100 * (one.cpu_s() - before) / (time.monotonic() - began)


def is_held_between(low: float, high: float, *those: ShimSlice) -> bool:
    """Whether each gets such a share. What is missing below may be the machine's other load: then it looks again."""
    for _look in range(LOOKS):
        shares = [share_over(each, 2) for each in those]
        print("shares", shares)
        if all(share < high for share in shares) and all(share > low for share in shares):
            return True
        if any(share >= high for share in shares):
            return False
    return False


@pytest.mark.req("POOL-12.11")
def test_an_idle_program_is_released_when_its_time_without_use_is_over(
    kept: Callable[..., ShimSlice],
) -> None:
    code = "import time\nend = time.time() + 1.5\nwhile time.time() < end: sum(range(9999))\n"
    one = kept(idle_timeout_s=2, compute_percent=90).program(
        code + "print('used until', time.time(), flush=True)\nwhile True: time.sleep(0.05)"
    )
    state = one.ended()
    used_until = float(one.log().split("used until")[1].split()[0])
    released = datetime.fromisoformat(state["ended_at"]).timestamp()
    assert (state["state"], state["reason_code"], state["reason"]) == (
        "exited",
        "idle_timeout",
        "idle for 2 s",
    )
    assert -0.4 < released - used_until - 2 < LATE_S
    assert "[weir] idle for 2 s: the resource is released" in one.log()
    assert state["mounted"] is True


@pytest.mark.req("POOL-12.12")
def test_a_busy_program_is_released_after_exactly_its_run_time(kept: Callable[..., ShimSlice]) -> None:
    one = kept(run_timeout_s=2).program(SPIN)
    state = one.ended()
    assert (state["reason_code"], state["reason"]) == ("run_timeout", "run time of 2 s reached")
    assert one.seconds() == 2
    assert "[weir] run time of 2 s reached: the resource is released" in one.log()


@pytest.mark.req("POOL-7.6c")
def test_a_share_is_mounted_when_its_work_really_uses_it(kept: Callable[..., ShimSlice]) -> None:
    go = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)\n"
    one = kept(compute_percent=90).program(go + SPIN)
    one.until(lambda: one.state().get("delivered_percent") is not None)
    assert one.state()["mounted"] is False
    (one.files.work / "go").touch()
    one.until(lambda: one.state()["mounted"] is True)


@pytest.mark.req("POOL-12.2", "POOL-7.1d-1")
def test_a_program_is_resized_while_it_runs(kept: Callable[..., ShimSlice]) -> None:
    grow = (
        "import os, time\nheld = [bytearray(b'1' * (1 << 20)) for _ in range(40)]\n"
        "while not os.path.exists('go'): sum(range(9999))\n"
        "try:\n while True: held.append(bytearray(b'1' * (1 << 20)))\n"
        "except MemoryError: open('most', 'w').write(str(len(held)))\n"
        "while not os.path.exists('free'): sum(range(9999))\n"
        "del held[:]\n"
        "while True: sum(range(9999))"
    )
    one = kept(compute_percent=20).program(grow)
    one.until(lambda: (one.state().get("memory_used_mib") or 0) >= 40)
    before = one.state()
    assert is_held_between(14, 24, one)
    one.want(compute_percent=60, memory_mib=100)
    one.until(lambda: one.state()["compute_percent"] == 60)
    assert is_held_between(45, 66, one)
    one.want(memory_mib=20)
    one.until(lambda: one.state()["generation"] == 3)
    after = one.state()
    assert after["reason"].startswith("not resized:")
    assert "20 MiB asked" in after["reason"]
    assert (after["compute_percent"], after["memory_mib"], after["state"]) == (60, 100, "running")
    (one.files.work / "go").touch()
    assert 80 <= one.most() <= 100
    assert (one.state()["memory_mib"], one.state()["state"]) == (100, "running")
    (one.files.work / "free").touch()
    one.until(lambda: one.state()["memory_mib"] == 20)
    assert one.state()["reason"] == ""
    names = ("work_pid", "work_start_ticks", "started_at")
    assert [one.state()[name] for name in names] == [before[name] for name in names]
    one.want(memory_mib=101, compute_percent=61)
    one.until(lambda: one.state()["memory_mib"] == 101)
    assert one.state()["reason"] == ""


@pytest.mark.req("POOL-12.5")
def test_two_works_promised_more_than_the_device_has_share_what_it_has(
    kept: Callable[..., ShimSlice],
) -> None:
    fill = (
        "import time\nheld = []\ntry:\n"
        " for _ in range({}): held.append(bytearray(b'1' * (1 << 20))); time.sleep(0.005)\n"
        "except MemoryError: pass\n"
        "open('most', 'w').write(str(len(held)))\nwhile True: sum(range(9999))"
    )
    over = {"memory_mib": 140, "compute_percent": 70, "device_memory_mib": 200}
    one = kept("one", **over).program(fill.format(100))
    assert one.most() == 100
    two = kept("two", **over).program(fill.format(130))
    assert 60 <= two.most() <= 100
    time.sleep(1.5)
    assert is_held_between(35, 56, one, two)
    assert {each.state()["state"] for each in (one, two)} == {"running"}


@pytest.mark.req("POOL-12.24")
def test_a_work_that_asks_for_too_much_dies_alone(kept: Callable[..., ShimSlice]) -> None:
    good = kept("good").program("import time; time.sleep(2); print(sum(range(1000)), flush=True)")
    bad = kept("bad").program("x = []\nwhile True: x.append(bytearray(b'1' * (1 << 20)))")
    assert bad.ended()["reason_code"] == "memory_exceeded"
    state = good.ended()
    assert (state["reason_code"], state["memory_mib"]) == ("completed", 128)
    assert "499500" in good.log()
    assert not (good.files.path.parent / "device" / "shim-bad").exists()


@pytest.mark.req("POOL-12.3")
def test_a_session_starts_uncharged_is_told_and_heard(kept: Callable[..., ShimSlice]) -> None:
    script = (
        "import threading\n"
        "end = time.process_time() + 0.6\nwhile time.process_time() < end: pass\n"
        "say(port=4321, fingerprint='f' * 64, attached=True, transport='tcp', memory_mib=5, mounted=False,"
        " idle_s=0.0, token=wish['token'])\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n"
        "say(port=4321, fingerprint='f' * 64, attached=True, mounted=True, operators=9, idle_s=0.0, memory_mib=70)\n"
        "while not os.path.exists('bye'): time.sleep(0.05)\n"
        "say(port=4321, end='detached')\ntime.sleep(60)\n"
    )
    one = kept(compute_percent=1, memory_mib=64)
    one.session(script)
    one.until(lambda: (one.state().get("session") or {}).get("port") == 4321)
    state = one.state()
    assert (state["mounted"], state["memory_used_mib"]) == (False, 5)
    assert (state["memory_enforced_by"], state["session"]["host"]) == ("session-server", "127.0.0.1")
    (one.files.work / "go").touch()
    one.until(lambda: one.state()["mounted"] is True)
    assert one.state()["memory_used_mib"] == 70
    assert one.state()["state"] == "running"
    one.want(session={"token": "secret-token", "move_to": {"host": "h", "port": 1}})
    one.until(lambda: one.told()["move_to"] == {"host": "h", "port": 1})
    one.want(memory_mib=60)
    one.until(lambda: one.state()["reason"].startswith("not resized: 70 MiB"))
    one.want(memory_mib=80, compute_percent=30)
    one.until(lambda: (one.told()["memory_mib"], one.told()["compute_percent"]) == (80, 30))
    (one.files.work / "bye").touch()
    state = one.ended()
    assert (state["state"], state["reason_code"]) == ("exited", "completed")
    assert "no client" in state["reason"]


@pytest.mark.req("POOL-12.11")
def test_an_idle_session_is_told_why_before_it_ends(kept: Callable[..., ShimSlice]) -> None:
    script = (
        "import signal\n"
        "def bye(*_): print('heard', pathlib.Path('notice.json').read_text(), flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, bye)\n"
        "for _ in range(10): say(port=1, idle_s=0.0); time.sleep(0.1)\n"
        "last = time.time(); print('used until', last, flush=True)\n"
        "while True: say(port=1, idle_s=time.time() - last); time.sleep(0.5)\n"
    )
    one = kept(idle_timeout_s=2).session(script)
    state = one.ended()
    used_until = float(one.log().split("used until")[1].split()[0])
    released = datetime.fromisoformat(state["ended_at"]).timestamp()
    assert state["reason_code"] == "idle_timeout"
    assert -0.4 < released - used_until - 2 < LATE_S
    heard = json.loads(one.log().split("heard ")[1].splitlines()[0])
    assert heard == {"reason_code": "idle_timeout", "text": "idle for 2 s: the resource is released"}


@pytest.mark.req("POOL-12.3")
def test_a_session_whose_worker_dies_is_reported_and_leaves_nothing(kept: Callable[..., ShimSlice]) -> None:
    one = kept().session("say(port=1)\ntime.sleep(0.5)\nos.kill(os.getpid(), 9)\n")
    state = one.ended()
    assert (state["state"], state["reason_code"]) == ("failed", "crashed")
    assert "SIGKILL" in state["reason"]
    assert not os.path.exists(f"/proc/{state['work_pid']}")


# --- the size of elastic work ------------------------------------------------------------------------------------

FOLLOWS = """
import signal, threading
from weir_wire import elastic_size
woken = threading.Event()
signal.signal(signal.SIGWINCH, lambda *_: woken.set())
elastic_size.scaled(lambda now: print('size', now.share, now.shares, now.leaving, flush=True))
while not woken.wait(0.05):
    pass
print('woken', flush=True)
while True:
    threading.Event().wait(0.05)
"""


@pytest.mark.req("ELA-906")
def test_a_running_work_is_told_of_its_new_size_and_confirms(kept: Callable[..., ShimSlice]) -> None:
    size = {"share": 1, "shares": 3, "step": 1}
    one = kept(size=size, lib_dir=str(ROOT), memory_mib=512).program(FOLLOWS)
    one.until(lambda: one.state().get("size_step") == 1)
    one.want(size={"share": 1, "shares": 1, "step": 2})
    one.until(lambda: one.state()["size_step"] == 2 and "woken" in one.log())
    assert [line for line in one.log().splitlines() if line.startswith("size")] == [
        "size 1 3 False",
        "size 1 1 True",
    ]


@pytest.mark.req("ELA-906")
def test_a_work_that_does_not_listen_is_not_disturbed(kept: Callable[..., ShimSlice]) -> None:
    one = kept(size={"share": 0, "shares": 2, "step": 1}).program(
        "import os, time\nprint(os.environ['WEIR_SHARE'], os.environ['WEIR_SHARES'], flush=True)\ntime.sleep(300)"
    )
    one.until(lambda: "0 2" in one.log())
    one.want(size={"share": 0, "shares": 1, "step": 2})
    told = one.files.work / "weir-size.json"
    one.until(lambda: (read_json(told) or {}).get("step") == 2)
    assert (one.state()["state"], one.state()["size_step"]) == ("running", 0)


WARNED = """
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: print("warned", flush=True))
print("up", flush=True)
for _ in range(600):
    time.sleep(0.05)
"""


@pytest.mark.req("POOL-12.11")
def test_a_program_is_sent_its_signal_once_before_its_run_time_is_over(
    kept: Callable[..., ShimSlice],
) -> None:
    one = kept(run_timeout_s=4, warning={"signal": "USR1", "before_s": 2}).program(WARNED)
    state = one.ended()
    assert (state["reason_code"], one.seconds()) == ("run_timeout", 4)
    lines = one.log().splitlines()
    assert lines.count("warned") == 1
    (told,) = [line for line in lines if "it is sent USR1" in line]
    assert lines.index("up") < lines.index("warned") < len(lines) - 1
    assert "its run time is over in" in told


TELLS = "import hashlib, os; print(hashlib.sha256(os.environ['HF_TOKEN'].encode()).hexdigest(), flush=True)"


@pytest.mark.req("PLAT-SEC-4")
def test_a_secret_is_in_the_programs_environment_and_in_no_file(kept: Callable[..., ShimSlice]) -> None:
    one = kept()
    write_json(one.files.secrets, {"HF_TOKEN": "s3cr3t-9f"})
    one.program(TELLS)
    assert one.ended()["reason_code"] == "completed"
    assert hashlib.sha256(b"s3cr3t-9f").hexdigest() in one.log()
    assert not one.files.secrets.exists()
    kept_files = [path for path in one.files.path.rglob("*") if path.is_file()]
    assert kept_files
    assert not [path for path in kept_files if b"s3cr3t-9f" in path.read_bytes()]


def test_what_work_writes_of_itself_is_on_its_way_while_it_runs_and_at_its_end(
    kept: Callable[..., ShimSlice],
) -> None:
    one = kept().program(
        "import os, pathlib, time\n"
        "folder = pathlib.Path(os.environ['WEIR_METRICS_DIR'])\n"
        "path = folder / 'a.jsonl'\n"
        'path.write_text(\'{"step": 1, "loss": 0.5}\\n\')\n'
        "while not pathlib.Path('go').exists(): time.sleep(0.05)\n"
        'path.open(\'a\').write(\'{"step": 2, "loss": 0.25}\\n{"step": 3, "loss": NaN}\\n\')\n'
    )
    one.until(lambda: batch_oldest(one.files.metrics, "s"))
    (one.files.work / "go").touch()
    assert one.ended()["state"] == "exited"
    found = []
    while (batch := batch_oldest(one.files.metrics, "s")) is not None:
        found += [point for series in batch.series for point in zip(series.steps, series.values, strict=True)]
        batches_drop(one.files.metrics, batch.seq)
    assert found == [(1, 0.5), (2, 0.25)]
    assert "no finite number at step 3" in one.log()


@pytest.mark.req("POOL-12.11", "PLAT-APPLY-22")
def test_a_program_that_is_given_more_time_is_warned_again_and_ends_then(
    kept: Callable[..., ShimSlice],
) -> None:
    one = kept(run_timeout_s=4, warning={"signal": "USR1", "before_s": 3}).program(
        "import signal, time\n"
        "signal.signal(signal.SIGUSR1, lambda *_: print('warned', flush=True))\n"
        "while True: time.sleep(0.1)"
    )
    one.until(lambda: "warned" in one.log())
    one.want(run_timeout_s=8)
    one.until(lambda: "it may run for 8 s in all" in one.log())
    # What says nothing of the time leaves it.
    one.want(compute_percent=40)
    state = one.ended()
    assert (state["reason_code"], state["reason"]) == ("run_timeout", "run time of 8 s reached")
    assert (one.seconds(), one.log().count("\nwarned")) == (8, 2)
