"""How many shares this work has now, for programs that Weir runs as elastic work (ELA-906).

    from weir_wire import elastic_size

    def rebuild(now):                 # called at once, and again whenever the size has changed
        if now.leaving:
            save_checkpoint()         # this share is about to be stopped
        else:
            join(rank=now.share, world=now.shares)

    size.scaled(rebuild)

Each share of the work runs the program; `share` counts from 0. Of work of replicas each `shares_per_replica` shares are
one, on one node: `replica` of `replicas`. Returning from the function confirms the size: from
then on the portal counts it, and stops the shares that leave. A function that raises, or does not return, confirms
nothing; the portal goes ahead after its grace. Nothing but the standard library is needed.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Size:
    """Which of how many shares this is; `step` counts the changes. `leaving`: it will be stopped."""

    share: int
    shares: int
    step: int
    leaving: bool = False
    shares_per_replica: int = 1

    @property
    def replica(self) -> int:
        """Which replica this share is in, from 0."""
        return self.share // self.shares_per_replica

    @property
    def replicas(self) -> int:
        """How many there are."""
        return self.shares // self.shares_per_replica


def now() -> Size:
    """The size at this moment. Work of one share that is not elastic is one of one, at step 0."""
    return _read(os.environ.get("WEIR_SIZE_FILE", ""))


def confirm(size: Size) -> None:
    """Say that the work goes by this size from now on."""
    _confirm(size, os.environ.get("WEIR_SIZE_CONFIRM", ""))


def scaled(function: Callable[[Size], object]) -> threading.Thread:
    """Call `function(size)` now, in this thread, and from a thread of its own after each change; each return
    confirms. An error of the first call is raised, later ones end the thread as any thread's would."""
    told, said = os.environ.get("WEIR_SIZE_FILE", ""), os.environ.get("WEIR_SIZE_CONFIRM", "")
    first = _read(told)
    function(first)
    _confirm(first, said)
    follow = (function, first, told, said)
    thread = threading.Thread(target=_follow, args=follow, name="weir-size", daemon=True)
    thread.start()
    return thread


def _read(path: str) -> Size:
    if not path:
        return Size(0, 1, 0)
    told = json.loads(Path(path).read_text())
    per = told.get("shares_per_replica", 1)
    return Size(told["share"], told["shares"], told["step"], told["leaving"], per)


def _confirm(size: Size, path: str) -> None:
    if path and size.step:
        part = Path(f"{path}.{os.getpid()}.{threading.get_ident()}")
        part.write_text(str(size.step))
        part.replace(path)


def _follow(function: Callable[[Size], object], last: Size, size_file: str, reply_file: str) -> None:
    # Looking needs no signal handler, which only a main thread could set and which would replace the program's own.
    pause = threading.Event()
    while Path(size_file).is_file() and not pause.wait(LOOK_S):
        size = _read(size_file)
        if size != last:
            function(size)
            _confirm(size, reply_file)
            last = size
