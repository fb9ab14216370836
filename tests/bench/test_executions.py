"""What a terminal in the browser costs a key beside one here, and what copying to work costs beside copying."""

import os
import pty
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest
from weir.execution import Execution

from portal.devstack.demo_order import Journey
from portal.devstack.stack import Stack
from tests.harness.portal import password_of

KEYS, MIB, TIMES = 200, 256, 3
# A key goes through five processes and back; a person notices a tenth of a second.
MOST_S, LEAST_MIB_S = 0.1, 20
WEIR = (sys.executable, "-m", "weir")


@pytest.fixture
def running(stack: Stack, journey: Journey):
    alice = journey.person("alice")
    work = alice.workload_submit(name="beside", argv=["sleep", "3000"], compute_percent=90, memory_mib=1024)
    journey.wait("its start", lambda: alice.workload(work["uid"])["state"] == "running")
    yield alice, work
    alice.workload_stop(work["uid"])


def _times(read, write):
    """How long each key takes to be shown; the program is `cat`, the terminal shows it."""
    found = []
    for _key in range(KEYS):
        began_s = time.perf_counter()
        write(b"x")
        while b"x" not in read():
            pass
        found.append(time.perf_counter() - began_s)
        time.sleep(0.01)
    return found


def test_a_key_through_the_terminal_beside_a_direct_one(running):
    alice, work = running
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("cat", ["cat"])
    direct = _times(lambda: os.read(fd, 99), lambda data: os.write(fd, data))
    os.close(fd)
    os.waitpid(pid, 0)
    terminal = Execution(alice, alice.workload_exec(work["uid"], ["cat"], tty=True))
    output = terminal.output()
    through = _times(lambda: next(output)[1], terminal.send)
    terminal.close()
    for name, times in (("direct", direct), ("through", through)):
        p50_s, p95_s = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        print(f"{name}: p50 {p50_s * 1e3:.2f} ms, p95 {p95_s * 1e3:.2f} ms")
    assert statistics.quantiles(through, n=20)[-1] < MOST_S


def test_how_fast_files_are_copied_there_and_back(running, stack, tmp_path: Path):
    _alice, work = running
    env = {**os.environ, "WEIR_CONFIG": str(tmp_path / "alice.json"), "WEIR_PASSWORD": password_of(stack)}
    login = ("login", f"http://127.0.0.1:{stack.options.port}", "-u", "alice")
    subprocess.run([*WEIR, *login], env=env, check=True, capture_output=True)
    large = tmp_path / "large"
    large.write_bytes(os.urandom(2**20) * MIB)

    def seconds(*command: str) -> float:
        found = []
        for _time in range(TIMES):
            began_s = time.perf_counter()
            subprocess.run(command, env=env, check=True, capture_output=True)
            found.append(time.perf_counter() - began_s)
        return min(found)

    said = {
        "cp": seconds("cp", str(large), str(tmp_path / "copy")),
        "weir cp, there": seconds(*WEIR, "cp", str(large), f"{work['no']}:large"),
        "weir cp, back": seconds(*WEIR, "cp", f"{work['no']}:large", str(tmp_path / "back")),
    }
    for name, took_s in said.items():
        print(f"{name}: {MIB / took_s:.0f} MiB/s")
    assert (tmp_path / "back").stat().st_size == large.stat().st_size
    assert min(MIB / said["weir cp, there"], MIB / said["weir cp, back"]) > LEAST_MIB_S
