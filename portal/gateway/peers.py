"""The webs of one host among themselves: they share a port, and whoever calls there comes to any of them.

A node's tunnel ends in one web, a browser's request comes to another, and the stream that the node brings for it to a
third. Each web listens on a socket in the data folder, by which the others reach it: to ask a node for a stream through
its tunnel, and to hand over a stream that it waits for. Which web has a node's tunnel stands in the cache.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import logging
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from django.core.cache import cache
from redis import RedisError

from node_agent.protocol.tunnel import StreamKind
from portal.gateway.streams import Stream
from portal.gateway.threads import in_thread
from portal.settings.env import env

log = logging.getLogger(__name__)
# How long it is believed which web has a node's tunnel; said again twice in that time.
KNOWN_S = 60
_LINE_BYTES = 4096
_CHUNK_BYTES = 64 * 1024
# Of a web that is about to listen the socket may be there already.
_DEAD_AFTER_S = 60
Ask = Callable[[str, str, str, StreamKind], Awaitable[str | None]]
Take = Callable[[str, str, Stream], bool]


class Peers:
    """The other webs of this host.

    Args:
        ask: asks a node, through a tunnel that ends in this web, to bring a stream; returns the node's refusal once
            there is one, None where no such tunnel ends here.
        take: gives a stream that a node brought to who waits for it here; whether somebody does.
    """

    def __init__(self, ask: Ask, take: Take) -> None:
        self._ask, self._take = ask, take
        self._folder = env().var_dir / "run"
        # Not its process number: webs in containers have all the same.
        self.name = secrets.token_hex(8)
        self._path = _socket_of(self._folder, self.name)
        self._listening = asyncio.Lock()
        self._server: asyncio.Server | None = None

    async def listen(self) -> None:
        """Be there for the others from now on."""
        async with self._listening:
            if self._server is not None:
                return
            self._folder.mkdir(parents=True, exist_ok=True)
            _dead_remove(self._folder)
            try:
                # Nobody but this user may connect: the process's umask closes the socket, as all that it makes.
                self._server = await asyncio.start_unix_server(self._serve, self._path, limit=_LINE_BYTES)
            except OSError as error:
                # This web goes on alone; the path may be longer than a socket's may be.
                log.error("the other webs of this host cannot reach this one at %s: %s", self._path, error)
                return
            atexit.register(self._path.unlink, missing_ok=True)

    async def announce(self, node_uid: str) -> None:
        """Say that this node's tunnel ends here; to be said again every `KNOWN_S` / 2."""
        await self.listen()
        await in_thread(cache.set, _key(node_uid), self.name, KNOWN_S)

    async def withdraw(self, node_uid: str) -> None:
        """The node's tunnel ends here no more."""
        with suppress(RedisError):
            if await in_thread(cache.get, _key(node_uid)) == self.name:
                await in_thread(cache.delete, _key(node_uid))

    async def ask(self, node_uid: str, slice_uid: str, key: str, kind: StreamKind) -> str | None:
        """Have the web with the node's tunnel ask for a stream; returns the refusal once there is one, None where no
        web has a tunnel of that node. To be cancelled when the stream has come."""
        await self.listen()
        try:
            name = await in_thread(cache.get, _key(node_uid))
            if not isinstance(name, str) or name == self.name:
                return None
            reader, writer = await asyncio.open_unix_connection(_socket_of(self._folder, name))
        except (OSError, RedisError):
            # Of a web that has ended, or nobody can say of which.
            return None
        try:
            writer.write(json.dumps(["ask", node_uid, slice_uid, key, kind]).encode() + b"\n")
            said: str | None = json.loads(await reader.readuntil())
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            return None
        finally:
            writer.close()
        return said

    async def hand_over(self, name: str, key: str, node_uid: str, stream: Stream) -> bool:
        """Carry a stream of a node that the web of this name waits for, to its end; whether it does wait."""
        try:
            reader, writer = await asyncio.open_unix_connection(_socket_of(self._folder, name))
        except OSError:
            return False
        try:
            writer.write(json.dumps(["take", key, node_uid]).encode() + b"\n")
            if not json.loads(await reader.readuntil()):
                return False
            await _pump(reader, writer, stream)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            log.debug("another web broke off: %r", error)
        finally:
            writer.close()
        return True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            match json.loads(await reader.readuntil()):
                case ["ask", str(node_uid), str(slice_uid), str(key), "web" | "exec" as kind]:
                    asking = self._ask(node_uid, slice_uid, key, kind)
                    await self._serve_ask(reader, writer, asking)
                case ["take", str(key), str(node_uid)]:
                    await self._serve_take(reader, writer, key, node_uid)
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            log.debug("another web broke off: %r", error)
        finally:
            writer.close()

    async def _serve_ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: Awaitable[str | None]
    ) -> None:
        asking = asyncio.ensure_future(asked)
        leaving = asyncio.ensure_future(reader.read())
        try:
            await asyncio.wait((asking, leaving), return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                writer.write(json.dumps(asking.result()).encode() + b"\n")
        finally:
            asking.cancel()
            leaving.cancel()

    async def _serve_take(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str, node_uid: str
    ) -> None:
        async def send(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        stream = Stream(send)
        writer.write(b"true\n")
        if self._take(key, node_uid, stream):
            await stream.fill(_chunks(reader))


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    with suppress(OSError):
        while chunk := await reader.read(_CHUNK_BYTES):
            yield chunk


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: Stream) -> None:
    """Carry bytes between a connection and a stream until either ends."""

    async def to_stream() -> None:
        while data := await reader.read(_CHUNK_BYTES):
            await stream.write(data)

    async def to_connection() -> None:
        while data := await stream.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()

    ways = [asyncio.create_task(to_stream()), asyncio.create_task(to_connection())]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


def _dead_remove(folder: Path) -> None:
    """Delete the sockets of webs that were killed: nobody listens on them."""
    for path in folder.glob("gateway-*.sock"):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as tried:
            is_old = path.stat().st_mtime < time.time() - _DEAD_AFTER_S
            try:
                tried.connect(str(path))
            except ConnectionRefusedError:
                if is_old:
                    path.unlink(missing_ok=True)


def _socket_of(folder: Path, name: str) -> Path:
    return folder / f"gateway-{name}.sock"


def _key(node_uid: str) -> str:
    return f"tunnel-of.{node_uid}"
