"""Images unpacked under a bound: what the unpacking writes is watched, and ended where it is more than was said."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

UNPACK_S = 3600
# So much more than was said an image may take: folders of many files, and what the file system adds.
MARGIN_BYTES = 64 * 2**20
_LOOK_S = 0.1
_SAID_BYTES = 16 * 1024


class ImageFailed(Exception):
    """An image cannot be had on this node; the text says why, for people."""


def unpack(layout: Path, rootfs: Path, wanted_bytes: int, *, floor_bytes: int) -> None:
    """Unpack the image "work" of a layout into a new folder. It is ended when it takes more than `wanted_bytes` and a
    margin, and when the disk has less than `floor_bytes` left. Raises ImageFailed, OSError."""
    command = ["umoci", "--log=error", "raw", "unpack", "--image", f"{layout}:work", str(rootfs)]
    watch = _Watch(rootfs, wanted_bytes, floor_bytes)
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_S)
                    break
                watch.look()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.returncode:
            raise ImageFailed(_last_line(said.fileno()) or "umoci cannot unpack it")
    watch.measure()


class _Watch:
    """Over a folder that is being filled: often by what is free on its disk, which costs nothing, and where that could
    be its doing, or after a while, by walking through it."""

    def __init__(self, folder: Path, wanted_bytes: int, floor_bytes: int) -> None:
        self._folder, self._wanted_bytes, self._floor_bytes = folder, wanted_bytes, floor_bytes
        self._end_s = time.monotonic() + UNPACK_S
        self._used_bytes, self._free_bytes, self._next_s = 0, self._free(), 0.0

    def look(self) -> None:
        """Raises ImageFailed where it must end."""
        now_s, free_bytes = time.monotonic(), self._free()
        if now_s > self._end_s:
            raise ImageFailed(f"it was not unpacked within {UNPACK_S} s")
        if free_bytes < self._floor_bytes:
            raise ImageFailed(
                f"the node's disk filled up while it was unpacked: {free_bytes // 2**20} MiB are free"
            )
        taken_bytes = self._used_bytes + self._free_bytes - free_bytes
        if taken_bytes > self._wanted_bytes + MARGIN_BYTES or now_s > self._next_s:
            self.measure()
            # Most of the time is the unpacker's.
            self._next_s = time.monotonic() + 10 * (time.monotonic() - now_s)
            self._free_bytes = free_bytes

    def measure(self) -> None:
        """Raises ImageFailed where it takes too much."""
        self._used_bytes = _used_bytes(self._folder)
        if self._used_bytes > self._wanted_bytes + MARGIN_BYTES:
            raise ImageFailed(
                f"unpacked it takes more than the {self._wanted_bytes // 2**20} MiB that the portal counted"
            )

    def _free(self) -> int:
        facts = os.statvfs(self._folder.parent)
        return facts.f_bavail * facts.f_frsize


def _used_bytes(folder: Path) -> int:
    """What the files below a folder take of the disk; what goes meanwhile counts nothing."""
    total, folders = 0, [str(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
    return total


def _last_line(fd: int) -> str:
    size = os.fstat(fd).st_size
    said = os.pread(fd, _SAID_BYTES, max(0, size - _SAID_BYTES)).decode(errors="replace")
    return (said.strip().splitlines() or [""])[-1][:300]
