"""Containers saved: what work has changed over its image, written down while it holds still, and sent to the portal.

Never in the way of the loop: one thread does it, one container after the other. The work goes on as soon as its changes
are on this node's disk, and whatever becomes of them. What was broken off on its way begins again from there.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import queue
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from node_agent.protocol.containers import ContainerSave, ContainerSaved
from node_agent.protocol.fields import PROTOCOL_VERSION
from node_agent.protocol.folders import PIECE_BYTES
from node_agent.runtime.containers.layer import LayerFailed, LayerWriter
from node_agent.transport import RequestRefused, TransportError, patiently
from node_agent.web.work_keeper import keeper_ask
from node_agent.work_container import Container

# Less than its keeper holds the work still: who reads is never surprised by its going on.
STILL_S = 60.0
_ANSWER_S = 15.0
PAUSE_S = 5.0
# So much of the disk a layer leaves free for what else this node keeps.
FREE_BYTES = 2**30
_LOOK_BYTES = 16 * 2**20
_MIB = 2**20
# The format of gzip, with the largest window.
_GZIP_BITS = 31

log = logging.getLogger("weir.agent")


class ContainerPortal(Protocol):
    """The part of the transport that this needs. All raise TransportError."""

    def container_piece_put(self, transfer: str, number: int, piece: bytes) -> None:
        """Store one piece of a layer; putting it again replaces it."""

    def container_saved(self, transfer: str, message: ContainerSaved) -> None:
        """Say that a layer is whole, or that it cannot be made."""


class ContainerSaves:
    """`home`: a folder for layers on their way. `container` finds the container of a slice's work."""

    def __init__(
        self, portal: ContainerPortal, home: Path, container: Callable[[str], Container | None]
    ) -> None:
        self._portal, self._home, self._container = portal, home, container
        self._asked: queue.SimpleQueue[ContainerSave] = queue.SimpleQueue()
        self._under_way: set[str] = set()
        self._thread: threading.Thread | None = None

    def want(self, requests: Iterable[ContainerSave]) -> None:
        """These are wanted now, and no others: each is saved once, however often it is asked for."""
        for request in (one for one in requests if one.transfer not in self._under_way):
            self._under_way.add(request.transfer)
            self._asked.put(request)
            if self._thread is None:
                self._thread = threading.Thread(target=self._save_all, name="containers", daemon=True)
                self._thread.start()
        wanted = {request.transfer for request in requests} | self._under_way
        for rest in self._home.glob("*"):
            if rest.name.partition(".")[0] not in wanted:
                rest.unlink(missing_ok=True)

    def _save_all(self) -> None:
        while True:
            request = self._asked.get()
            try:
                self._save(request)
            except (TransportError, OSError) as error:
                log.warning("the container of slice %s was not saved: %s", request.slice_uid, error)
                time.sleep(PAUSE_S)
            # As long as it is wanted the portal asks for it again.
            self._under_way.discard(request.transfer)

    def _save(self, request: ContainerSave) -> None:
        log.info(
            "the container of slice %s is saved", request.slice_uid, extra={"slice_uid": request.slice_uid}
        )
        layer = self._home / f"{request.transfer}.tar"
        try:
            left_out = self._written(request, layer)
            said = self._sent(request, layer, left_out)
        except LayerFailed as error:
            said = ContainerSaved(protocol=PROTOCOL_VERSION, problem=str(error)[:500])
        with suppress(RequestRefused):
            # It is not wanted any more.
            patiently(lambda: self._portal.container_saved(request.transfer, said))
        _drop(layer)

    # ---- onto this node's disk ----

    def _written(self, request: ContainerSave, layer: Path) -> int:
        """Write the layer, if it is not here from before; how much was left out of it. Raises LayerFailed."""
        noted = layer.with_suffix(".json")
        with suppress(OSError, ValueError):
            return int(json.loads(noted.read_text())["left_out"])
        try:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            left_out = self._write(request, layer)
            noted.write_text(json.dumps({"left_out": left_out}))
        except OSError as error:
            _drop(layer)
            raise LayerFailed(f"its changes cannot be written down on its node: {error.strerror}") from error
        except LayerFailed:
            _drop(layer)
            raise
        return left_out

    def _write(self, request: ContainerSave, layer: Path) -> int:
        container = self._container(request.slice_uid)
        if container is None:
            raise LayerFailed("its work does not run in a container any more")
        with _held(container.keeper) as is_held, layer.open("wb") as out:
            writer = LayerWriter(container.changes, out, self._bound(request.limit_bytes))
            writer.write()
            if not is_held():
                raise LayerFailed("its work ended while it was saved")
        return writer.left_out

    def _bound(self, limit_bytes: int) -> Callable[[int], None]:
        """Ends the writing where it is too much, takes too long, or fills the disk."""
        end_s, looked_at = time.monotonic() + STILL_S, -_LOOK_BYTES

        def look(at: int) -> None:
            nonlocal looked_at
            if at > limit_bytes:
                raise LayerFailed(
                    f"what was changed is more than the {limit_bytes // _MIB} MiB that an image may grow by"
                )
            if time.monotonic() > end_s:
                raise LayerFailed(
                    f"what was changed cannot be read within {STILL_S:.0f} s, the longest that work is held for it"
                )
            if at - looked_at >= _LOOK_BYTES:
                looked_at = at
                facts = os.statvfs(self._home)
                if facts.f_bavail * facts.f_frsize < FREE_BYTES:
                    raise LayerFailed("its node's disk is nearly full")

        return look

    # ---- to the portal ----

    def _sent(self, request: ContainerSave, layer: Path, left_out: int) -> ContainerSaved:
        digest, size_bytes, count = hashlib.sha256(), 0, 0
        for number, piece in enumerate(_pieces(layer)):
            try:
                patiently(
                    lambda number=number, piece=piece: self._portal.container_piece_put(  # type: ignore[misc]
                        request.transfer, number, piece
                    )
                )
            except RequestRefused as error:
                raise LayerFailed(str(error)) from error
            digest.update(piece)
            size_bytes, count = size_bytes + len(piece), number + 1
        return ContainerSaved(
            protocol=PROTOCOL_VERSION,
            pieces=count,
            size_bytes=size_bytes,
            sha256=digest.hexdigest(),
            left_out=left_out,
        )


@contextmanager
def _held(keeper: Path) -> Iterator[Callable[[], bool]]:
    """The work holds still, as long as this connection to its keeper stands. Raises LayerFailed."""
    try:
        connection, said, _fds = keeper_ask(keeper, {"hold": True}, _ANSWER_S)
    except OSError as error:
        raise LayerFailed("its work does not run any more") from error
    with connection:
        if not said.get("held"):
            raise LayerFailed(str(said.get("detail") or "its work does not run any more"))
        yield lambda: _stands(connection)


def _stands(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def _pieces(layer: Path) -> Iterator[bytes]:
    """The layer packed by gzip, the same whenever it is packed."""
    packer, held = zlib.compressobj(1, wbits=_GZIP_BITS), bytearray()
    with layer.open("rb") as plain:
        while block := plain.read(_MIB):
            held += packer.compress(block)
            while len(held) >= PIECE_BYTES:
                yield bytes(held[:PIECE_BYTES])
                del held[:PIECE_BYTES]
    held += packer.flush()
    for begin in range(0, len(held), PIECE_BYTES):
        yield bytes(held[begin : begin + PIECE_BYTES])


def _drop(layer: Path) -> None:
    # The note first: without it the layer is none.
    for path in (layer.with_suffix(".json"), layer):
        path.unlink(missing_ok=True)
