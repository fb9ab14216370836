"""Images on their way to this node: fetched from the portal in pieces, each file known by its digest, and unpacked.

Never in the way of the loop: one thread fetches, one image after the other. What was broken off begins again; an image
that is only half here is never run in.
"""

from __future__ import annotations

import hashlib
import json
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from node_agent.images.store import ImageStore
from node_agent.images.unpacking import ImageFailed
from node_agent.protocol.images import IMAGE_FILE_MAX_BYTES, IMAGE_PIECE_BYTES, WorkImage
from node_agent.protocol.slices import DesiredSlice
from node_agent.transport import TransportError, patiently

_FILES_MAX = 201

log = logging.getLogger("weir.agent")


class ImagePortal(Protocol):
    """The part of the transport that images need. All raise TransportError."""

    def image_manifest(self, version: str) -> bytes:
        """What an image is made of."""

    def image_piece(self, version: str, digest: str, number: int) -> bytes:
        """One piece of a file of an image."""


class ImageTransfers:
    """`used`: the digests of images that work on this node uses."""

    def __init__(self, portal: ImagePortal, store: ImageStore, used: Callable[[], frozenset[str]]) -> None:
        self._portal, self._store, self._used = portal, store, used
        self._fetching: set[str] = set()
        self._wanted: queue.SimpleQueue[DesiredSlice] = queue.SimpleQueue()
        self._fetched: queue.SimpleQueue[tuple[DesiredSlice, str]] = queue.SimpleQueue()
        self._unwanted: frozenset[str] = frozenset()
        self._thread: threading.Thread | None = None

    def is_fetched(self, image: WorkImage) -> bool:
        """Whether work can be started in it."""
        return self._store.root(image.digest) is not None

    def fetch(self, wanted: DesiredSlice) -> None:
        """Fetch the image of a slice that is to be started; `fetched` tells how that ended."""
        if wanted.slice_uid in self._fetching:
            return
        self._fetching.add(wanted.slice_uid)
        self._wanted.put(wanted)
        if self._thread is None:
            self._thread = threading.Thread(target=self._fetch_all, name="images", daemon=True)
            self._thread.start()

    def fetched(self) -> Iterator[tuple[DesiredSlice, str]]:
        """The slices whose image is here since the last call, each with "" or with why it is not."""
        while not self._fetched.empty():
            wanted, problem = self._fetched.get()
            self._fetching.discard(wanted.slice_uid)
            yield wanted, problem

    def unwant(self, slice_uids: frozenset[str]) -> None:
        """These are to be stopped: what is being fetched for them is broken off."""
        self._unwanted = slice_uids

    def _fetch_all(self) -> None:
        while True:
            wanted = self._wanted.get()
            image = wanted.work.image
            assert image is not None
            problem = ""
            try:
                if not self.is_fetched(image):
                    self._fetch(image, wanted.slice_uid)
            except (TransportError, ImageFailed, OSError, ValueError, KeyError, TypeError) as error:
                problem = f"its image {image.name} could not be brought here: {error}"
            self._fetched.put((wanted, problem[:500]))

    def _fetch(self, image: WorkImage, slice_uid: str) -> None:
        log.info("image %s is fetched from the portal", image.name, extra={"slice_uid": slice_uid})
        manifest = patiently(lambda: self._portal.image_manifest(image.version))
        if f"sha256:{hashlib.sha256(manifest).hexdigest()}" != image.digest:
            raise ImageFailed("what came is not what was asked for")
        found: dict[str, Any] = json.loads(manifest)
        files = [(str(row["digest"]), int(row["size"])) for row in (found["config"], *found["layers"])]
        size_bytes = sum(size for _digest, size in files)
        if len(files) > _FILES_MAX or not all(0 <= size <= IMAGE_FILE_MAX_BYTES for _digest, size in files):
            raise ImageFailed("it is made of too much")
        blobs = self._store.draft(image.digest) / "layout" / "blobs" / "sha256"
        try:
            self._store.room_make(size_bytes + image.unpacked_bytes, self._used())
            (blobs / image.digest.removeprefix("sha256:")).write_bytes(manifest)
            for digest, size in files:
                self._file(image.version, digest, size, blobs, slice_uid)
            config = blobs / files[0][0].removeprefix("sha256:")
            self._store.config_keep(image.digest, config.read_bytes())
            self._store.put(image.digest, manifest, image.unpacked_bytes)
        finally:
            self._store.drop(image.digest)

    def _file(self, version: str, digest: str, size: int, blobs: Path, slice_uid: str) -> None:
        """One file of an image. Its name is its digest: one that is here already is not fetched again."""
        name = digest.removeprefix("sha256:")
        if len(name) != 64 or not set(name) <= set("0123456789abcdef"):
            raise ImageFailed("a file of it has no digest")
        summed, got = hashlib.sha256(), 0
        with (blobs / name).open("wb") as file:
            for number in range(-(-size // IMAGE_PIECE_BYTES)):
                if slice_uid in self._unwanted:
                    raise ImageFailed("it was stopped before its image was here")
                piece = patiently(lambda n=number: self._portal.image_piece(version, digest, n))  # type: ignore[misc]
                summed.update(piece)
                got += len(piece)
                if got > size:
                    raise ImageFailed("a file of it is larger than was said")
                file.write(piece)
        if (got, summed.hexdigest()) != (size, name):
            raise ImageFailed("a file of it came damaged")
