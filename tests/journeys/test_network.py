"""The network of a work's own, in both runtimes: each wall is tried from inside, with a real agent and as root."""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.factories.archive import busybox_layer
from tests.harness.machines import Machine
from tests.journeys.test_containers import offer, want
from tests.journeys.test_isolation import SAY, TRY
from tests.journeys.test_node_agent_runtime import Agent
from tests.unit.node_agent.server import PortalServer, portal_server

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("agent"),
    pytest.mark.req("POOL-8.2c"),
    pytest.mark.skipif(os.geteuid() != 0, reason="other machines can be made up by root alone"),
]
_NEEDED = ("pasta", "runc", "umoci", "busybox", "ip")
DENIED_PORT, OPEN_PORT, NEIGHBOURS_PORT = 7_411, 7_412, 7_413
NEIGHBOUR = f"""
import socket, time
for name in (("0.0.0.0", {NEIGHBOURS_PORT}), ("0.0.0.0", {OPEN_PORT})):
    one = socket.create_server(name); globals()[str(name)] = one
hidden = socket.socket(socket.AF_UNIX); hidden.bind(chr(0) + "weir-test-neighbour"); hidden.listen()
print("up", flush=True); time.sleep(600)
"""
CLIMB = """
import ctypes, socket
def reach(address, port, device=b""):
    one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    one.settimeout(5)
    if device: one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)
    one.connect((address, port))
    return one.recv(20).decode()
def hidden(name):
    one = socket.socket(socket.AF_UNIX); one.connect(chr(0) + name); return "reached"
def moved(pid):
    if ctypes.CDLL(None, use_errno=True).setns(os.open(f"/proc/{pid}/ns/net", os.O_RDONLY), 0x40000000):
        raise OSError(ctypes.get_errno(), "setns")
    return "moved"
"""


class Answering:
    """Listeners of the node's own, which work is to be kept from."""

    def __init__(self) -> None:
        self.sockets = [socket.create_server(("0.0.0.0", port)) for port in (0, 0)]
        self.sockets.append(socket.create_server(("::1", 0), family=socket.AF_INET6))
        self.denied, self.allowed, self.six = (one.getsockname()[1] for one in self.sockets)
        self.hidden = socket.socket(socket.AF_UNIX)
        self.hidden.bind("\0weir-test-node")
        self.hidden.listen()
        for one in self.sockets:
            threading.Thread(target=self._answer, args=(one,), daemon=True).start()

    def _answer(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                with listening.accept()[0] as connection:
                    connection.sendall(b"the node")

    def close(self) -> None:
        for one in (*self.sockets, self.hidden):
            one.close()


@pytest.fixture(scope="module")
def answering() -> Iterator[Answering]:
    found = Answering()
    yield found
    found.close()


@pytest.fixture(scope="module")
def outside() -> Iterator[Machine]:
    if missing := [name for name in _NEEDED if not shutil.which(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    machine = Machine()
    machine.answer([DENIED_PORT, OPEN_PORT])
    yield machine
    machine.remove()


@pytest.fixture(scope="module")
def portal() -> Iterator[PortalServer]:
    with portal_server() as server:
        yield server


@pytest.fixture(scope="module")
def start(portal: PortalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Agent]]:
    made: list[Agent] = []

    def act(portal: PortalServer = portal, **env: str) -> Agent:
        folder = tmp_path_factory.mktemp("network")
        agent = Agent(portal, folder / "home")
        agent.env |= {"WEIR_AGENT_USERS_DIR": str(folder / "users"), "WEIR_AGENT_DEVICES": "1x2:8192"} | env
        made.append(agent)
        return agent.start()

    yield act
    for agent in made:
        if agent.process.poll() is None:
            agent.call("stop-work")
            agent.kill()
        agent.output.close()


@pytest.fixture(scope="module")
def agent(start: Callable[..., Agent], answering: Answering, outside: Machine) -> Agent:
    allowed = f"127.0.0.1:{answering.allowed},{outside.address}:{OPEN_PORT}"
    return start(
        WEIR_AGENT_WORK_NETWORK="private",
        WEIR_AGENT_WORK_NETWORK_ALLOW=allowed,
        WEIR_AGENT_WORK_NETWORK_DENY=f"{outside.address}/32",
    )


def told_by(agent: Agent, uid: str) -> str:
    """What a work has said, once it has ended."""
    agent.until(
        lambda: (found := agent.report(uid)) is not None and found.state in ("exited", "failed", "refused")
    )
    report = agent.report(uid)
    assert report is not None
    assert report.reason_code == "completed", (report, agent.portal.logs.get(uid))
    agent.until(lambda: b"[weir] the work finished" in agent.portal.logs.get(uid, b""))
    return agent.portal.logs[uid].decode()


def node_addresses() -> dict[str, str]:
    """Addresses of this machine that are not of its link alone, by what they are."""
    found = psutil.net_if_addrs()
    return {
        f"{name} {item.family.name}": item.address.partition("%")[0]
        for name, items in found.items()
        for item in items
        if name != "lo" and item.family in (socket.AF_INET, socket.AF_INET6)
    }


def test_no_wall_of_the_network_is_climbed_by_a_process(
    agent: Agent, answering: Answering, outside: Machine
) -> None:
    agent.want("neighbour", NEIGHBOUR)
    agent.until_state("neighbour", "running")
    agent.until(lambda: b"up" in agent.portal.logs.get("neighbour", b""))
    reached = {f"address {name}": (one, answering.denied) for name, one in node_addresses().items()} | {
        "loopback": ("127.0.0.1", answering.denied), "loopback 6": ("::1", answering.six),
        "neighbour": ("127.0.0.1", NEIGHBOURS_PORT), "metadata": ("169.254.169.254", 80),
        "another cloud's": ("100.100.100.200", 80), "denied": (outside.address, DENIED_PORT),
        "this link": (outside.peer, answering.denied),
    }  # fmt: skip
    state = agent.shim_state("neighbour")
    code = CLIMB + (
        f"for name, (address, port) in {reached!r}.items(): found['no ' + name] = tried(reach, address, port)\n"
        "device = [name for _n, name in socket.if_nameindex() if name != 'lo'][0].encode()\n"
        "found['no metadata by device'] = tried(reach, '169.254.169.254', 80, device)\n"
        f"found['no denied by device'] = tried(reach, {outside.address!r}, {DENIED_PORT}, device)\n"
        f"found['yes allowed'] = tried(reach, '127.0.0.1', {answering.allowed})\n"
        f"found['yes outside'] = tried(reach, {outside.address!r}, {OPEN_PORT})\n"
        "kinds = dict(raw=(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP),"
        " packets=(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))\n"
        "for name, kind in kinds.items(): found['no ' + name] = tried(socket.socket, *kind)\n"
        "for name in ('node', 'neighbour'): found['no hidden ' + name] = tried(hidden, 'weir-test-' + name)\n"
        f"for name, pid in dict(init=1, neighbour={state['work_pid']}, agent={agent.process.pid}).items():\n"
        "    found['no move ' + name] = tried(moved, pid)\n"
        "found['seen'] = open('/proc/net/tcp').read().count(' 0A ')\n"
        "found['cards'] = sorted(os.listdir('/sys/class/net')), sorted(n for _i, n in socket.if_nameindex())\n"
        f"own = socket.create_server(('', {NEIGHBOURS_PORT}))\n"
        f"found['yes own'] = str(socket.create_connection(('127.0.0.1', {NEIGHBOURS_PORT})).getpeername()[0])\n"
    )
    agent.want("w", TRY + code + SAY)
    line = next(line for line in told_by(agent, "w").splitlines() if line.startswith("FOUND"))
    found = json.loads(line.removeprefix("FOUND"))
    held = {"TimeoutError", "ConnectionRefusedError", "PermissionError", "OSError", "FileNotFoundError"}
    assert {name: said for name, said in found.items() if name.startswith("no ") and said not in held} == {}
    assert sum(name.startswith("no ") for name in found) >= 16
    assert (found["no raw"], found["no packets"]) == ("PermissionError", "PermissionError")
    assert (found["yes allowed"], found["yes own"]) == ("'the node'", "127.0.0.1")
    assert found["yes outside"] == f"'port {OPEN_PORT}'"
    # Its own listeners alone, and the port of the node that is let in.
    assert found["seen"] <= 2
    assert found["cards"][0] == found["cards"][1]
    assert len(found["cards"][1]) == 2


def test_no_wall_of_the_network_is_climbed_in_a_container(
    agent: Agent, answering: Answering, outside: Machine
) -> None:
    image = offer(agent.portal, busybox_layer(), Env=["PATH=/bin"])
    if (known := agent.report("neighbour")) is None or known.state != "running":
        agent.want("neighbour", NEIGHBOUR)
    agent.until(lambda: b"up" in agent.portal.logs.get("neighbour", b""))
    places = {
        "loopback": f"127.0.0.1 {answering.denied}", "neighbour": f"127.0.0.1 {NEIGHBOURS_PORT}",
        "metadata": "169.254.169.254 80", "denied": f"{outside.address} {DENIED_PORT}",
        **{name.replace(" ", "-"): f"{one} {answering.denied}" for name, one in node_addresses().items() if "." in one},
    }  # fmt: skip
    told = "&& echo OVER {0} || echo HELD {0}"
    tries = [
        f"nc -w 5 {where} </dev/null >/dev/null 2>&1 {told.format(name)}" for name, where in places.items()
    ]
    tries += [
        "ping -c 1 -W 2 169.254.169.254 >/dev/null 2>&1 && echo OVER ping || echo HELD ping",
        "nsenter --net=/proc/1/ns/net true 2>/dev/null && echo OVER nsenter || echo HELD nsenter",
        "ip link set lo down 2>/dev/null && echo OVER link || echo HELD link",
        "ip route add 169.254.169.254 dev lo 2>/dev/null && echo OVER route || echo HELD route",
        "arping -c 1 127.0.0.1 >/dev/null 2>&1 && echo OVER arping || echo HELD arping",
        f"echo YES $(nc -w 10 127.0.0.1 {answering.allowed} </dev/null)",
        # Its own side stays open: Debian 12's pasta forgets the other side's end where this one closed first.
        f"echo YES $(sleep 3 | nc -w 10 {outside.address} {OPEN_PORT})",
        "echo CARDS $(ls /sys/class/net)",
        f"(echo mine | nc -l -p {NEIGHBOURS_PORT} & sleep 5;"
        f" echo OWN $(nc -w 5 127.0.0.1 {NEIGHBOURS_PORT} </dev/null))",
    ]
    want(agent, "c", "; ".join(tries), image)
    told = told_by(agent, "c")
    assert "OVER" not in told, told
    assert told.count("HELD") == len(places) + 5
    for said in ("YES the node", f"YES port {OPEN_PORT}", "OWN mine"):
        assert said in told, told
    assert len(told.partition("CARDS ")[2].splitlines()[0].split()) == 2


def test_the_helper_goes_with_the_work_and_comes_back_when_it_dies(agent: Agent, outside: Machine) -> None:
    code = CLIMB + (
        "import time\n"
        "while not os.path.exists('stop'):\n"
        f"    if os.path.exists('try'): print('GOT', tried(reach, {outside.address!r}, {OPEN_PORT}), flush=True)\n"
        "    time.sleep(0.5)\n"
    )
    agent.want("k", TRY + code)
    agent.until_state("k", "running")
    shim = psutil.Process(agent.shim_state("k")["shim_pid"])

    def helpers() -> list[psutil.Process]:
        found = []
        for one in shim.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                found += [one] if "pasta" in one.cmdline()[:1] else []
        return found

    first = helpers()
    assert len(first) == 1
    assert first[0].uids().real == 65_534
    # While its agent is away too.
    agent.kill()
    first[0].kill()
    _until(lambda: [one for one in helpers() if one.pid != first[0].pid])
    agent.start()
    (agent.home / "slices/k/work/try").touch()
    agent.until(lambda: f"GOT 'port {OPEN_PORT}'".encode() in agent.portal.logs.get("k", b""))
    agent.until(lambda: b"its network leads outside again" in agent.portal.logs.get("k", b""))
    keeper = helpers()[0].parent()
    keeper.kill()
    _until(lambda: any(one.parent() != keeper for one in helpers()))
    agent.until(lambda: b"its network has a keeper again" in agent.portal.logs.get("k", b""))
    left = [*helpers(), *(one.parent() for one in helpers())]
    shim.kill()
    _until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in left))
    assert agent.until_state("k", "failed").reason_code == "lost"


def _until(is_so: Callable[[], object], wait_s: float = 120) -> None:
    end = time.monotonic() + wait_s
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def apart() -> Iterator[PortalServer]:
    """A portal of another agent's."""
    with portal_server() as server:
        yield server


@pytest.fixture
def tools(tmp_path: Path) -> str:
    """A PATH without pasta."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("du", "rm", "sh"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return str(folder)


def test_where_none_can_be_had_work_shares_the_nodes_and_it_is_said(
    start: Callable[..., Agent], apart: PortalServer, tools: str, answering: Answering
) -> None:
    agent = start(apart, PATH=tools)
    node = apart.syncs[-1].node
    assert (node.network, "pasta cannot be found" in node.network_problem) == ("node", True)
    code = f"found['node'] = tried(reach, '127.0.0.1', {answering.denied})"
    agent.want("shares", TRY + CLIMB + code + SAY)
    assert "the node" in told_by(agent, "shares")


def test_where_one_is_demanded_and_cannot_be_had_programs_are_refused(
    start: Callable[..., Agent], apart: PortalServer, tools: str
) -> None:
    agent = start(apart, PATH=tools, WEIR_AGENT_WORK_NETWORK="private")
    assert apart.syncs[-1].node.network == "refused"
    agent.want("refused", "print('ran')")
    assert (
        "they would share its network: pasta cannot be found"
        in agent.until_state("refused", "refused").reason
    )


def test_an_operator_lets_work_reach_nothing(start: Callable[..., Agent], apart: PortalServer) -> None:
    agent = start(apart, WEIR_AGENT_WORK_NETWORK="none")
    assert apart.syncs[-1].node.network == "none"
    agent.want("alone", TRY + CLIMB + "found['cards'] = [name for _n, name in socket.if_nameindex()]" + SAY)
    assert '"cards": ["lo"]' in told_by(agent, "alone")
