"""Pauses of a whole process tree, by which a share is held where there is no control group.

A shell that saw its command stop would take it for suspended by its user, and ask for the next one. So whoever has a
terminal is stopped before its children are, and goes on after them. A signal is obeyed only when its receiver is next
on a processor, which a busy machine puts off: until then the children run on, and the share is short of that later.
"""

from __future__ import annotations

import signal
import time

from node_agent.runtime import proc

# So long children run on at most; after it they are stopped all the same, or work could keep its parents off the
# processors and so itself on them.
RUN_ON_S = 0.5
# How long one step waits for who is about to stop.
_STEP_WAIT_S = 0.02
_LOOK_AGAIN_S = 0.0001


class Pauses:
    """Whether a tree is stopped, and who of it still has to be."""

    def __init__(self) -> None:
        self._stopped: set[int] = set()
        self._since_s: float | None = None

    def pause(self, pids: list[int]) -> None:
        """Stop a tree's processes, parents before their children; again with each step, for those made in between."""
        now_s = time.monotonic()
        if self._since_s is None:
            self._since_s = now_s
        if now_s - self._since_s > RUN_ON_S:
            proc.send(pids, signal.SIGSTOP)
            self._stopped.update(pids)
            return
        run_on: set[int] = set()
        until_s = now_s + _STEP_WAIT_S
        # Whoever was made meanwhile could have woken the others.
        proc.send([pid for pid in pids if pid in self._stopped], signal.SIGSTOP)
        for pid in pids:
            if pid in self._stopped or _stop(pid, run_on, until_s):
                self._stopped.add(pid)
            else:
                run_on.add(pid)

    def end(self, pids: list[int]) -> None:
        """Let the tree go on where it is stopped, children before their parents."""
        if self._since_s is not None:
            proc.send(pids[::-1], signal.SIGCONT)
        self._stopped.clear()
        self._since_s = None


def _stop(pid: int, run_on: set[int], until_s: float) -> bool:
    """Whether a process is stopped, or will be without anybody's asking what its children do."""
    fields = proc.stat_fields(pid)
    if fields is None:
        return True
    if int(fields[1]) in run_on:
        return False
    proc.send([pid], signal.SIGSTOP)
    has_terminal = fields[4] != "0"
    # In the kernel, uninterruptible (D), nobody asks after children either.
    while has_terminal and fields is not None and fields[0] not in "TtZXD":
        if time.monotonic() > until_s:
            return False
        time.sleep(_LOOK_AGAIN_S)
        fields = proc.stat_fields(pid)
    return True
