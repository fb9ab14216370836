"""Containers whose changes are wanted as a layer of a new image: asked for in a sync, sent to the portal in pieces."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from node_agent.protocol.fields import Counter, Digest, Message, Sentence, Uid
from node_agent.protocol.folders import PIECES_MAX

CONTAINERS_PATH = "/api/agent/v1/containers/"


class ContainerSave(Message):
    """Bring what the work of `slice_uid` has changed over its image to the portal, as the transfer `transfer`, if that
    is no more than `limit_bytes`."""

    slice_uid: Uid
    transfer: Uid
    limit_bytes: Counter


class ContainerSaved(Message):
    """All pieces of a transfer are at the portal: a layer, packed by gzip. Or, with a `problem`, why they never will
    be. `left_out`: how many sockets, pipes and other things that no image holds were there."""

    protocol: Counter
    pieces: Annotated[int, Field(ge=0, le=PIECES_MAX)] = 0
    size_bytes: Counter = 0
    sha256: Digest | None = None
    left_out: Counter = 0
    problem: Sentence = ""


def container_piece_path(transfer: str, number: int) -> str:
    """Where one piece of a layer is put; `number` counts from 0."""
    return f"{CONTAINERS_PATH}{transfer}/{number}"


def container_saved_path(transfer: str) -> str:
    """Where the end of a transfer is told."""
    return f"{CONTAINERS_PATH}{transfer}/saved"
