"""Terminals and commands beside running work: a person's WebSocket at one end, a stream to the node at the other."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from contextlib import suppress
from typing import Annotated, Any
from uuid import UUID

from django.db import DatabaseError
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError
from redis import RedisError

from apps.kernel.planes import in_public
from apps.scheduling.selectors.executions import ExecutionPlace, execution_place_get
from apps.scheduling.services.executions import ExecutionAccess, execution_take
from apps.scheduling.services.work_access import access_holds
from node_agent.protocol.execution import PAYLOAD_BYTES, Cells, Channel, Start, Unpacker, packed
from portal.gateway.access import REMEMBERED_S, is_foreign, may_operate
from portal.gateway.streams import NoStream, Stream
from portal.gateway.threads import in_thread
from portal.gateway.tunnels import Tunnels
from weir_wire.execution import PATH

log = logging.getLogger(__name__)
Scope = dict[str, Any]
# Beside one share at a time, through this web.
PROCESSES_MAX = 32
# Who has not said yet what he is let in by: for so long, and so many at a time; the first gives way to the next.
HELLO_S, _GREETED_MOST = 10.0, 64
_HELLO_CHARS = 2048
_REFUSED = {"type": "websocket.close", "code": 1008}
_BUSY = {"type": "websocket.close", "code": 1013}
_FROM_PERSON = frozenset({Channel.STDIN, Channel.RESIZE, Channel.SIGNAL, Channel.CLOSE_STDIN})
_FROM_NODE = frozenset({Channel.STDOUT, Channel.STDERR, Channel.ENDED})
# What the node said before it took no more is still on the way for so long.
_LAST_WORDS_S = 5


class _Hello(BaseModel):
    """The first message of a person's."""

    model_config = ConfigDict(extra="forbid")

    ticket: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{43}$")]
    rows: Cells = 24
    columns: Cells = 80
    term: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+._-]{1,40}$")] = "xterm-256color"


class Executions:
    """What is run beside work through this web."""

    def __init__(self, tunnels: Tunnels) -> None:
        self._tunnels = tunnels
        self._greeted: dict[asyncio.Task[_Hello | None], None] = {}
        self._running: Counter[str] = Counter()

    def serves(self, path: str) -> bool:
        """Whether an address is the one at which something is run."""
        return path == PATH

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """One terminal, command or connection, until it ends or who opened it may not have it any more."""
        await receive()
        if is_foreign(scope):
            await send(_REFUSED)
            return
        await send({"type": "websocket.accept"})
        hello = await self._heard(receive)
        if not isinstance(hello, _Hello):
            await send(hello)
            return
        try:
            await self._run(hello, receive, send)
        except (DatabaseError, RedisError) as error:
            log.warning("nobody can say who may open a terminal: %s", error)
            await _end(send, "busy")

    async def _heard(self, receive: Any) -> _Hello | dict[str, Any]:
        """What a person says first, or what he is told instead. Whoever says nothing holds up nobody: of too many the
        one who has waited longest gives way."""
        hearing = asyncio.create_task(_hello(receive))
        self._greeted[hearing] = None
        if len(self._greeted) > _GREETED_MOST:
            next(iter(self._greeted)).cancel()
        try:
            await asyncio.wait((hearing,))
            return _BUSY if hearing.cancelled() else hearing.result() or _REFUSED
        finally:
            hearing.cancel()
            del self._greeted[hearing]

    async def _run(self, hello: _Hello, receive: Any, send: Any) -> None:
        access = await in_thread(_taken, hello.ticket)
        place = await in_thread(_place, access) if access is not None else None
        if access is None or place is None:
            await _end(send, "refused" if access is None else "over")
            return
        if self._running[place.slice_uid] >= PROCESSES_MAX:
            await _end(send, "too_many")
            return
        self._running[place.slice_uid] += 1
        try:
            stream = await self._tunnels.open(place.node_uid, place.slice_uid, "exec")
            try:
                await stream.write(packed(Channel.START, _start(hello, access).model_dump_json().encode()))
                code = await _while_admitted(access, _Carried(receive, send, stream))
            finally:
                stream.close()
        except NoStream as error:
            code = error.code
        except ConnectionError:
            code = "broken"
        finally:
            self._running[place.slice_uid] -= 1
            if not self._running[place.slice_uid]:
                del self._running[place.slice_uid]
        if code:
            await _end(send, code)


class _Carried:
    """What goes both ways."""

    def __init__(self, receive: Any, send: Any, stream: Stream) -> None:
        self._receive, self._send, self._stream = receive, send, stream

    async def run(self) -> str:
        """Until it is over; why, where the node has not said it."""
        to_node, to_person = asyncio.create_task(self._to_node()), asyncio.create_task(self._to_person())
        try:
            await asyncio.wait((to_node, to_person), return_when=asyncio.FIRST_COMPLETED)
            if not to_person.done():
                if to_node.exception() is None:
                    return ""
                # The node takes no more: it may have said before why.
                await asyncio.wait((to_person,), timeout=_LAST_WORDS_S)
            is_told = to_person.done() and to_person.exception() is None and to_person.result()
            return "" if is_told else "broken"
        finally:
            for way in (to_node, to_person):
                way.cancel()
            await asyncio.gather(to_node, to_person, return_exceptions=True)

    async def ask(self) -> None:
        """Raises OSError where the person has gone."""
        await self._send({"type": "websocket.send", "bytes": bytes((Channel.STDOUT,))})

    async def _to_node(self) -> None:
        while (message := await self._receive())["type"] != "websocket.disconnect":
            said = message.get("bytes") or b""
            if said[:1] and said[0] in _FROM_PERSON:
                # A message for each piece: of what is typed it may be cut anywhere, the rest is short.
                for start in range(1, max(len(said), 2), PAYLOAD_BYTES):
                    await self._stream.write(packed(said[0], said[start : start + PAYLOAD_BYTES]))

    async def _to_person(self) -> bool:
        """Whether the node has said how it ended."""
        unpacker = Unpacker()
        while data := await self._stream.read(2 * PAYLOAD_BYTES):
            for channel, payload in unpacker.take(data):
                if channel in _FROM_NODE:
                    told = bytes((channel,)) + payload
                    await self._send({"type": "websocket.send", "bytes": told})
                if channel == Channel.ENDED:
                    await self._send({"type": "websocket.close", "code": 1000})
                    return True
        return False


async def _while_admitted(access: ExecutionAccess, carried: _Carried) -> str:
    """Carry until it is over, or until who opened it may not have it any more; why, if it is to be said."""
    carrying = asyncio.create_task(carried.run())
    try:
        while not (await asyncio.wait((carrying,), timeout=REMEMBERED_S))[0]:
            # While nobody can say, what is open stays open.
            with suppress(DatabaseError, RedisError):
                if not await in_thread(_holds, access):
                    return "closed"
            try:
                await carried.ask()
            except OSError:
                return ""
        return await carrying
    finally:
        carrying.cancel()
        await asyncio.gather(carrying, return_exceptions=True)


def _taken(secret: str) -> ExecutionAccess | None:
    with in_public():
        access = execution_take(secret)
    return access if access is not None and _holds(access) else None


def _holds(access: ExecutionAccess) -> bool:
    with in_public():
        return access_holds(access) and may_operate(access)


def _place(access: ExecutionAccess) -> ExecutionPlace | None:
    with in_public():
        place = execution_place_get(UUID(access.workload_uid), access.share)
    return place if place is not None and place.owner_id == access.user_id else None


def _start(hello: _Hello, access: ExecutionAccess) -> Start:
    size = {"rows": hello.rows, "columns": hello.columns, "term": hello.term}
    return Start(argv=access.argv, port=access.port, tty=access.tty, **size)


async def _hello(receive: Any) -> _Hello | None:
    try:
        async with asyncio.timeout(HELLO_S):
            text = (await receive()).get("text") or ""
        return _Hello.model_validate_json(text[:_HELLO_CHARS])
    except (TimeoutError, ValidationError):
        return None


async def _end(send: Any, code: str) -> None:
    """Say why, and close. The person may have gone."""
    with suppress(OSError, RuntimeError):
        told = bytes((Channel.ENDED,)) + json.dumps({"code": code, "status": None, "detail": ""}).encode()
        await send({"type": "websocket.send", "bytes": told})
        await send({"type": "websocket.close", "code": 1000})
