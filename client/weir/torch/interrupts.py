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
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

from weir.link.replies import Waiter

AGAIN_S = 0.0005
LOOK_S = 0.02
LONG = 200
"""Tries, a tenth of a second of them at least, after which the next line outside the device is watched for."""
STILL = 40
"""Tries at one instruction, without an operator between, after which the main thread waits for something else."""
SIGNALS = tuple(
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGCHLD", "SIGHUP", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
# The device's own code, what C++ calls while an operator runs, and what must not leave gradients switched off.
_WHOLE_MODULES = (
    "weir.torch.",
    "weir.link.interface",
    "weir_wire.",
    "torch._library.",
    "torch.autograd.grad_mode",
)
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
    """A handler that waits for its moment.

    Its signal is sent again until it meets one. Where each comes at the same step of the device's own, as it may in a
    loop of operators, the next line of the program outside the device is one: from `LONG` tries on it is watched for,
    unless a debugger or a measure of coverage watches already.
    """

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self.handler = handler
        self._at: tuple[object, ...] = ()
        self._tries = self._deferrals = 0
        self._is_again = False
        self._watched: FrameType | None = None

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        is_again, self._is_again = self._is_again, False
        if is_again and not self._deferrals:
            # It has met its moment since this one was sent.
            return None
        if frame is None or is_safe(frame) or (not is_inside(frame) and self._is_still(frame)):
            return self._run(number, frame)
        self._deferrals += 1
        if self._deferrals > LONG and self._watched is None:
            self._watch(number, frame)
        # Of the interpreter's own: the interrupted code may hold the locks of `threading`.
        _thread.start_new_thread(self._again, (number,))
        return None

    def _run(self, number: int, frame: FrameType | None) -> Any:
        self._tries = self._deferrals = 0
        watched, self._watched = self._watched, None
        if watched is not None:
            sys.settrace(None)
            watched.f_trace = None
        return self.handler(number, frame)

    def _watch(self, number: int, frame: FrameType | None) -> None:
        """Run at the next line of the program: of this frame, or of the nearest caller that is no part of the device.
        It may be the program's own frame at a call's end, each time: no call is under way at the line after it."""
        while frame is not None and (frame.f_code.co_name in _BRACKETS or is_inside(frame)):
            frame = frame.f_back
        if frame is None or sys.gettrace() not in (None, _untraced):
            return

        def at_event(here: FrameType, event: str, _given: object) -> Any:
            if self._deferrals and event == "line":
                self._run(number, here)
            elif self._deferrals and event == "return":
                # It had no line left: that of its caller is the next.
                self._watch(number, here.f_back)
            return at_event if self._deferrals else None

        self._watched, frame.f_trace = frame, at_event
        sys.settrace(_untraced)

    def _is_still(self, frame: FrameType) -> bool:
        """Whether the main thread has stayed where it is: in a call that is no operator, as `time.sleep`."""
        at = (id(frame), frame.f_lasti, _progress())
        self._tries = self._tries + 1 if at == self._at else 0
        self._at = at
        return self._tries > STILL

    def _again(self, number: int) -> None:
        time.sleep(AGAIN_S)
        main = threading.main_thread().ident
        if self._deferrals and main is not None and signal.getsignal(number) is self:
            self._is_again = True
            with contextlib.suppress(OSError):
                signal.pthread_kill(main, number)


def _untraced(_frame: FrameType, _event: str, _given: object) -> None:
    """Of what is called meanwhile nothing is watched."""


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
