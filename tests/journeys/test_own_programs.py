"""SFTP and connections to ports beside work: our own programs, within its walls, whatever is installed there."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from node_agent.web.port_connection import NOBODY_LISTENS
from tests.factories.archive import busybox_layer
from tests.journeys.test_containers import agent, offer, portal, want
from tests.journeys.test_executions import USER, Beside, beside
from tests.journeys.test_shim import ShimSlice
from tests.processes.test_sftp import HELLO, packet, text

__all__ = ["agent", "beside", "portal"]
pytestmark = [
    pytest.mark.journey,
    pytest.mark.req("PLAT-CMP-10"),
    pytest.mark.xdist_group("shim"),
    pytest.mark.skipif(os.geteuid() != 0, reason="users of their own can be given to work by root alone"),
]
# Serves one word on a port that it writes down, and looks into every process that it finds.
SERVES = """
import os, pathlib, socket, time
server = socket.create_server(("127.0.0.1", 0))
pathlib.Path("port").write_text(str(server.getsockname()[1]))
while True:
    connection, _ = server.accept()
    connection.sendall(b"served " + connection.recv(100))
    connection.close()
    seen = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) != os.getpid():
            for name in ("mem", "environ", "cwd"):
                try:
                    open(f"/proc/{pid}/{name}", "rb").close() if name != "cwd" else os.readlink(f"/proc/{pid}/cwd")
                    seen.append(f"{pid} {name} " + open(f"/proc/{pid}/cmdline").read()[:300])
                except OSError:
                    pass
    pathlib.Path("seen").write_text("\\n".join(seen) + "end")
"""


class Sftp:
    """Speaks to our server, beside a work."""

    def __init__(self, read: Callable[[int], bytes], write: Callable[[bytes], Any]) -> None:
        self._read, self._write, self._number = read, write, 0
        self._write(HELLO)
        assert self._answer()[0] == 2

    def _answer(self) -> tuple[int, bytes]:
        (size,) = struct.unpack(">I", self._exactly(4))
        data = self._exactly(size)
        return data[0], data[1:]

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._read(size - len(data))
            assert piece, "it has ended"
            data += piece
        return data

    def ask(self, kind: int, body: bytes) -> tuple[int, bytes]:
        self._number += 1
        self._write(packet(kind, struct.pack(">I", self._number) + body))
        said, answer = self._answer()
        return said, answer[4:]

    def content(self, path: str) -> bytes | int:
        """What a file holds; the code of the refusal where it cannot be read."""
        kind, handle = self.ask(3, text(path.encode()) + struct.pack(">II", 1, 0))
        if kind != 102:
            return int(struct.unpack_from(">I", handle)[0])
        _kind, data = self.ask(5, handle + struct.pack(">QI", 0, 65536))
        return data[4:]


def beside_sftp(asked: Beside) -> Sftp:
    assert asked.said == {"begun": True}
    return Sftp(lambda size: os.read(asked.fds[1], size), lambda data: os.write(asked.fds[0], data))


@pytest.fixture
def shim(beside: Callable[..., ShimSlice]) -> ShimSlice:
    made = beside(code=SERVES)
    made.until(lambda: (made.files.work / "port").exists())
    return made


def test_files_come_and_go_as_the_works_user_and_no_others_are_seen(
    shim: ShimSlice, beside: Callable[..., ShimSlice], tmp_path: Any
) -> None:
    other = beside("other", work_uid=USER + 1)
    (other.files.work / "data").write_text("the other's")
    (shim.files.work / "own").write_text("its own")
    asked = Beside(shim, "internal-sftp")
    client = beside_sftp(asked)
    assert client.content("own") == b"its own"
    for path in (str(other.files.work / "data"), "/etc/shadow", str(shim.files.spec), "/proc/1/environ"):
        assert client.content(path) in (2, 3), path
    kind, handle = client.ask(3, text(b"made") + struct.pack(">II", 2 | 8, 0))
    assert kind == 102
    client.ask(6, handle + struct.pack(">Q", 0) + text(b"by a client"))
    made = shim.files.work / "made"
    assert (made.read_text(), made.stat().st_uid) == ("by a client", USER)
    # Its home is where a client begins.
    assert str(shim.files.work).encode() in client.ask(16, text(b"."))[1]
    os.close(asked.fds[0])
    assert asked.exit() == 0


def test_no_other_process_of_the_work_looks_into_it(shim: ShimSlice) -> None:
    asked = Beside(shim, "internal-sftp")
    beside_sftp(asked)
    assert connected(shim, b"x") == b"served x"
    seen = shim.files.work / "seen"
    shim.until(lambda: seen.exists() and seen.read_text().endswith("end"))
    assert "supervisor" not in seen.read_text()


def connected(shim: ShimSlice, said: bytes) -> bytes:
    port = (shim.files.work / "port").read_text()
    asked = Beside(shim, "python", "-m", "node_agent.web.port_connection", port)
    os.write(asked.fds[0], said)
    os.close(asked.fds[0])
    return asked.output(1).encode()


def test_a_port_is_connected_at_once_and_nobody_elses_is(shim: ShimSlice) -> None:
    began_s = time.monotonic()
    assert connected(shim, b"again") == b"served again"
    assert time.monotonic() - began_s < 30
    asked = Beside(shim, "python", "-m", "node_agent.web.port_connection", "1")
    assert asked.exit() == NOBODY_LISTENS


@pytest.fixture
def container(agent: Any) -> Iterator[str]:
    """Work in an image that has nothing but busybox."""
    image = offer(agent.portal, busybox_layer(), Env=["PATH=/bin"])
    uid = f"c{uuid4().hex[:8]}"
    want(
        agent,
        uid,
        "echo inside > $HOME/own; echo done; busybox httpd -p 127.0.0.1:18123 -h $HOME; sleep 600",
        image,
    )
    agent.until(lambda: b"done" in agent.portal.logs.get(uid, b""), wait_s=90)
    yield uid
    agent.portal.desired[uid] = agent.portal.desired[uid].model_copy(
        update={"generation": 2, "state": "stopped"}
    )
    agent.until_state(uid, "exited")


class _Files:
    """As much of a slice's folder as `Beside` needs."""

    def __init__(self, path: Any) -> None:
        self.path, self.executions = path, path / "exec.sock"


class _Slice:
    def __init__(self, path: Any) -> None:
        self.files = _Files(path)


def test_in_a_container_without_any_of_it_too(agent: Any, container: str) -> None:
    place = _Slice(agent.home / "slices" / container)
    asked = Beside(place, "internal-sftp")  # type: ignore[arg-type]
    client = beside_sftp(asked)
    assert client.content("own") == b"inside\n"
    assert isinstance(client.content("/bin/sh"), bytes), "it sees the image"
    assert client.content("/etc/shadow") == 2
    assert client.content(str(agent.home / "credential.json")) in (2, 3)
    asked.leave()
    port = Beside(place, "python", "-m", "node_agent.web.port_connection", "18123")  # type: ignore[arg-type]
    os.write(port.fds[0], b"GET /own HTTP/1.0\r\n\r\n")
    assert port.output(1).endswith("inside\n")
