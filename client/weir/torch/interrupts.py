"""Signals' handlers run where they may raise: never inside the device, never inside PyTorch's C++.

Python runs a handler between any two steps of the main thread, and most handlers raise, as Ctrl-C does. Raised half-way
through a frame it would tear the session's stream apart; in an operator it would lose what later ones build on. And
PyTorch's guard for Python devices looks its methods up with pybind11, which lets handlers run, in C++ that may not
throw: raised there, it aborts the process. So a handler waits for a step at which neither can be the case.
"""

from __future__ import annotations

import _thread
import contextlib
import opcode
import signal
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

from weir.link_replies import Waiter

AGAIN_S = 0.0005
LOOK_S = 0.02
STILL = 40
"""Tries at one instruction, without an operator between, after which the main thread waits for something else."""
SIGNALS = tuple(
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGCHLD", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
# The device's own code, what C++ calls while an operator runs, and what must not leave gradients switched off.
_WHOLE_MODULES = ("weir.torch.", "weir.link", "weir_wire.", "torch._library.", "torch.autograd.grad_mode")
# At the beginning of these a context manager has not yet done, or undone, what it is for.
_BRACKETS = frozenset({"__enter__", "__exit__"})
# A function's beginning and a loop's turn: no call into C is under way at these.
_BETWEEN_CALLS = frozenset(opcode.opmap[name] for name in ("RESUME", "JUMP_BACKWARD") if name in opcode.opmap)
_WAITS: CodeType = Waiter.wait.__code__
_WHOLE: set[CodeType] = set()
Function = TypeVar("Function", bound=Callable[..., Any])
_looked_at = 0.0
_progress: Callable[[], int] = int


def begin(progress: Callable[[], int]) -> None:
    """Let handlers wait from now on; `progress` counts the operators of this process."""
    global _progress
    _progress = progress
    defer()


def whole(function: Function) -> Function:
    """Decorates what is not broken off even where it waits for a reply."""
    _WHOLE.add(function.__code__)
    return function


class Deferred:
    """A handler that waits for its moment."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self.handler = handler
        self._at: tuple[object, ...] = ()
        self._tries = 0

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        if frame is None or is_safe(frame) or (not is_inside(frame) and self._is_still(frame)):
            self._tries = 0
            return self.handler(number, frame)
        # Of the interpreter's own: the interrupted code may hold the locks of `threading`.
        _thread.start_new_thread(self._again, (number,))
        return None

    def _is_still(self, frame: FrameType) -> bool:
        """Whether the main thread has stayed where it is: in a call that is no operator, as `time.sleep`."""
        at = (id(frame), frame.f_lasti, _progress())
        self._tries = self._tries + 1 if at == self._at else 0
        self._at = at
        return self._tries > STILL

    def _again(self, number: int) -> None:
        time.sleep(AGAIN_S)
        main = threading.main_thread().ident
        if main is not None and signal.getsignal(number) is self:
            with contextlib.suppress(OSError):
                signal.pthread_kill(main, number)


def is_safe(frame: FrameType) -> bool:
    """Whether a handler that runs at this frame may raise now."""
    if frame.f_code is _WAITS:
        return not is_inside(frame)
    is_between = frame.f_code.co_code[frame.f_lasti] in _BETWEEN_CALLS
    return is_between and frame.f_code.co_name not in _BRACKETS and not is_inside(frame)


def is_inside(frame: FrameType | None) -> bool:
    """Whether this frame, or one that called it, is the device's own and does more than wait for a reply."""
    waits = frame is not None and frame.f_code is _WAITS
    while frame is not None:
        if frame.f_code in _WHOLE:
            return True
        if not waits and frame.f_globals.get("__name__", "").startswith(_WHOLE_MODULES):
            return True
        frame = frame.f_back
    return False


def defer() -> None:
    """Let the handlers that there are now wait. Programs set theirs at any time: this is called again and again."""
    global _looked_at
    now = time.perf_counter()
    if now - _looked_at < LOOK_S or threading.get_ident() != threading.main_thread().ident:
        return
    _looked_at = now
    for number in SIGNALS:
        handler = signal.getsignal(number)
        if type(handler) is not Deferred and callable(handler):
            signal.signal(number, Deferred(handler))
