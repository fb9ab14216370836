"""Folders on their way out, deleted beside the agent's loop.

Work leaves millions of files behind if it likes, and to delete them takes minutes in which the loop must go on: a node
that says nothing is lost. What was broken off on its way is found at the agent's next start.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from node_agent.files import tree_remove

log = logging.getLogger("weir.agent")


def _nothing() -> None:
    pass


class Removals:
    """One folder after another, in a thread of its own."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Path, Callable[[], None]]] = queue.Queue()
        self._gone: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def add(self, path: Path, then: Callable[[], None] = _nothing) -> None:
        """A folder is there no more when this returns, and is deleted in time; `then` is called by `follow` after that.
        Raises OSError where it cannot be taken away."""
        gone = path.with_name(f".{uuid4().hex}.gone")
        with suppress(FileNotFoundError):
            path.rename(gone)
        self._waiting.put((gone, then))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="removals", daemon=True)
            self._thread.start()

    def follow(self) -> None:
        """What is to be done now that folders are gone, in the thread of whoever added them."""
        while not self._gone.empty():
            self._gone.get()()

    def settle(self) -> None:
        """Wait until all that was added is gone, or stays."""
        self._waiting.join()
        self.follow()

    def _run(self) -> None:
        while True:
            path, then = self._waiting.get()
            try:
                tree_remove(path)
                if not os.path.lexists(path):
                    self._gone.put(then)
            except Exception:
                log.exception("%s is not deleted", path)
            finally:
                self._waiting.task_done()
