"""The tunnel: how the portal reaches work and terminals beside it, over connections that the agent opens.

The agent holds one WebSocket at `TUNNEL_PATH`. For each connection that the portal wants to the socket of a slice's
work, or to a process beside it (`node_agent.protocol.execution`), it sends an `OpenStream`; the agent opens another at
`stream_path`, whose binary messages are the bytes of that connection both ways, or answers with a `StreamRefused`. Both
carry the node's credential as a bearer token.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from node_agent.protocol.fields import Message, Uid

TUNNEL_PATH = "/api/agent/v1/tunnel"
# Bytes of one message of a stream at most.
STREAM_CHUNK_BYTES = 64 * 1024
# Streams of one node at a time, each of which takes two files, and of one slice.
STREAMS_MAX, STREAMS_MAX_OF_SLICE = 2048, 64

StreamKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{16,64}$")]
# `unknown`: the node has no such slice, or its work serves no pages; `not_listening`: nothing listens on its socket,
# yet or any more; `busy`: it takes no more connections, or the node does not.
RefusalCode = Literal["unknown", "not_listening", "busy"]
# `web`: to the socket on which the work serves its web pages; `exec`: to a process that is to be run beside it.
StreamKind = Literal["web", "exec"]


class OpenStream(Message):
    """The portal wants a connection to the socket of a slice's work, or to a process beside it."""

    stream: StreamKey
    slice_uid: Uid
    kind: StreamKind = "web"


class StreamRefused(Message):
    """There is no such connection."""

    stream: StreamKey
    code: RefusalCode


def stream_path(stream: str) -> str:
    """Where the agent brings the bytes of a stream."""
    return f"{TUNNEL_PATH}/streams/{stream}"
