"""Work folders: what a program keeps between its attempts, and how that follows it to another node (ELA-810)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from node_agent.protocol.fields import Counter, Digest, Message, Sentence, Sequence, Uid

FOLDERS_PATH = "/api/agent/v1/folders/"
# An archive travels in pieces of this size, the last one shorter: no request is ever larger.
PIECE_BYTES = 1024 * 1024
FOLDER_MAX_BYTES = 2**37
PIECES_MAX = FOLDER_MAX_BYTES // PIECE_BYTES


class FolderArchive(Message):
    """An archive that waits at the portal; `transfer` names it, `sha256` is of all its pieces in order."""

    transfer: Uid
    pieces: Annotated[int, Field(ge=1, le=PIECES_MAX)]
    size_bytes: Sequence
    sha256: Digest


class DesiredFolder(Message):
    """The folder that a program runs in. `is_kept`: it lies on this node from an earlier attempt and goes on being
    used; `archive`: it is fetched before the start. With neither the program begins in an empty folder."""

    key: Uid
    is_kept: bool = False
    archive: FolderArchive | None = None


class FolderSend(Message):
    """Bring the folder `key` to the portal as the transfer `transfer`, if it holds no more than `limit_bytes`; with
    `outputs_only` its folder of outputs alone, as files and folders without links."""

    key: Uid
    transfer: Uid
    limit_bytes: Counter
    outputs_only: bool = False

    @model_serializer(mode="wrap")
    def _without_nothing(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An agent that knows no outputs is told of none."""
        told: dict[str, Any] = dump(self)
        return told if self.outputs_only else {key: told[key] for key in told if key != "outputs_only"}


class FolderSent(Message):
    """All pieces of a transfer are at the portal; or, with a `problem`, why they never will be."""

    protocol: Counter
    transfer: Uid
    pieces: Annotated[int, Field(ge=0, le=PIECES_MAX)] = 0
    size_bytes: Counter = 0
    sha256: Digest | None = None
    problem: Sentence = ""


class FolderTaken(Message):
    """The portal's answer to a piece, and to the end of a transfer."""

    protocol: Counter


def piece_path(key: str, transfer: str, number: int) -> str:
    """Where one piece of an archive is put and fetched; `number` counts from 0."""
    return f"{FOLDERS_PATH}{key}/{transfer}/{number}"


def sent_path(key: str) -> str:
    """Where the end of a transfer is told."""
    return f"{FOLDERS_PATH}{key}/sent"
