"""What is run beside work: within its walls, each tried by a program that wants over it, and ended with who asked."""

from __future__ import annotations

import json
import os
import re
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from node_agent.runtime import proc
from node_agent.runtime.isolation.own_packages import own_packages_link
from node_agent.runtime.shim.programs.executions import PROCESSES_MAX
from node_agent.web.terminal_device import size_set
from tests.journeys.test_shim import SPIN, ShimSlice

pytestmark = [
    pytest.mark.journey,
    pytest.mark.req("PLAT-CMP-10"),
    pytest.mark.xdist_group("shim"),
    pytest.mark.skipif(os.geteuid() != 0, reason="users of their own can be given to work by root alone"),
]
USER, OTHER = 61_801, 61_802
SAYS = """
import json, os, resource, time
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().splitlines())
print(json.dumps({
    'ids': os.getresuid() + os.getresgid() + tuple(os.getgroups()),
    'caps': sorted({status[name].strip() for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')}),
    'no_new_privs': status['NoNewPrivs'].strip(),
    'namespaces': [os.readlink(f'/proc/self/ns/{name}') for name in ('mnt', 'pid', 'ipc')],
    'limits': [resource.getrlimit(number) for number in
               (resource.RLIMIT_DATA, resource.RLIMIT_NPROC, resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)],
    'folder': os.getcwd(), 'root': os.stat('/').st_ino, 'mark': os.environ['MARK'],
}), flush=True)
"""
TRIES = """
import json, os, signal, socket, sys
def tried(act, *args):
    try:
        return repr(act(*args))[:80]
    except BaseException as error:
        return type(error).__name__
given = json.loads(sys.argv[1])
found = {}
for path in given['paths']: found[path] = tried(lambda: os.listdir(path) if os.path.isdir(path) else open(path).read(9))
for pid in given['pids']: found[f'kill {pid}'] = tried(os.kill, pid, signal.SIGKILL)
def ask():
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked.connect(given['socket'])
found['socket'] = tried(ask)
found['root'] = tried(os.setuid, 0)
found['seen'] = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())
print(json.dumps(found))
"""


class Beside:
    """A process beside the work, as the agent has it."""

    def __init__(self, shim: ShimSlice, *argv: str, tty: bool = False) -> None:
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = os.open(shim.files.path, os.O_PATH)
        self.connection.connect(f"/proc/self/fd/{folder}/{shim.files.executions.name}")
        os.close(folder)
        asked = {"argv": argv, "tty": tty, "rows": 24, "columns": 80, "term": "xterm"}
        self.connection.send(json.dumps(asked).encode())
        self.connection.settimeout(60)
        message, self.fds, _flags, _address = socket.recv_fds(self.connection, 65536, 3)
        self.said = json.loads(message)

    def exit(self) -> int:
        code: int = json.loads(self.connection.recv(4096))["exit"]
        return code

    def output(self, number: int = 1) -> str:
        """All that it says, to the end."""
        with os.fdopen(self.fds[number]) as file:
            return file.read()

    def shown(self, mark: str, wait_s: float = 60) -> str:
        """What its screen shows until this stands there."""
        data, end_s = b"", time.monotonic() + wait_s
        while mark not in data.decode(errors="replace"):
            assert time.monotonic() < end_s, data
            if select.select([self.fds[0]], [], [], 0.5)[0]:
                try:
                    data += os.read(self.fds[0], 4096)
                except OSError as error:
                    raise AssertionError(f"it has ended, and shown {data!r}") from error
        return data.decode(errors="replace")

    def type(self, text: str) -> None:
        os.write(self.fds[0], text.encode())

    def leave(self) -> None:
        self.connection.close()
        for fd in self.fds:
            with suppress(OSError):
                os.close(fd)


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Callable[..., ShimSlice]]:
    """Work within its walls, as an agent that is root starts it."""
    made: list[ShimSlice] = []
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    library = own_packages_link(tmp_path / "lib")

    def make(name: str = "s", code: str = "import time; time.sleep(600)", **changes: Any) -> ShimSlice:
        owner = changes.setdefault("work_uid", USER)
        shim = ShimSlice(
            tmp_path / "home" / "slices" / name,
            **{
                "isolation": "namespaces",
                "lib_dir": str(library),
                "compute_percent": 100,
                "env": {"MARK": "its own"},
            }
            | changes,
        )
        for folder in (tmp_path / "home", tmp_path / "home/slices", shim.files.path):
            folder.chmod(0o711)
        shim.files.work.chmod(0o700)
        os.chown(shim.files.work, owner, owner)
        made.append(shim.program(code))
        shim.until(lambda: shim.files.executions.exists())
        return shim

    yield make
    for shim in made:
        shim.shim.terminate()
        shim.shim.wait(60)


def test_it_runs_as_the_work_does_in_everything(beside: Callable[..., ShimSlice]) -> None:
    shim = beside(code=SAYS + "time.sleep(600)", memory_mib=96, disk_mib=64)
    shim.until(lambda: "its own" in shim.log())
    work = json.loads(next(line for line in shim.log().splitlines() if line.startswith("{")))
    here = json.loads(Beside(shim, "python", "-c", SAYS).output())
    assert here == work
    assert (here["ids"][0], here["caps"], here["no_new_privs"]) == (USER, ["0000000000000000"], "1")


def test_no_wall_is_climbed(beside: Callable[..., ShimSlice], tmp_path: Path) -> None:
    other = beside("other", work_uid=OTHER)
    (other.files.work / "data").write_text("the other's")
    shim = beside()
    key = tmp_path / "home" / "credential.json"
    key.write_text("the agent's key")
    homes = [key, other.files.work, other.files.work / "data", other.files.spec, shim.files.spec]
    paths = [*homes, shim.files.path, tmp_path / "home", "/root/.bashrc", "/etc/shadow"]
    paths += ["/proc/1/root", "/proc/1/environ", "/proc/1/fd"]
    pids = [shim.shim.pid, other.shim.pid, other.state()["work_pid"], os.getpid(), 1]
    given = {"paths": [str(path) for path in paths], "pids": pids, "socket": str(shim.files.executions)}
    found = json.loads(Beside(shim, "python", "-c", TRIES, json.dumps(given)).output())
    seen = found.pop("seen")
    assert len(seen) <= 3, "the first process, the work, and the one that looks"
    own = [str(shim.files.path), str(tmp_path / "home")]
    listed = {path: found.pop(path) for path in own}
    assert "spec.json" not in str(listed)
    assert "credential.json" not in str(listed)
    assert set(found.values()) <= {"PermissionError", "FileNotFoundError", "ProcessLookupError"}, found
    assert all(process.shim.poll() is None for process in (shim, other))


def test_its_words_come_apart_and_its_status_is_told(beside: Callable[..., ShimSlice]) -> None:
    shim = beside()
    asked = Beside(shim, "sh", "-c", "cat; echo wrong >&2; exit 7")
    os.write(asked.fds[0], b"right\n")
    os.close(asked.fds[0])
    assert (asked.output(1), asked.output(2), asked.exit()) == ("right\n", "wrong\n", 7)
    killed = Beside(shim, "sleep", "600")
    killed.connection.send(b'{"signal": "TERM"}')
    assert killed.exit() == 128 + 15
    assert Beside(shim, "no-such-program").said["refused"] == "not_found"
    assert Beside(shim, "/etc/passwd").said["refused"] == "cannot_run"


def test_a_terminal_is_the_works_own(beside: Callable[..., ShimSlice]) -> None:
    shim = beside()
    asked = Beside(shim, tty=True)
    asked.type("tty; stty size; echo 你好 > /dev/tty; stat -c %u $(tty); echo end-$?\n")
    shown = asked.shown("end-0")
    assert "/dev/pts/0" in shown
    assert "24 80" in shown
    assert "你好" in shown
    assert str(USER) in shown
    size_set(asked.fds[0], 40, 100)
    asked.type("stty size; sleep 600\n")
    asked.shown("40 100")
    shim.until(lambda: any(_command_line(pid).startswith(b"sleep") for pid in running(shim)))
    asked.type("\x03")
    asked.type("echo status-$?; exit 3\n")
    asked.shown("status-130")
    assert asked.exit() == 3


@pytest.mark.parametrize("how", ["politely", "not at all"])
def test_it_ends_with_who_asked(beside: Callable[..., ShimSlice], how: str) -> None:
    shim = beside()
    deaf = "trap '' HUP TERM; " if how == "not at all" else ""
    asked = Beside(shim, "sh", "-c", f"{deaf}sleep 600 & sleep 600", tty=how == "politely")
    shim.until(lambda: len(running(shim)) == 4)
    asked.leave()
    shim.until(lambda: len(running(shim)) == 1, wait_s=30)
    assert shim.shim.poll() is None


def test_it_ends_with_the_work(beside: Callable[..., ShimSlice]) -> None:
    shim = beside()
    asked = Beside(shim, "sh", "-c", "trap '' HUP TERM; sleep 600")
    os.kill(shim.state()["work_pid"], 9)
    began_s = time.monotonic()
    assert asked.connection.recv(4096) == b""
    shim.ended()
    assert shim.state()["reason_code"] != "lost"
    assert time.monotonic() - began_s < 20
    assert asked.output() == ""
    assert not shim.files.executions.exists()


def test_so_many_and_no_more(beside: Callable[..., ShimSlice]) -> None:
    shim = beside()
    asked = [Beside(shim, "sleep", "600") for _ in range(PROCESSES_MAX)]
    assert all(one.said == {"begun": True} for one in asked)
    assert Beside(shim, "true").said["refused"] == "too_many"
    asked[0].leave()
    shim.until(lambda: Beside(shim, "true").said == {"begun": True}, wait_s=30)


SAID = {
    "rubbish": b"rubbish",
    "no object": b"[]",
    "another type": b'{"argv": 1, "tty": false}',
    "half": b'{"argv": ["true"]}',
    "much": b"\xff" * 60_000,
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_who_speaks_otherwise_ends_his_own_connection_alone(
    beside: Callable[..., ShimSlice], said: bytes
) -> None:
    shim = beside()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(str(shim.files.executions))
    connection.send(said)
    connection.settimeout(30)
    assert b"begun" not in connection.recv(4096)
    assert Beside(shim, "echo", "well").output() == "well\n"


def test_a_flood_of_connections_leaves_the_work_alone(beside: Callable[..., ShimSlice]) -> None:
    shim = beside()
    flood = []
    for _time in range(1200):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.setblocking(False)
        with suppress(BlockingIOError):
            connection.connect(str(shim.files.executions))
        flood.append(connection)
    time.sleep(0.5)
    for connection in flood:
        connection.close()
    shim.until(lambda: _is_begun(shim), wait_s=30)
    assert shim.shim.poll() is None


def _is_begun(shim: ShimSlice) -> bool:
    """Whether one more is let in; while the shim clears away the flood it may be turned away with it."""
    try:
        return bool(Beside(shim, "true").said == {"begun": True})
    except OSError:
        return False


def test_a_shell_that_is_held_to_its_share_never_takes_its_command_for_suspended(
    beside: Callable[..., ShimSlice],
) -> None:
    """Without control groups a share is held by pauses, which a shell would see its command make."""
    asked = Beside(beside(code=SPIN, compute_percent=10, memory_mib=128), tty=True)
    asked.type("for n in 1 2 3 4 5 6; do timeout 0.7 yes > /dev/null; done; echo end-$?; exit\n")
    shown = asked.shown("end-124", wait_s=240)
    assert not re.search("Stopped|已停止", shown)


def _command_line(pid: int) -> bytes:
    """Empty for one that has just gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def running(shim: ShimSlice) -> list[int]:
    """The work and what runs beside it; not the first process of its namespaces."""
    found = [pid for pid in proc.descendants(shim.shim.pid) if proc.stat_fields(pid)]
    return [pid for pid in found if b"supervisor" not in _command_line(pid)]
