"""The folder of volumes on this node: whether it is the portal's, and where in it the files of a volume lie.

It may be a network's, which can hang: nothing here waits for it.
"""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

from node_agent.protocol.slices import STORAGE_MARK, VolumeMount

LOOK_EVERY_S, BELIEVED_S, FIRST_LOOK_S = 5.0, 30.0, 1.0
_MARK = re.compile(r"[0-9a-f]{32}")


class Volumes:
    """Below `root`, where the portal keeps them; None: there are none here."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._looking: threading.Thread | None = None
        self._mark, self._seen_s, self._looked_s = "", 0.0, float("-inf")

    def mark(self) -> str:
        """What the portal has written there to be known by; "" where this is no folder of a portal's.

        Looked at again and again: a file system that is mounted later is found then, one that is gone or hangs is
        soon missed.
        """
        if self._root is None:
            return ""
        now_s = time.monotonic()
        is_first = self._looking is None
        is_free = self._looking is None or not self._looking.is_alive()
        if is_free and now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            self._looking = threading.Thread(
                target=self._look, args=(self._root,), name="volumes", daemon=True
            )
            self._looking.start()
            if is_first:
                self._looking.join(FIRST_LOOK_S)
        return self._mark if time.monotonic() - self._seen_s < BELIEVED_S else ""

    def _look(self, root: Path) -> None:
        try:
            text = (root / STORAGE_MARK).read_text().strip()
        except (OSError, ValueError):
            text = ""
        self._mark, self._seen_s = text if _MARK.fullmatch(text) else "", time.monotonic()

    def place(self, wanted: VolumeMount) -> Path | None:
        """Where the files of a volume are to lie; None where this node has no folder of volumes."""
        return None if self._root is None else self._root / wanted.key / "files"
