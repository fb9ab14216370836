"""What the gateway does when something beside it fails, and where its bounds lie."""

import asyncio
import errno
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpcore
import pytest
from django.db import OperationalError
from redis import RedisError

from apps.scheduling.selectors.web_pages import WebPages
from node_agent.protocol.tunnel import OpenStream
from portal.gateway import forward, tunnels
from portal.gateway.access import Admitted, Doorkeeper
from portal.gateway.app import Gateway
from portal.gateway.forward import WEBSOCKETS_MAX, Forwarder
from portal.gateway.peers import Peers
from portal.gateway.streams import NoStream, Stream
from portal.gateway.tunnels import Tunnels

pytestmark = pytest.mark.req("PLAT-CMP-10")
PAGES = WebPages(
    workload_uid="82400dbc-ed6a-42c2-92b5-4a8631db2c4d", schema="acme", no="W-1", owner_id=7, is_over=False,
    slice_uid="slice", node_uid="node",
)  # fmt: skip
HOST = b"w-82400dbced6a42c292b54a8631db2c4d.env.localhost"
CREDENTIAL = [(b"authorization", b"Bearer weirnode_" + b"x" * 32)]


class Agent:
    """An agent's tunnel, at the portal's door."""

    def __init__(self, door: Tunnels) -> None:
        self.told: list[dict[str, Any]] = []
        self.says: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.says.put_nowait({"type": "websocket.connect"})
        scope = {"path": "/api/agent/v1/tunnel", "headers": CREDENTIAL}
        self.task = asyncio.create_task(door(scope, self.says.get, self._hear))

    async def _hear(self, message: dict[str, Any]) -> None:
        self.told.append(message)

    @property
    def asked(self) -> list[OpenStream]:
        return [OpenStream.model_validate_json(message["text"]) for message in self.told if "text" in message]

    async def refuse(self, code: str) -> None:
        await until(lambda: self.asked)
        said = f'{{"stream": "{self.asked[-1].stream}", "code": "{code}"}}'
        self.says.put_nowait({"type": "websocket.receive", "text": said})


async def until(is_so: Any) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.01)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The credential is the node's; the data folder is the test's."""

    async def node_of(_secret: str) -> str:
        return "node"

    monkeypatch.setattr(tunnels, "_node_of", node_of)
    monkeypatch.setattr("portal.gateway.peers.env", lambda: type("Env", (), {"var_dir": tmp_path})())


def test_a_cache_that_fails_costs_the_tunnel_nothing_here(
    known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other webs are told as soon as it answers again; this one leads to the node meanwhile."""
    monkeypatch.setattr(tunnels, "_RETRY_S", 0.02)
    tries: list[str] = []

    async def announce(_peers: Peers, node_uid: str) -> None:
        tries.append(node_uid)
        if len(tries) < 3:
            raise RedisError("down")

    monkeypatch.setattr(Peers, "announce", announce)
    monkeypatch.setattr(Peers, "withdraw", announce)

    async def body() -> None:
        door = Tunnels()
        agent = Agent(door)
        await until(lambda: tries)
        opening = asyncio.create_task(door.open("node", "slice"))
        await agent.refuse("not_listening")
        with pytest.raises(NoStream, match="not_listening"):
            await opening
        await until(lambda: len(tries) == 3)
        assert not agent.task.done()
        agent.says.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(agent.task, 20)

    asyncio.run(body())


def test_an_older_agent_is_asked_in_words_that_it_knows(known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> None:
        return None

    monkeypatch.setattr(Peers, "announce", nothing)
    monkeypatch.setattr(Peers, "withdraw", nothing)

    async def body() -> None:
        door = Tunnels()
        agent = Agent(door)
        await until(lambda: agent.told)
        for kind in ("web", "exec"):
            opening = asyncio.create_task(door.open("node", "slice", kind))  # type: ignore[arg-type]
            await agent.refuse("busy")
            with pytest.raises(NoStream):
                await opening
            agent.told.append({"text": agent.told.pop()["text"]})
        first, second = [message["text"] for message in agent.told if "text" in message]
        assert "kind" not in first
        assert '"kind":"exec"' in second
        agent.task.cancel()

    asyncio.run(body())


def test_a_full_disk_leaves_a_web_to_itself(
    known: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It cannot make the socket by which the others reach it, says so, and goes on alone."""

    async def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(asyncio, "start_unix_server", full)

    async def body() -> None:
        peers = Peers(ask=None, take=None)  # type: ignore[arg-type]
        await peers.listen()
        await peers.listen()

    asyncio.run(body())
    assert "cannot reach this one" in caplog.text
    assert "No space left" in caplog.text


def test_webs_in_containers_have_names_of_their_own(known: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the same process number and the same host name, and share the data folder."""
    monkeypatch.setattr("os.getpid", lambda: 1)
    monkeypatch.setattr("socket.gethostname", lambda: "web")
    names = {Peers(ask=None, take=None).name for _ in range(50)}  # type: ignore[arg-type]
    assert len(names) == 50


class Behind:
    """Tunnels that lead to a program which answers each connection with these bytes."""

    def __init__(self, answer: bytes, *, takes: bool = True) -> None:
        self._answer, self._takes, self.opened = answer, takes, 0

    async def open(self, _node_uid: str, _slice_uid: str) -> Stream:
        self.opened += 1
        out: asyncio.Queue[bytes] = asyncio.Queue()

        async def send(_data: bytes) -> None:
            if not self._takes:
                await asyncio.get_running_loop().create_future()
            if out.empty():
                out.put_nowait(self._answer)

        async def from_work() -> AsyncIterator[bytes]:
            while True:
                yield await out.get()

        stream = Stream(send)
        self._filling = asyncio.create_task(stream.fill(from_work()))
        return stream


def request(method: str = "GET", *, body: bytes | None = None) -> tuple[dict[str, Any], Any, Any, list[Any]]:
    headers = [(b"host", b"w-1.env.localhost")]
    if body is not None:
        headers.append((b"content-length", str(len(body)).encode()))
    scope = {
        "type": "http", "scheme": "http", "method": method, "path": "/", "query_string": b"", "headers": headers,
        "client": ("10.0.0.9", 4711),
    }  # fmt: skip
    told: list[Any] = []
    says = [{"type": "http.request", "body": body or b"", "more_body": False}]

    async def receive() -> Any:
        return says.pop(0) if says else await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        told.append(message)

    return scope, receive, send, told


def test_an_answer_that_switches_protocols_unasked_is_none() -> None:
    """What would follow is no HTTP any more, and the next request on the connection would be part of it."""

    async def body() -> list[Any]:
        behind = Behind(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: evil\r\nConnection: Upgrade\r\n\r\nmore"
        )
        scope, receive, send, told = request()
        with pytest.raises(httpcore.RemoteProtocolError):
            await Forwarder(behind).http(scope, receive, send, PAGES)  # type: ignore[arg-type]
        return told

    assert asyncio.run(asyncio.wait_for(body(), 30)) == []


@pytest.mark.parametrize("status", ["600", "999"])
def test_an_answer_with_a_status_that_is_none_is_none(status: str) -> None:
    """The server in front has no line for it."""

    async def body() -> list[Any]:
        behind = Behind(f"HTTP/1.1 {status} Evil\r\nContent-Length: 0\r\n\r\n".encode())
        scope, receive, send, told = request()
        with pytest.raises(httpcore.RemoteProtocolError):
            await Forwarder(behind).http(scope, receive, send, PAGES)  # type: ignore[arg-type]
        return told

    assert asyncio.run(asyncio.wait_for(body(), 30)) == []


def test_work_that_does_not_take_an_upload_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "_WRITE_S", 0.3)

    async def body() -> None:
        scope, receive, send, _told = request("POST", body=b"x" * 1_000_000)
        forwarder = Forwarder(Behind(b"", takes=False))  # type: ignore[arg-type]
        with pytest.raises(httpcore.WriteTimeout):
            await forwarder.http(scope, receive, send, PAGES)

    asyncio.run(asyncio.wait_for(body(), 20))


@pytest.mark.parametrize("port", [b":abc", b":99999", b":0", b":-1"])
def test_a_socket_to_a_port_that_is_none_is_closed_before_anything_is_asked(port: bytes) -> None:
    async def portal(*_given: Any) -> None:
        raise AssertionError("the portal was asked")

    async def body() -> None:
        scope, receive, send, told = request()
        scope |= {"type": "websocket", "path": "/", "headers": [(b"host", HOST + port)]}
        await Gateway(portal)(scope, receive, send)
        assert [message["type"] for message in told] == ["websocket.close"]

    asyncio.run(asyncio.wait_for(body(), 30))


def test_so_many_websockets_to_one_workload_and_no_more() -> None:
    async def body() -> None:
        behind = Behind(b"")
        forwarder = Forwarder(behind)  # type: ignore[arg-type]
        scope = {
            "type": "websocket", "scheme": "ws", "path": "/", "query_string": b"", "subprotocols": [],
            "headers": [(b"host", b"w-1.env.localhost")], "client": ("10.0.0.9", 4711),
        }  # fmt: skip

        def open_one() -> asyncio.Task[None]:
            _scope, receive, send, _told = request()
            return asyncio.create_task(forwarder.websocket(scope, receive, send, PAGES))

        held = [open_one() for _ in range(WEBSOCKETS_MAX)]
        await until(lambda: behind.opened == WEBSOCKETS_MAX)
        with pytest.raises(NoStream, match="busy"):
            await open_one()
        held[0].cancel()
        await asyncio.gather(held[0], return_exceptions=True)
        held.append(open_one())
        await until(lambda: behind.opened == WEBSOCKETS_MAX + 1)
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)

    asyncio.run(asyncio.wait_for(body(), 30))


def test_an_api_token_that_ends_while_an_answer_streams_ends_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was let in by a token is asked about again while it is open; while nobody can say it goes on."""
    monkeypatch.setattr("portal.gateway.app.REMEMBERED_S", 0.05)
    says: list[Any] = [Admitted(PAGES, ""), Admitted(PAGES, ""), OperationalError("down"), None]
    asked: list[Any] = []

    async def admitted(_door: Doorkeeper, _scope: Any, _uid: Any) -> Any:
        answer = says[min(len(asked), len(says) - 1)]
        asked.append(answer)
        if isinstance(answer, Exception):
            raise answer
        return answer

    ended: list[str] = []

    async def endless(_forwarder: Forwarder, _scope: Any, _receive: Any, send: Any, _pages: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while True:
                await send({"type": "http.response.body", "body": b"tick", "more_body": True})
                await asyncio.sleep(0.01)
        finally:
            ended.append("closed")

    monkeypatch.setattr(Doorkeeper, "admitted", admitted)
    monkeypatch.setattr(Forwarder, "http", endless)

    async def body() -> list[Any]:
        scope, receive, send, told = request()
        scope["headers"] = [(b"host", HOST)]
        await Gateway(None)(scope, receive, send)
        return told

    told = asyncio.run(asyncio.wait_for(body(), 30))
    assert asked == says
    assert ended == ["closed"]
    assert told[0]["status"] == 200
    assert not any(
        message["type"] == "http.response.body" and not message.get("more_body") for message in told
    )
