"""A name server in a network of work's own that asks one of its node's: where the work does not reach that itself, as
it listens on the node's own 127.0.0.53 or on its link."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

_PORT = 53
_ANSWER_S, _CONNECTION_S = 10.0, 30.0
_WAITING_MAX = 256
_CHUNK_BYTES = 16_384


def relay_run(datagrams: socket.socket, connections: socket.socket, server: str) -> None:
    """Answer what is asked at these sockets, for ever."""
    asyncio.run(_relay(datagrams, connections, server))


async def _relay(datagrams: socket.socket, connections: socket.socket, server: str) -> None:
    datagrams.setblocking(False)
    loop = asyncio.get_running_loop()
    waiting = asyncio.Semaphore(_WAITING_MAX)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError):
            async with waiting, asyncio.timeout(_CONNECTION_S):
                await _connection(reader, writer, server)
        writer.close()

    listening = await asyncio.start_server(connected, sock=connections)
    tasks: set[asyncio.Task[None]] = set()
    async with listening:
        while True:
            question, asker = await loop.sock_recvfrom(datagrams, 65_535)
            if waiting.locked():
                continue
            task = asyncio.create_task(_question(datagrams, question, asker, server, waiting))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


async def _question(
    datagrams: socket.socket, question: bytes, asker: tuple[str, int], server: str, waiting: asyncio.Semaphore
) -> None:
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with suppress(OSError, TimeoutError), socket.socket(family, socket.SOCK_DGRAM) as asked:
        asked.setblocking(False)
        async with waiting, asyncio.timeout(_ANSWER_S):
            asked.connect((server, _PORT))
            await loop.sock_sendall(asked, question)
            answer = await loop.sock_recv(asked, 65_535)
            await loop.sock_sendto(datagrams, answer, asker)


async def _connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: str) -> None:
    from_server, to_server = await asyncio.open_connection(server, _PORT)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(_CHUNK_BYTES):
            target.write(data)
            await target.drain()
        target.write_eof()

    try:
        await asyncio.gather(copy(reader, to_server), copy(from_server, writer))
    finally:
        to_server.close()
