"""The folders of volumes on this node: whether they are the portal's, and where in them the files of a volume lie.

They may be a network's, which can hang: nothing here waits for them.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from node_agent.protocol.slices import VolumeMount
from node_agent.protocol.storage import STORAGE_MARK
from node_agent.runtime.volumes import project_quota

LOOK_EVERY_S, BELIEVED_S, FIRST_LOOK_S = 5.0, 30.0, 1.0
_MARK = re.compile(r"[0-9a-f]{32}")


class Volumes:
    """Below `roots`, where the portal keeps them: its own folder first, then those of its storage classes."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = [_Root(root) for root in roots]

    def mark(self) -> str:
        """What the portal has written there to be known by, of all folders with blanks between; "" for none."""
        return " ".join(filter(None, (root.mark() for root in self._roots)))

    def held_by(self) -> str:
        """How work is held to the sizes of volumes there, for each folder whose mark is told, in their order: `quota`
        by the file system, `watched` by measuring."""
        return " ".join(root.held_by for root in self._roots if root.mark())

    def place(self, wanted: VolumeMount) -> Path | None:
        """Where the files of a volume are to lie; None where this node has no such folder."""
        for root in self._roots:
            if not wanted.storage or root.mark() == wanted.storage:
                return root.path / wanted.key / "files"
        return None


class _Root:
    """One folder. It is looked at again and again: a file system that is mounted later is found then, one that is gone
    or hangs is soon missed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._looking: threading.Thread | None = None
        self._mark, self._seen_s, self._looked_s = "", 0.0, float("-inf")
        self.held_by = "watched"

    def mark(self) -> str:
        """What stands there now; "" where this is no folder of a portal's."""
        now_s = time.monotonic()
        is_first = self._looking is None
        is_free = self._looking is None or not self._looking.is_alive()
        if is_free and now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            self._looking = threading.Thread(target=self._look, name="volumes", daemon=True)
            self._looking.start()
            if is_first:
                self._looking.join(FIRST_LOOK_S)
        return self._mark if time.monotonic() - self._seen_s < BELIEVED_S else ""

    def _look(self) -> None:
        try:
            text = (self.path / STORAGE_MARK).read_text().strip()
        except (OSError, ValueError):
            text = ""
        self.held_by = "quota" if text and project_quota.is_offered(self.path) else "watched"
        self._mark, self._seen_s = text if _MARK.fullmatch(text) else "", time.monotonic()
