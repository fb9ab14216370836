"""The shim's side of checkpoints (ELA-810): before work is stopped to go on later it is asked to save itself.

It is asked by a signal to its program, or by a command that runs beside it as the work's user, in its folder and
environment. A command says by ending with 0 that all is saved; the work itself says so by writing the file that
`WEIR_CHECKPOINT_FILE` names, whenever it has saved (`weir.checkpointed()` does). What is in the file does not matter,
nor does its time: it counts when it is seen.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from node_agent.runtime import proc
from node_agent.runtime.isolation.untrusted_files import Seen, file_look, seen_now, seen_of

FILE = "weir-checkpoint"
# Between the request to end that follows and the kill, at most.
LAST_S = 5


class Savable(Protocol):
    """Work that can be asked to save itself: by a signal to `pid`, or by a command that runs beside it."""

    @property
    def pid(self) -> int: ...

    def beside(self, argv: list[str]) -> subprocess.Popen[bytes]: ...


class CheckpointControl:
    """Asks one work to save itself, and hears whenever it has; `note` writes a line into the work's log."""

    def __init__(self, folder: Path, hook: dict[str, Any] | None, note: Callable[[str], None]) -> None:
        self._path, self._hook, self._note = folder / FILE, hook or {}, note
        # What an earlier attempt has left in a folder that is kept is no word of this one.
        self._seen: Seen | None = seen_now(self._path)
        self._command: subprocess.Popen[bytes] | None = None
        self._is_waited_for = False

    def look(self) -> bool:
        """Whether it has saved itself since the last look."""
        found = file_look(self._path, self._seen, 0)
        if found is not None:
            self._seen = seen_of(found[1])
            self._answered("it has saved itself")
        code = self._command.poll() if self._command is not None else None
        if code is not None:
            self._command = None
            self._answered(f"the checkpoint command ended with {code}")
        return found is not None or code == 0

    def _answered(self, how: str) -> None:
        if self._is_waited_for:
            self._note(f"{how}: it is asked to end now")
        self._is_waited_for = False

    def begin(self, work: Savable, grace_s: int) -> bool:
        """Ask it, if it wants to be asked; whether it is waited for, until `is_over`."""
        name, argv = self._hook.get("signal"), self._hook.get("argv")
        if name:
            proc.send([work.pid], signal.Signals[f"SIG{name}"])
        self._is_waited_for = bool(name) or bool(argv and self._run(work, argv))
        if self._is_waited_for:
            self._note(f"it is asked to save itself by {name or 'its command'}, for {grace_s} s at most")
        return self._is_waited_for

    def _run(self, work: Savable, argv: list[str]) -> bool:
        try:
            self._command = work.beside(argv)
        except (OSError, subprocess.SubprocessError) as error:
            self._note(f"the checkpoint command could not be started: {error}"[:500])
        return self._command is not None

    @property
    def is_over(self) -> bool:
        """Whether waiting longer helps nothing: it has saved itself since it was asked, or its command has ended."""
        return not self._is_waited_for


def checkpoint_environment(home: Path) -> dict[str, str]:
    """What a program is told of it as it starts."""
    return {"WEIR_CHECKPOINT_FILE": os.fspath(home / FILE)}
