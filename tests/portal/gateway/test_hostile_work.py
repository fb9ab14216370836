"""What a hostile program behind the gateway, or somebody before it, cannot do to the web that carries it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import httpcore
import pytest
from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol

from apps.scheduling.selectors.web_pages import WebPages
from portal.gateway import forward
from portal.gateway.access import Doorkeeper
from portal.gateway.streams import Stream
from portal.gateway.tunnels import Tunnels

pytestmark = pytest.mark.req("PLAT-CMP-10")
HOST = b"w-82400dbced6a42c292b54a8631db2c4d.env.localhost:8000"
UPGRADE = {
    "type": "websocket",
    "scheme": "ws",
    "path": "/api",
    "query_string": b"",
    "headers": [(b"host", HOST)],
    "subprotocols": [],
    "client": ("10.0.0.9", 4711),
}


def carried(answer: Callable[[ServerProtocol], bytes] | None) -> list[dict[str, Any]]:
    """What a browser is sent when work answers its handshake, and then sends these bytes; None: it never answers."""
    told: list[dict[str, Any]] = []

    async def body() -> None:
        work, out = ServerProtocol(), asyncio.Queue[bytes]()

        async def to_work(data: bytes) -> None:
            work.receive_data(data)
            for request in work.events_received():
                if answer is not None and not isinstance(request, Frame):
                    work.send_response(work.accept(request))
                    await out.put(b"".join(work.data_to_send()) + answer(work))

        async def from_work() -> AsyncIterator[bytes]:
            while True:
                yield await out.get()

        async def send(message: dict[str, Any]) -> None:
            told.append(message)

        opened = iter([{"type": "websocket.connect"}])

        async def receive() -> dict[str, Any]:
            for message in opened:
                return message
            return await asyncio.get_running_loop().create_future()

        stream = Stream(to_work)
        filling = asyncio.create_task(stream.fill(from_work()))
        await forward.carry_websocket(UPGRADE, receive, send, stream)
        stream.close()
        await filling

    asyncio.run(asyncio.wait_for(body(), 30))
    return told


def test_a_message_in_endless_pieces_ends_the_socket() -> None:
    """Empty pieces are bounded by no number of bytes."""

    def endless(_work: ServerProtocol) -> bytes:
        first, more = Frame(Opcode.TEXT, b"", fin=False), Frame(Opcode.CONT, b"", fin=False)
        return first.serialize(mask=False) + more.serialize(mask=False) * 20_000

    told = carried(endless)
    assert told[0]["type"] == "websocket.accept"
    assert [message["type"] for message in told[1:]] == ["websocket.close"]


def test_a_message_that_is_too_long_ends_the_socket() -> None:
    def long(_work: ServerProtocol) -> bytes:
        return Frame(Opcode.BINARY, b"x" * (9 * 2**20)).serialize(mask=False)

    assert [message["type"] for message in carried(long)] == ["websocket.accept", "websocket.close"]


def test_pieces_that_fit_are_one_message() -> None:
    def pieces(_work: ServerProtocol) -> bytes:
        frames = [
            Frame(Opcode.TEXT, b"a", fin=False),
            Frame(Opcode.CONT, b"b", fin=True),
            Frame(Opcode.CLOSE, b""),
        ]
        return b"".join(frame.serialize(mask=False) for frame in frames)

    assert carried(pieces)[1] == {"type": "websocket.send", "text": "ab"}


def test_work_that_never_answers_a_handshake_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "HANDSHAKE_S", 0.2)
    assert [message["type"] for message in carried(None)] == ["websocket.close"]


@pytest.mark.parametrize("path", ["", "/streams/99999999-aaaa", "/streams/" + "9" * 5000])
@pytest.mark.parametrize("secret", ["", "Bearer weir_something"])
def test_nobody_brings_a_stream_without_a_nodes_credential(path: str, secret: str) -> None:
    told: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    scope = {"path": f"/api/agent/v1/tunnel{path}", "headers": [(b"authorization", secret.encode())]}
    asyncio.run(Tunnels()(scope, receive, send))
    assert told == [{"type": "websocket.close", "code": 1008}]


def test_what_is_no_token_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def looked_up(_function: object, token: str, *_rest: object) -> None:
        asked.append(token)

    monkeypatch.setattr("portal.gateway.access.in_thread", looked_up)
    cookies = "; ".join(
        [*(f"weir_web={number}" for number in range(4000)), *(f"weir_web={'t' * 43}" for _ in range(9))]
    )
    scope = {"scheme": "http", "headers": [(b"cookie", cookies.encode())]}
    asyncio.run(Doorkeeper().admitted(scope, UUID(int=7)))
    assert len(asked) <= 2


class Endless:
    """Tunnels that lead to a program which answers with `head`, and then `block` for ever, as fast as it is read."""

    def __init__(self, head: bytes, block: bytes) -> None:
        self._head, self._block = head, block

    async def open(self, _node_uid: str, _slice_uid: str) -> Stream:
        async def send(_data: bytes) -> None:
            pass

        async def from_work() -> AsyncIterator[bytes]:
            yield self._head + self._block
            while True:
                yield self._block

        stream = Stream(send)
        self._filling = asyncio.create_task(stream.fill(from_work()))
        return stream


class Others:
    """Whoever else is served by the same web: how often they had their turn."""

    def __init__(self) -> None:
        self.turns = 0
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)


PAGES = WebPages(UUID("82400dbc-ed6a-42c2-92b5-4a8631db2c4d"), "acme", "W-1", 1, False, "slice", "node")
ASKED = {**UPGRADE, "type": "http", "scheme": "http", "method": "GET"}


async def _never() -> dict[str, Any]:
    return await asyncio.get_running_loop().create_future()


def test_an_answer_in_crumbs_leaves_others_their_turn() -> None:
    """65,536 bytes of them held up everybody else in this web for seconds."""
    crumbs = b"1\r\na\r\n" * 10_000

    async def body() -> None:
        others, at = Others(), list[int]()

        async def send(message: dict[str, Any]) -> None:
            if message.get("body"):
                at.append(others.turns)

        behind = Endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", crumbs)
        asking = asyncio.create_task(
            forward.Forwarder(behind).http(ASKED, _never, send, PAGES)  # type: ignore[arg-type]
        )
        while len(at) < 2000:
            await asyncio.sleep(0)
        asking.cancel()
        others.task.cancel()
        await asyncio.gather(asking, others.task, return_exceptions=True)
        assert max(at.count(turn) for turn in set(at)) <= 2 * forward._TURN_PIECES

    asyncio.run(asyncio.wait_for(body(), 60))


def test_an_answer_that_never_begins_ends_and_leaves_others_their_turn() -> None:
    async def body() -> None:
        others = Others()
        behind = Endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 2000)
        with pytest.raises(httpcore.RemoteProtocolError):
            await forward.Forwarder(behind).http(ASKED, _never, _never, PAGES)  # type: ignore[arg-type]
        others.task.cancel()
        assert others.turns > forward._HEAD_BYTES // forward._HEAD_TURN_BYTES

    asyncio.run(asyncio.wait_for(body(), 60))


def test_a_socket_of_crumbs_leaves_others_their_turn() -> None:
    async def body() -> None:
        others, at = Others(), list[int]()
        stream = await Endless(b"", Frame(Opcode.TEXT, b"a").serialize(mask=False) * 20_000).open("", "")

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "websocket.send":
                at.append(others.turns)

        socket = forward._WebSocket(UPGRADE, _never, send, stream)
        reading = asyncio.create_task(socket._from_work([Frame(Opcode.TEXT, b"a")] * 2000))
        while len(at) < 2000:
            await asyncio.sleep(0)
        reading.cancel()
        others.task.cancel()
        await asyncio.gather(reading, others.task, return_exceptions=True)
        assert max(at.count(turn) for turn in set(at)) <= 2 * forward._TURN_PIECES

    asyncio.run(asyncio.wait_for(body(), 60))
