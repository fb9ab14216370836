"""Networks of work's own without an agent: who keeps them, who shares them, and that nothing outlives them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from node_agent.runtime.network.inside import files_from_child
from node_agent.runtime.network.rules import NAMES, Rules
from node_agent.runtime.network.work_network import NetworkWanted, WorkNetwork
from tests.harness.machines import ANSWERER, Machine

pytestmark = [
    pytest.mark.req("POOL-8.2c"),
    pytest.mark.skipif(os.geteuid() != 0, reason="other machines can be made up by root alone"),
]
# Holds a network as a shim does; each line that it is told is run with it.
HOLDER = """
import sys
from node_agent.runtime.network.rules import Rules
from node_agent.runtime.network.work_network import NetworkWanted, WorkNetwork
from node_agent.runtime.network.inside import files_from_child
from node_agent.runtime.sandbox import become_subreaper
become_subreaper()
held = WorkNetwork(NetworkWanted(Rules(), *sys.argv[1:]))
held.ready()
print("up", *held.pids, flush=True)
for line in sys.stdin:
    try:
        exec(line)
        print("done", flush=True)
    except OSError as error:
        print("failed", error, flush=True)
"""
LISTEN = (
    "import socket; one = files_from_child("
    "lambda: [socket.create_server(('0.0.0.0', {port})).detach()], held.fd)[0]"
)
AGAIN = "if not any('again' in note for note in held.look()): raise OSError('not yet')"
CONNECT = (
    "import socket; got = socket.socket(fileno=files_from_child("
    "lambda: [socket.create_connection(('{address}', {port}), 10).detach()], held.fd)[0])"
)


@pytest.fixture(autouse=True)
def _needed() -> None:
    if missing := [name for name in ("pasta", "ip", "nsenter") if not shutil.which(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")


@pytest.fixture
def machines() -> Iterator[Callable[..., Machine]]:
    made: list[Machine] = []

    def make(beside: Machine | None = None) -> Machine:
        made.append(Machine(beside))
        return made[-1]

    yield make
    for machine in reversed(made):
        machine.remove()


@pytest.fixture
def holder() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    made: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        made.append(process)
        return process

    yield start
    for process in made:
        process.kill()
        process.wait()


def said(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def tell(process: subprocess.Popen[str], line: str) -> list[str]:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return said(process)


def until(is_so: Callable[[], object], wait_s: float = 90) -> None:
    end = time.monotonic() + wait_s
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_gone(pids: list[int]) -> bool:
    return not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)


@pytest.mark.parametrize("wait_s", [0.0, 0.02, 0.1, 0.3, None])
def test_whoever_holds_it_and_is_killed_at_any_time_leaves_nothing(
    holder: Callable[..., subprocess.Popen[str]], wait_s: float | None
) -> None:
    """None: once it is there."""
    process = holder()
    me = psutil.Process(process.pid)
    known: set[int] = set()
    end = time.monotonic() + (wait_s or 0)
    if wait_s is None:
        known.update(map(int, said(process)[1:]))
        assert len(known) == 2
    while time.monotonic() < end:
        with suppress(psutil.NoSuchProcess):
            known |= {one.pid for one in me.children(recursive=True)}
    with suppress(psutil.NoSuchProcess):
        known |= {one.pid for one in me.children(recursive=True)}
    process.kill()
    process.wait()
    until(lambda: is_gone(sorted(known)))


def test_a_gang_on_a_machine_shares_one_as_long_as_one_of_it_is_left(
    holder: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """The one who came first may go first."""
    place = tmp_path / "networks" / "gang.sock"
    members = [holder(str(place)) for _ in range(3)]
    helpers = sorted({int(pid) for member in members for pid in said(member)[1:]})
    assert len(helpers) == 2
    assert tell(members[0], LISTEN.format(port=7_001)) == ["done"]
    assert tell(members[1], CONNECT.format(address="127.0.0.1", port=7_001)) == ["done"]
    assert tell(members[2], LISTEN.format(port=7_001))[0] == "failed"
    for member in members[:2]:
        member.kill()
        member.wait()
    assert tell(members[2], LISTEN.format(port=7_001)) == ["done"]
    assert not is_gone(helpers)
    late = holder(str(place))
    assert said(late)[0] == "up"
    assert tell(late, CONNECT.format(address="127.0.0.1", port=7_001)) == ["done"]
    os.kill(helpers[0], signal.SIGKILL)
    until(lambda: tell(late, AGAIN) == ["done"])
    assert tell(late, CONNECT.format(address="127.0.0.1", port=7_001)) == ["done"]
    for member in (members[2], late):
        member.kill()
        member.wait()
    until(lambda: is_gone(helpers) and not place.exists())


def test_two_that_are_not_of_one_gang_share_nothing(
    holder: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    one, other = holder(str(tmp_path / "networks/one.sock")), holder(str(tmp_path / "networks/other.sock"))
    assert (said(one)[0], said(other)[0]) == ("up", "up")
    assert tell(one, LISTEN.format(port=7_001)) == ["done"]
    assert tell(other, CONNECT.format(address="127.0.0.1", port=7_001))[0] == "failed"
    assert tell(other, LISTEN.format(port=7_001)) == ["done"]


@pytest.mark.req("ELA-501")
def test_a_gang_on_two_machines_meets_at_the_ports_that_it_is_given(
    machines: Callable[..., Machine], tmp_path: Path
) -> None:
    """The meeting port, and whatever ports its programs are given by the kernel."""
    first = machines()
    second = machines(first)
    near = first.start(HOLDER, str(tmp_path / "near" / "gang.sock"))
    far = second.start(HOLDER, str(tmp_path / "far" / "gang.sock"))
    assert tell(near, "held.meet(21_407)") == ["done"]
    assert tell(far, "held.meet(0)") == ["done"]
    assert tell(near, LISTEN.format(port=21_407)) == ["done"]
    assert tell(far, CONNECT.format(address=second.peer, port=21_407)) == ["done"]
    # What a library listens on that names no port is reached too, in both directions.
    for here, there, address in ((near, far, second.peer), (far, near, second.address)):
        assert tell(here, LISTEN.format(port=0)) == ["done"]
        port = tell(here, "print('at', socket.socket(fileno=one).getsockname()[1], flush=True)")[1]
        said(here)
        assert tell(here, LISTEN.format(port=int(port))) == ["done"]
        assert 10_000 <= int(port) < 20_000
        assert tell(there, CONNECT.format(address=address, port=port)) == ["done"]
    assert tell(near, LISTEN.format(port=7_001)) == ["done"]
    assert tell(far, CONNECT.format(address=second.peer, port=7_001))[0] == "failed"


def test_names_are_looked_up_by_the_nodes_server_where_work_does_not_reach_it() -> None:
    server, port = "127.0.0.77", 53
    asked, listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.create_server((server, port))
    asked.bind((server, port))

    def answer() -> None:
        question, asker = asked.recvfrom(1000)
        asked.sendto(question[::-1], asker)
        connection, _address = listening.accept()
        connection.sendall(connection.recv(1000)[::-1])
        connection.close()

    threading.Thread(target=answer, daemon=True).start()
    network = WorkNetwork(NetworkWanted(Rules()), server)
    try:
        network.ready()

        def look_up() -> list[int]:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
                one.settimeout(30)
                one.connect((NAMES, port))
                one.send(b"abc")
                if one.recv(10) != b"cba":
                    raise OSError("no answer")
            with socket.create_connection((NAMES, port), 30) as one:
                one.sendall(b"abcd")
                if one.recv(10) != b"dcba":
                    raise OSError("no answer to a connection")
            return []

        assert files_from_child(look_up, network.fd) == []
    finally:
        network.close()
        asked.close()
        listening.close()


def test_a_server_of_the_operators_is_reached_on_the_node_itself() -> None:
    """At its 127.0.0.1, and at an address of its own, and no other port there."""
    own = next(
        item.address
        for name, items in psutil.net_if_addrs().items()
        for item in items
        if name != "lo" and item.family == socket.AF_INET
    )
    rules = Rules.of_node([], [], [own])
    program = subprocess.Popen(
        [sys.executable, "-c", ANSWERER, "7441", "7442"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert said(program) == ["up"]
        for address in ("127.0.0.1", own):
            network = WorkNetwork(NetworkWanted(rules.with_server(f"http://{address}:7441/simple")))
            network.ready()

            def connected(port: int, address: str = address) -> Callable[[], list[int]]:
                return lambda: [socket.create_connection((address, port), 5).detach()]

            with socket.socket(fileno=files_from_child(connected(7_441), network.fd)[0]) as connection:
                connection.settimeout(30)
                assert connection.recv(20) == b"port 7441"
            with pytest.raises(OSError):
                files_from_child(connected(7_442), network.fd)
            network.close()
    finally:
        program.kill()
        program.wait()
