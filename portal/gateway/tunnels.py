"""The portal's end of the tunnels: one per node, and the streams through them (`node_agent.protocol.tunnel`)."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from django.db import DatabaseError
from pydantic import ValidationError
from redis import RedisError

from apps.identity.services.tokens import agent_authenticate
from apps.kernel.errors import WeirError
from apps.kernel.planes import in_public
from node_agent.protocol.tunnel import (
    STREAM_CHUNK_BYTES,
    TUNNEL_PATH,
    OpenStream,
    StreamKind,
    StreamRefused,
    stream_path,
)
from portal.gateway.peers import KNOWN_S, Peers
from portal.gateway.streams import NoStream, Stream
from portal.gateway.threads import in_thread

Scope = dict[str, Any]
# How long a node may take to open its tunnel, and to bring a stream.
TUNNEL_WAIT_S, STREAM_WAIT_S = 3.0, 15.0
_LOOK_S = 0.2
_REFUSED = {"type": "websocket.close", "code": 1008}
_BUSY = {"type": "websocket.close", "code": 1013}
# Callers whose credential is being looked up, at most.
_ASKED_MOST = 64
_RETRY_S = 2.0
_KEY = re.compile(r"([0-9a-f]{16})-[A-Za-z0-9_-]{32}")
log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Tunnel:
    """What is sent to the node, and the refusals that it may answer with, by the key of the stream."""

    send: Any
    refusals: dict[str, asyncio.Future[str]] = field(default_factory=dict)


class Tunnels:
    """All tunnels that end in this web, and by its peers those of the other webs of this host."""

    def __init__(self) -> None:
        self._tunnels: dict[str, _Tunnel] = {}
        # By the key of the stream: the node that brings it, and who waits.
        self._waiting: dict[str, tuple[str, asyncio.Future[Stream]]] = {}
        self._asked = 0
        self._peers = Peers(self._ask_here, self._take)

    def serves(self, path: str) -> bool:
        """Whether an address is one of the tunnels'."""
        return path == TUNNEL_PATH or path.startswith(stream_path(""))

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """The WebSocket of an agent: its tunnel or one of the tunnel's streams."""
        await receive()
        secret = _secret_of(scope)
        if not secret.startswith("weirnode_"):
            await send(_REFUSED)
            return
        if self._asked >= _ASKED_MOST:
            await send(_BUSY)
            return
        self._asked += 1
        try:
            node_uid = await _node_of(secret)
        finally:
            self._asked -= 1
        if not node_uid:
            await send(_BUSY if node_uid is None else _REFUSED)
        elif scope["path"] == TUNNEL_PATH:
            await self._tunnel(node_uid, secret, receive, send)
        else:
            await self._stream(scope["path"].removeprefix(stream_path("")), node_uid, receive, send)

    async def open(self, node_uid: str, slice_uid: str, kind: StreamKind = "web") -> Stream:
        """A new connection to the socket of a slice's work, or to a process beside it. Raises NoStream."""
        # It begins with the web that waits: the node may bring it to another.
        key = f"{self._peers.name}-{secrets.token_urlsafe(24)}"
        arrives: asyncio.Future[Stream] = asyncio.get_running_loop().create_future()
        self._waiting[key] = node_uid, arrives
        asking = asyncio.create_task(self._ask(node_uid, slice_uid, key, kind))
        try:
            async with asyncio.timeout(STREAM_WAIT_S):
                await asyncio.wait((arrives, asking), return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError as error:
            raise NoStream("away") from error
        except asyncio.CancelledError:
            if arrives.done():
                arrives.result().close()
            raise
        finally:
            asking.cancel()
            del self._waiting[key]
        if arrives.done():
            return arrives.result()
        broken = asking.exception()
        raise NoStream("away" if broken is not None else asking.result()) from broken

    async def _ask(self, node_uid: str, slice_uid: str, key: str, kind: StreamKind) -> str:
        """Ask the node to bring a stream; returns its refusal. A node whose work has just begun may be about to open
        its tunnel."""
        until_s = time.monotonic() + TUNNEL_WAIT_S
        while True:
            refusal = await self._ask_here(node_uid, slice_uid, key, kind)
            if refusal is None:
                refusal = await self._peers.ask(node_uid, slice_uid, key, kind)
            if refusal is not None:
                return refusal
            if time.monotonic() > until_s:
                return "away"
            await asyncio.sleep(_LOOK_S)

    async def _ask_here(self, node_uid: str, slice_uid: str, key: str, kind: StreamKind) -> str | None:
        tunnel = self._tunnels.get(node_uid)
        if tunnel is None:
            return None
        refusal: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        tunnel.refusals[key] = refusal
        try:
            asked = OpenStream(stream=key, slice_uid=slice_uid, kind=kind)
            # An agent of before does not know that there are several kinds.
            told = asked.model_dump_json(exclude_defaults=True)
            await tunnel.send({"type": "websocket.send", "text": told})
            return await refusal
        finally:
            tunnel.refusals.pop(key, None)

    def _take(self, key: str, node_uid: str, stream: Stream) -> bool:
        """Give a stream that this node has brought to who waits for it; whether somebody does."""
        wanted, arrives = self._waiting.get(key, ("", None))
        if arrives is None or arrives.done() or wanted != node_uid:
            return False
        arrives.set_result(stream)
        return True

    async def _tunnel(self, node_uid: str, secret: str, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        # An agent that was started anew is believed before its predecessor's connection is known to be gone.
        tunnel = self._tunnels[node_uid] = _Tunnel(send)
        keeping = asyncio.create_task(self._keep(node_uid, secret, send))
        try:
            while (message := await receive())["type"] != "websocket.disconnect":
                _refused(tunnel, message.get("text") or "")
        finally:
            keeping.cancel()
            for refusal in tunnel.refusals.values():
                if not refusal.done():
                    refusal.set_result("away")
            if self._tunnels.get(node_uid) is tunnel:
                del self._tunnels[node_uid]
                await self._peers.withdraw(node_uid)

    async def _keep(self, node_uid: str, secret: str, send: Any) -> None:
        """Tell the other webs of a tunnel, and close that of a node whose credential was revoked."""
        while await _node_of(secret) != "":
            wait_s = KNOWN_S / 2
            try:
                await self._peers.announce(node_uid)
            except (RedisError, OSError) as error:
                log.warning("the other webs cannot be told of a node's tunnel: %s", error)
                wait_s = _RETRY_S
            await asyncio.sleep(wait_s)
        await send(_REFUSED)

    async def _stream(self, key: str, node_uid: str, receive: Any, send: Any) -> None:
        """What a node brings: for a request that waits here, or in another web of this host."""
        known = _KEY.fullmatch(key)
        is_here = known is not None and known[1] == self._peers.name
        if known is None or (is_here and key not in self._waiting):
            await send(_REFUSED)
            return
        await send({"type": "websocket.accept"})

        async def to_work(data: bytes) -> None:
            for start in range(0, len(data), STREAM_CHUNK_BYTES):
                await send({"type": "websocket.send", "bytes": data[start : start + STREAM_CHUNK_BYTES]})

        stream = Stream(to_work)
        if is_here and not self._take(key, node_uid, stream):
            stream.close()
        filling = asyncio.create_task(stream.fill(_bytes_of(receive)))
        if not is_here:
            await self._peers.hand_over(known[1], key, node_uid, stream)
            stream.close()
        await filling
        await send({"type": "websocket.close"})


async def _bytes_of(receive: Any) -> AsyncIterator[bytes]:
    """What a node sends on a stream; more at once than it may ends the stream."""
    while (message := await receive())["type"] != "websocket.disconnect":
        chunk = message.get("bytes") or b""
        if len(chunk) > STREAM_CHUNK_BYTES:
            return
        yield chunk


def _refused(tunnel: _Tunnel, text: str) -> None:
    try:
        said = StreamRefused.model_validate_json(text)
    except ValidationError:
        return
    refusal = tunnel.refusals.get(said.stream)
    if refusal is not None and not refusal.done():
        refusal.set_result(said.code)


async def _node_of(secret: str) -> str | None:
    """The node of a credential, "" for none; None while the database does not answer."""
    try:
        return await in_thread(_authenticated, secret)
    except DatabaseError:
        return None


def _authenticated(secret: str) -> str:
    with in_public():
        try:
            return str(agent_authenticate(secret).node_uid)
        except WeirError:
            return ""


def _secret_of(scope: Scope) -> str:
    given: bytes = dict(scope["headers"]).get(b"authorization", b"")
    return given.decode("latin-1").partition("Bearer ")[2].strip()
