"""The volumes that one work may write into, held to their sizes by a process beside its shim."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from node_agent.readable import is_readable
from node_agent.runtime import proc

# So long work waits for its volumes to be held before it starts; the file system of a network may hang.
FIRST_LOOK_S = 10.0
_BLOCK = 65_536


class VolumeSizes:
    """Those of the centre's volumes that are not read-only. Raises OSError where the process cannot start."""

    def __init__(self, volumes: Sequence[Mapping[str, Any]]) -> None:
        held = [one for one in volumes if one.get("is_sold") and not one["read_only"]]
        self._shown = [str(one["path"]) for one in held]
        self._process: subprocess.Popen[bytes] | None = None
        self._over: dict[str, tuple[int, int]] = {}
        self._seen: set[int] = set()
        self._text = b""
        if held:
            self._start([str(Path(one["source"]).parent) for one in held])

    def _start(self, folders: list[str]) -> None:
        ours = str(Path(__file__).parents[3])
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "node_agent.runtime.volumes.watcher", *folders],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": ours, "LC_ALL": "C.UTF-8"},
            cwd="/",
        )
        os.set_blocking(self._output, False)
        end_s = time.monotonic() + FIRST_LOOK_S
        while len(self._seen) < len(folders) and (left_s := end_s - time.monotonic()) > 0:
            is_readable(self._output, left_s)
            if not self._take():
                return

    @property
    def _output(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    @property
    def pids(self) -> list[int]:
        """The processes that hold them, which are not the work's."""
        if self._process is None:
            return []
        return [self._process.pid, *proc.descendants(self._process.pid)]

    def over(self) -> tuple[str, int, int] | None:
        """A volume that holds more than it may, as the work sees it, with both in MiB; None: there is none."""
        if self._process is not None:
            self._take()
        return next(((path, *said) for path, said in self._over.items()), None)

    def _take(self) -> bool:
        """Take in what was written; False where nothing more comes."""
        try:
            block = os.read(self._output, _BLOCK)
        except BlockingIOError:
            return True
        *lines, self._text = (self._text + block).split(b"\n")
        for line in lines:
            self._hear(line.decode("ascii", "replace").split())
        return bool(block)

    def _hear(self, words: list[str]) -> None:
        with contextlib.suppress(ValueError, IndexError):
            place, used_mib, size_mib = int(words[0]), int(words[2]), int(words[3])
            path = self._shown[place]
            self._seen.add(place)
            self._over.pop(path, None)
            if words[1] == "watched" and size_mib and used_mib > size_mib:
                self._over[path] = used_mib, size_mib

    def close(self) -> None:
        """Nothing more is held. A process that hangs in the kernel is not waited for."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        if process.stdout is not None:
            process.stdout.close()
