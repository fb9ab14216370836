"""Carrying a stream of the tunnel to a process that the slice's shim runs beside the work, and back."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import WebSocketException

from node_agent.protocol.execution import (
    PAYLOAD_BYTES,
    Channel,
    Ended,
    Resize,
    Signal,
    Start,
    Unpacker,
    packed,
)
from node_agent.web.port_connection import NOBODY_LISTENS
from node_agent.web.terminal_device import size_set
from node_agent.web.work_keeper import keeper_ask

_ANSWER_S, _START_S = 15.0, 15.0
# What has been printed may still be on its way when the process has ended; what it left running may hold its output.
_LAST_WORDS_S = 1.0
_MESSAGE_BYTES = 64 * 1024
_STDOUT_OF = {0: Channel.STDOUT, 1: Channel.STDERR}


class NotRun(Exception):
    """There is no such process, and why."""

    def __init__(self, ended: Ended) -> None:
        super().__init__(ended.code)
        self.ended = ended


async def carry_execution(portal: ClientConnection, asked_at: Path) -> None:
    """Run what the stream asks for, by the shim that listens at `asked_at`, until either ends."""
    messages = _messages(portal)
    try:
        async with asyncio.timeout(_START_S):
            start = await _start_of(messages)
        process = await asyncio.to_thread(_Process, asked_at, start)
    except NotRun as refused:
        await _tell(portal, refused.ended)
        return
    try:
        await process.carry(portal, messages)
    finally:
        process.close()


async def _start_of(messages: AsyncIterator[tuple[int, bytes]]) -> Start:
    async for channel, payload in messages:
        if channel == Channel.START:
            with suppress(ValidationError):
                return Start.model_validate_json(payload)
        break
    raise NotRun(Ended(code="failed", detail="it was not said what is to run"))


async def _messages(portal: ClientConnection) -> AsyncIterator[tuple[int, bytes]]:
    """What the portal says. Raises ValueError where that makes no sense."""
    unpacker = Unpacker()
    async for chunk in portal:
        for message in unpacker.take(chunk if isinstance(chunk, bytes) else chunk.encode()):
            yield message


async def _tell(portal: ClientConnection, ended: Ended) -> None:
    with suppress(WebSocketException):
        await portal.send(packed(Channel.ENDED, ended.model_dump_json().encode()))


class _Process:
    """A process beside the work: the shim's word on it, and the ends of its terminal or pipes. Raises NotRun."""

    def __init__(self, asked_at: Path, start: Start) -> None:
        argv = start.argv if start.port is None else _connection_command(start.port)
        self._is_connection = start.port is not None
        self._is_terminal = start.tty and start.port is None
        self._screen = -1
        asked = {
            "argv": argv,
            "tty": self._is_terminal,
            **start.model_dump(include={"rows", "columns", "term"}),
        }
        try:
            self._shim, told, self._fds = keeper_ask(asked_at, asked, _ANSWER_S)
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise NotRun(Ended(code="not_supported")) from error
        except OSError as error:
            raise NotRun(Ended(code="failed", detail=str(error)[:300])) from error
        said = told or {"refused": "work_ended"}
        if "refused" in said:
            self._shim.close()
            raise NotRun(Ended(code=said["refused"], detail=said.get("detail", "")))
        if self._is_terminal:
            self._screen = self._fds[0]
            self._fds = [os.dup(self._screen), os.dup(self._screen)]

    async def carry(self, portal: ClientConnection, messages: AsyncIterator[tuple[int, bytes]]) -> None:
        """Until the process has ended and all it said is told, or the portal closes the stream."""
        loop = asyncio.get_running_loop()
        stdin = await _writer(loop, self._fds.pop(0))
        outputs = [await _reader(loop, self._fds.pop(0)) for _ in range(len(self._fds))]
        telling = [
            asyncio.create_task(self._to_portal(portal, reader, _STDOUT_OF[number]))
            for number, reader in enumerate(outputs)
        ]
        hearing = asyncio.create_task(self._from_portal(messages, stdin))
        ending = asyncio.create_task(loop.sock_recv(self._shim, _MESSAGE_BYTES))
        try:
            await asyncio.wait((hearing, ending), return_when=asyncio.FIRST_COMPLETED)
            if ending.done():
                await asyncio.wait(telling, timeout=_LAST_WORDS_S)
                await _tell(portal, _ended(ending, is_connection=self._is_connection))
        finally:
            for task in (*telling, hearing, ending):
                task.cancel()
            await asyncio.gather(*telling, hearing, ending, return_exceptions=True)
            if not stdin.transport.is_closing() or stdin.transport.get_write_buffer_size():
                stdin.transport.abort()
            for reader in outputs:
                reader._transport.close()  # type: ignore[attr-defined]

    async def _to_portal(self, portal: ClientConnection, reader: asyncio.StreamReader, channel: int) -> None:
        while data := await reader.read(PAYLOAD_BYTES):
            await portal.send(packed(channel, data))

    async def _from_portal(
        self, messages: AsyncIterator[tuple[int, bytes]], stdin: asyncio.StreamWriter
    ) -> None:
        async for channel, payload in messages:
            if channel == Channel.STDIN:
                stdin.write(payload)
                # What reads no more need not be fed; it may go on to speak.
                with suppress(ConnectionError):
                    await stdin.drain()
            elif channel == Channel.CLOSE_STDIN and not self._is_terminal:
                stdin.close()
            elif channel == Channel.RESIZE and self._is_terminal:
                wanted = Resize.model_validate_json(payload)
                with suppress(OSError):
                    size_set(self._screen, wanted.rows, wanted.columns)
            elif channel == Channel.SIGNAL:
                self._shim.send(json.dumps({"signal": Signal.model_validate_json(payload).name}).encode())

    def close(self) -> None:
        """The shim ends what is still running."""
        self._shim.close()
        for fd in (*self._fds, self._screen):
            if fd >= 0:
                os.close(fd)


def _ended(ending: asyncio.Task[bytes], *, is_connection: bool) -> Ended:
    said = ending.result() if ending.exception() is None else b""
    if not said:
        return Ended(code="work_ended")
    status = json.loads(said)["exit"]
    return (
        Ended(code="nobody_listens")
        if is_connection and status == NOBODY_LISTENS
        else Ended(code="exited", status=status)
    )


def _connection_command(port: int) -> list[str]:
    return ["python", "-m", "node_agent.web.port_connection", str(port)]


class _Output(asyncio.StreamReaderProtocol):
    """A terminal whose last process has gone says so by an error; what came before is read all the same."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(None)


async def _reader(loop: asyncio.AbstractEventLoop, fd: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=PAYLOAD_BYTES)
    await loop.connect_read_pipe(lambda: _Output(reader), io.FileIO(fd, "rb"))
    return reader


async def _writer(loop: asyncio.AbstractEventLoop, fd: int) -> asyncio.StreamWriter:
    made = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, io.FileIO(fd, "wb"))
    return asyncio.StreamWriter(*made, None, loop)
