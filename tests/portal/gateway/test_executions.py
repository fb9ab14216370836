"""A terminal at the portal's door: who is let in, what is carried, and what ends it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from django.db import OperationalError

from apps.scheduling.selectors.executions import ExecutionPlace
from apps.scheduling.services.executions import ExecutionAccess
from node_agent.protocol.execution import Channel, Start, Unpacker, packed
from portal.gateway import executions
from portal.gateway.executions import PROCESSES_MAX, Executions
from portal.gateway.streams import NoStream, Stream

pytestmark = pytest.mark.req("PLAT-CMP-10")
TICKET = "t" * 43
HELLO = json.dumps({"ticket": TICKET, "rows": 30, "columns": 100})
ACCESS = ExecutionAccess(
    workload_uid="82400dbc-ed6a-42c2-92b5-4a8631db2c4d", schema="acme", user_id=7, role="front", session_key="s",
    token_digest="", share=0, argv=["bash"], tty=True,
)  # fmt: skip


class Node:
    """The tunnels with a node at their end, which keeps what it is told."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses, self.told, self.opened = refuses, [], 0
        self.takes_no_more = False
        self.out: asyncio.Queue[bytes] = asyncio.Queue()
        self._unpacker = Unpacker()

    async def open(self, node_uid: str, slice_uid: str, kind: str) -> Stream:
        assert (node_uid, slice_uid, kind) == ("node", "slice", "exec")
        if self.refuses:
            raise NoStream(self.refuses)
        self.opened += 1

        async def send(data: bytes) -> None:
            if self.takes_no_more:
                raise ConnectionResetError
            self.told += self._unpacker.take(data)

        async def from_node() -> AsyncIterator[bytes]:
            while data := await self.out.get():
                yield data

        self.stream = Stream(send)
        self._filling = asyncio.create_task(self.stream.fill(from_node()))
        return self.stream


class Person:
    """A WebSocket of somebody's."""

    def __init__(self, door: Executions, origin: str = "http://acme.localhost:8000") -> None:
        self.told: list[dict[str, Any]] = []
        self.says: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.says.put_nowait({"type": "websocket.connect"})
        headers = [(b"host", b"acme.localhost:8000"), (b"origin", origin.encode())]
        scope = {"type": "websocket", "scheme": "ws", "path": "/ws/exec", "headers": headers}
        self.task = asyncio.create_task(door(scope, self.says.get, self._hear))

    async def _hear(self, message: dict[str, Any]) -> None:
        self.told.append(message)

    def say(self, text: str = "", data: bytes | None = None) -> None:
        more = {"text": text} if data is None else {"bytes": data}
        self.says.put_nowait({"type": "websocket.receive", **more})

    async def ended(self) -> str:
        """Why it was closed: the last word, else the close code."""
        await asyncio.wait_for(self.task, 20)
        said = [message["bytes"] for message in self.told if message.get("bytes", b"")[:1] == bytes((3,))]
        return json.loads(said[-1][1:])["code"] if said else str(self.told[-1]["code"])


@pytest.fixture
def lets_in(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the database says: the ticket's access, the place of the work, whether the access still holds."""
    says: dict[str, Any] = {
        "_taken": ACCESS, "_place": ExecutionPlace(7, "slice", "node"), "_holds": True, "asked": 0
    }  # fmt: skip

    async def in_thread(function: Callable[..., Any], *_args: Any) -> Any:
        says["asked"] += 1
        answer = says[function.__name__]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(executions, "in_thread", in_thread)
    monkeypatch.setattr(executions, "REMEMBERED_S", 0.05)
    return says


def run(body: Callable[[], Any]) -> None:
    asyncio.run(asyncio.wait_for(body(), 30))


async def until(is_so: Callable[[], Any]) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.01)


def test_what_the_ticket_says_is_run_and_carried_both_ways(lets_in: dict[str, Any]) -> None:
    async def body() -> None:
        node = Node()
        person = Person(Executions(node))  # type: ignore[arg-type]
        person.say(HELLO)
        person.say(data=bytes((Channel.STDIN,)) + b"x" * 100_000)
        person.say(data=bytes((Channel.START,)) + b'{"argv":["id"]}')
        person.say(data=bytes((Channel.CLOSE_STDIN,)))
        await until(lambda: len(node.told) >= 6)
        assert Start.model_validate_json(node.told[0][1]) == Start(
            argv=["bash"], tty=True, rows=30, columns=100
        )
        assert [channel for channel, _ in node.told[1:]] == [0, 0, 0, 0, Channel.CLOSE_STDIN]
        assert b"".join(payload for channel, payload in node.told if channel == 0) == b"x" * 100_000
        # What only the person may say is not believed of the node.
        whole = packed(Channel.STDOUT, b"hi") + packed(Channel.STDIN, b"evil")
        whole += packed(Channel.ENDED, b'{"code": "exited", "status": 7}')
        for start in range(0, len(whole), 5):
            node.out.put_nowait(whole[start : start + 5])
        assert await person.ended() == "exited"
        said = [message["bytes"] for message in person.told if message.get("bytes")]
        assert said[0] == b"\x01hi"
        assert b"evil" not in b"".join(said)

    run(body)


@pytest.mark.parametrize(
    "origin", ["http://globex.localhost:8000", "https://acme.localhost:8000", "null",
               "http://w-82400dbced6a42c292b54a8631db2c4d.env.localhost:8000"]
)  # fmt: skip
def test_a_page_of_another_origin_is_refused_before_anything(lets_in: dict[str, Any], origin: str) -> None:
    async def body() -> None:
        person = Person(Executions(Node()), origin)  # type: ignore[arg-type]
        person.say(HELLO)
        assert await person.ended() == "1008"
        assert person.told == [{"type": "websocket.close", "code": 1008}]
        assert lets_in["asked"] == 0

    run(body)


@pytest.mark.parametrize(
    "hello",
    ["", "no JSON", "[]", '{"ticket": "short"}', json.dumps({"ticket": TICKET, "rows": 0}),
     json.dumps({"ticket": TICKET, "argv": ["id"]}), json.dumps({"ticket": TICKET, "term": "x" * 3000})],
)  # fmt: skip
def test_who_does_not_say_what_he_is_let_in_by_is_refused(lets_in: dict[str, Any], hello: str) -> None:
    async def body() -> None:
        person = Person(Executions(Node()))  # type: ignore[arg-type]
        person.say(hello)
        assert await person.ended() == "1008"
        assert lets_in["asked"] == 0

    run(body)


def test_who_says_nothing_keeps_nobody_out(lets_in: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody may connect, and be silent for a while: of too many the one who waits longest gives way."""
    monkeypatch.setattr(executions, "HELLO_S", 2)
    monkeypatch.setattr(executions, "_GREETED_MOST", 3)

    async def body() -> None:
        node = Node()
        door = Executions(node)  # type: ignore[arg-type]
        silent = [Person(door) for _ in range(3)]
        await until(lambda: all(one.told for one in silent))
        late = Person(door)
        late.say(HELLO)
        await until(lambda: node.told)
        node.out.put_nowait(packed(Channel.ENDED, b'{"code": "exited", "status": 0}'))
        assert await late.ended() == "exited"
        assert [await one.ended() for one in silent] == ["1013", "1008", "1008"]

    run(body)


@pytest.mark.parametrize(
    ("says", "code"),
    [
        ({"_taken": None}, "refused"),
        ({"_place": None}, "over"),
        ({"_taken": OperationalError("down")}, "busy"),
    ],
)
def test_a_ticket_that_does_not_hold_opens_nothing(
    lets_in: dict[str, Any], says: dict[str, Any], code: str
) -> None:
    lets_in |= says

    async def body() -> None:
        node = Node()
        person = Person(Executions(node))  # type: ignore[arg-type]
        person.say(HELLO)
        assert await person.ended() == code
        assert node.opened == 0

    run(body)


@pytest.mark.parametrize("code", ["away", "unknown", "busy"])
def test_a_node_that_brings_no_stream_is_named(lets_in: dict[str, Any], code: str) -> None:
    async def body() -> None:
        person = Person(Executions(Node(code)))  # type: ignore[arg-type]
        person.say(HELLO)
        assert await person.ended() == code

    run(body)


def test_what_is_open_ends_when_it_may_not_be_any_more(lets_in: dict[str, Any]) -> None:
    """While nobody can say, it goes on."""

    async def body() -> None:
        node = Node()
        person = Person(Executions(node))  # type: ignore[arg-type]
        person.say(HELLO)
        await until(lambda: node.told)
        lets_in["_holds"] = OperationalError("down")
        asked = lets_in["asked"]
        await until(lambda: lets_in["asked"] > asked + 2)
        assert not person.task.done()
        lets_in["_holds"] = False
        assert await person.ended() == "closed"
        assert node.stream.is_readable, "the node's stream is closed too"

    run(body)


def test_it_ends_with_the_person_and_with_the_node(lets_in: dict[str, Any]) -> None:
    async def body() -> None:
        node = Node()
        door = Executions(node)  # type: ignore[arg-type]
        person = Person(door)
        person.say(HELLO)
        await until(lambda: node.told)
        person.says.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(person.task, 20)
        assert node.stream.is_readable
        other = Person(door)
        other.say(HELLO)
        await until(lambda: node.opened == 2)
        node.out.put_nowait(b"")
        assert await other.ended() == "broken"

    run(body)


def test_what_the_node_said_before_it_took_no_more_is_heard(lets_in: dict[str, Any]) -> None:
    async def body() -> None:
        node = Node()
        person = Person(Executions(node))  # type: ignore[arg-type]
        person.say(HELLO)
        await until(lambda: node.told)
        node.takes_no_more = True
        person.say(data=bytes((Channel.STDIN,)) + b"x")
        await asyncio.sleep(0.1)
        node.out.put_nowait(packed(Channel.ENDED, b'{"code": "nobody_listens"}'))
        assert await person.ended() == "nobody_listens"

    run(body)


def test_a_node_that_speaks_nonsense_ends_its_stream(lets_in: dict[str, Any]) -> None:
    async def body() -> None:
        node = Node()
        person = Person(Executions(node))  # type: ignore[arg-type]
        person.say(HELLO)
        await until(lambda: node.told)
        node.out.put_nowait(b"\xff" * 64)
        assert await person.ended() == "broken"

    run(body)


def test_so_many_beside_one_share_and_no_more(lets_in: dict[str, Any]) -> None:
    async def body() -> None:
        node = Node()
        door = Executions(node)  # type: ignore[arg-type]
        people = [Person(door) for _ in range(PROCESSES_MAX)]
        for one in people:
            one.say(HELLO)
        await until(lambda: node.opened == PROCESSES_MAX)
        late = Person(door)
        late.say(HELLO)
        assert await late.ended() == "too_many"
        people[0].says.put_nowait({"type": "websocket.disconnect"})
        await asyncio.wait_for(people[0].task, 20)
        again = Person(door)
        again.say(HELLO)
        await until(lambda: node.opened == PROCESSES_MAX + 1)
        for one in (*people[1:], again):
            one.task.cancel()

    run(body)
