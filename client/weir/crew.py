"""A few threads that carry out what they are given, and stop at the first that fails."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore
from types import TracebackType
from typing import Any


class Crew:
    """Used as a context: when it is left, all that was given is done, or the first error is raised. With one worker
    everything is done by the caller himself."""

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None
        # Whoever gives more waits: what waits is held in memory.
        self._room = BoundedSemaphore(2 * workers)
        self._given: list[Future[None]] = []

    def do(self, act: Callable[..., None], *args: Any) -> None:
        """Have it done; raises what went wrong before."""
        if self._pool is None:
            act(*args)
            return
        self._settle(is_last=False)
        self._room.acquire()
        work = self._pool.submit(act, *args)
        work.add_done_callback(lambda _work: self._room.release())
        self._given.append(work)

    def _settle(self, *, is_last: bool) -> None:
        waiting = []
        for work in self._given:
            if is_last or work.done():
                work.result()
            else:
                waiting.append(work)
        self._given = waiting

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is None:
            return
        try:
            if error is None:
                self._settle(is_last=True)
        finally:
            self._pool.shutdown(cancel_futures=True)
