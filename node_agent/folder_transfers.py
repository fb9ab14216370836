"""Work folders on their way to another node: packed and sent to the portal in pieces, or fetched and unpacked.

Never in the way of the loop: one thread sends, one fetches. What was broken off begins again from its first piece; a
folder that is only half here is never run in.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol

from node_agent.drivers.base import DriverError
from node_agent.protocol.fields import PROTOCOL_VERSION
from node_agent.protocol.folders import PIECE_BYTES, DesiredFolder, FolderArchive, FolderSend, FolderSent
from node_agent.protocol.slices import DesiredSlice
from node_agent.runtime import archive
from node_agent.transport import TransportError, patiently
from node_agent.work_folders import WorkFolders

PAUSE_S = 5.0

log = logging.getLogger("weir.agent")


class FolderPortal(Protocol):
    """The part of the transport that transfers need. All raise TransportError."""

    def piece_put(self, key: str, transfer: str, number: int, piece: bytes) -> None:
        """Store one piece of an archive; putting it again replaces it."""

    def piece_get(self, key: str, transfer: str, number: int) -> bytes:
        """One piece of an archive."""

    def folder_sent(self, key: str, message: FolderSent) -> None:
        """Say that a transfer is whole, or that it cannot be made."""


class FolderFailed(Exception):
    """A folder cannot be packed or unpacked; the text says why, for people."""


class FolderTransfers:
    """Sends and fetches work folders. `owner` chooses the user of a folder that is new here, `library` is what that
    user may import."""

    def __init__(
        self, portal: FolderPortal, folders: WorkFolders, owner: Callable[[str], int | None], library: Path
    ) -> None:
        self._portal, self._folders, self._owner, self._library = portal, folders, owner, library
        self._sending: set[str] = set()
        self._fetching: set[str] = set()
        self._sends: queue.SimpleQueue[FolderSend] = queue.SimpleQueue()
        self._fetches: queue.SimpleQueue[DesiredSlice] = queue.SimpleQueue()
        self._fetched: queue.SimpleQueue[tuple[DesiredSlice, str]] = queue.SimpleQueue()
        self._unwanted: frozenset[str] = frozenset()
        self._threads: list[threading.Thread] = []

    def send(self, request: FolderSend) -> None:
        """Send a folder, once however often it is asked for."""
        if request.transfer not in self._sending:
            self._sending.add(request.transfer)
            self._sends.put(request)
            self._run()

    def is_fetched(self, desired: DesiredFolder) -> bool:
        """Whether the folder is here as its program is to find it."""
        return desired.archive is None or self._folders.transfer(desired.key) == desired.archive.transfer

    def fetch(self, wanted: DesiredSlice) -> None:
        """Fetch the folder of a slice that is to be started; `fetched` tells how that ended."""
        if wanted.slice_uid not in self._fetching:
            self._fetching.add(wanted.slice_uid)
            self._fetches.put(wanted)
            self._run()

    def fetched(self) -> Iterator[tuple[DesiredSlice, str]]:
        """The slices whose folder is here since the last call, each with "" or with why it is not."""
        while not self._fetched.empty():
            wanted, problem = self._fetched.get()
            self._fetching.discard(wanted.slice_uid)
            yield wanted, problem

    def unwant(self, slice_uids: frozenset[str]) -> None:
        """These are to be stopped: what is being fetched for them is broken off."""
        self._unwanted = slice_uids

    def _run(self) -> None:
        """Threads are there from the first transfer on: most nodes never have one."""
        if not self._threads:
            for work in (self._send_all, self._fetch_all):
                thread = threading.Thread(target=work, name="folders", daemon=True)
                self._threads.append(thread)
                thread.start()

    # ---- to the portal ----

    def _send_all(self) -> None:
        while True:
            request = self._sends.get()
            try:
                self._send(request)
            except (TransportError, OSError, ValueError) as error:
                log.warning("work folder %s was not sent: %s", request.key, error)
                time.sleep(PAUSE_S)
            # As long as it is wanted the portal asks for it again.
            self._sending.discard(request.transfer)

    def _send(self, request: FolderSend) -> None:
        log.info("work folder %s is sent to the portal", request.key)
        try:
            sent = self._pack(request)
        except FolderFailed as error:
            sent = FolderSent(protocol=PROTOCOL_VERSION, transfer=request.transfer, problem=str(error)[:500])
        patiently(lambda: self._portal.folder_sent(request.key, sent))

    def _pack(self, request: FolderSend) -> FolderSent:
        owner = self._folders.owner(request.key)
        if owner is None:
            raise FolderFailed("it is not on its node any more")
        process = archive.process(
            "outputs" if request.outputs_only else "pack",
            self._folders.home(request.key),
            str(request.limit_bytes),
            owner=_other(owner),
            library=self._library,
        )
        assert process.stdout is not None
        digest, size_bytes, count = hashlib.sha256(), 0, 0
        try:
            while piece := _read(process.stdout):
                digest.update(piece)
                patiently(
                    lambda piece=piece, count=count: self._portal.piece_put(  # type: ignore[misc]
                        request.key, request.transfer, count, piece
                    )
                )
                size_bytes, count = size_bytes + len(piece), count + 1
        finally:
            problem = _ended(process)
        if problem:
            raise FolderFailed(problem)
        return FolderSent(
            protocol=PROTOCOL_VERSION,
            transfer=request.transfer,
            pieces=count,
            size_bytes=size_bytes,
            sha256=digest.hexdigest(),
        )

    # ---- from the portal ----

    def _fetch_all(self) -> None:
        while True:
            wanted = self._fetches.get()
            problem = ""
            try:
                self._fetch(wanted)
            except (TransportError, FolderFailed, DriverError, OSError, ValueError) as error:
                problem = f"its work folder could not be brought here: {error}"
            self._fetched.put((wanted, problem[:500]))

    def _fetch(self, wanted: DesiredSlice) -> None:
        desired = wanted.folder
        assert desired is not None
        assert desired.archive is not None
        if self.is_fetched(desired):
            return
        log.info(
            "work folder %s is fetched from the portal", desired.key, extra={"slice_uid": wanted.slice_uid}
        )
        owner = self._owner(desired.key)
        try:
            draft = self._folders.draft(desired.key, owner)
            self._unpack(wanted.slice_uid, desired.key, desired.archive, draft, owner)
            self._folders.put(desired.key, draft, desired.archive.transfer)
        finally:
            self._folders.drop(desired.key)

    def _unpack(
        self, slice_uid: str, key: str, wanted: FolderArchive, draft: Path, owner: int | None
    ) -> None:
        process = archive.process("unpack", draft, owner=owner, library=self._library)
        assert process.stdin is not None
        digest, size_bytes = hashlib.sha256(), 0
        try:
            for number in range(wanted.pieces):
                if slice_uid in self._unwanted:
                    raise FolderFailed("it was stopped before its folder was here")
                piece = patiently(lambda n=number: self._portal.piece_get(key, wanted.transfer, n))  # type: ignore[misc]
                digest.update(piece)
                size_bytes += len(piece)
                if not _write(process.stdin, piece):
                    break
            else:
                if (size_bytes, digest.hexdigest()) != (wanted.size_bytes, wanted.sha256):
                    raise FolderFailed("what came is not what was sent")
        except BaseException:
            process.kill()
            _ended(process)
            raise
        if problem := _ended(process):
            raise FolderFailed(problem)


def _other(owner: int) -> int | None:
    """The user to become for a folder: None where it is the agent's own."""
    return None if owner == os.geteuid() else owner


def _read(stream: IO[bytes]) -> bytes:
    """The next piece, as long as pieces are until the last."""
    return stream.read(PIECE_BYTES)


def _write(stream: IO[bytes], piece: bytes) -> bool:
    """Whether who reads still does; if not it says itself why."""
    try:
        stream.write(piece)
        stream.flush()
    except BrokenPipeError:
        return False
    return True


def _ended(process: subprocess.Popen[bytes]) -> str:
    """Wait for a packer to end; what went wrong, in its words."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    assert process.stderr is not None
    said = process.stderr.read().decode(errors="replace").strip().rpartition("\n")[2]
    process.stderr.close()
    code = process.wait()
    if code == 0:
        return ""
    return said or f"the archive's process ended with {code}"
