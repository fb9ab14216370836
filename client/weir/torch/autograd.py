"""Backward passes over the device: both of PyTorch's pitfalls for Python devices, cured here.

1. The device guard for Python devices counts one device, so the engine's worker threads refuse weir:1.
   Backward therefore runs in the calling thread.
2. A Python exception that crosses the engine's C++ frames aborts the process. So an error below the engine is kept, the
   engine is stopped by a result of the wrong type, and the wrapper around the engine raises the kept error.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import graph

_engine = graph._engine_run_backward
_kept = threading.local()


class _Stopped:
    """What a failed operator hands to the engine: no tensor, so that it stops with an error of its own."""


_STOPPED = _Stopped()


def keep(error: BaseException) -> None:
    """Remember the first error of this backward pass."""
    if getattr(_kept, "error", None) is None:
        _kept.error = error


def raise_or_defer(error: BaseException) -> Any:
    """Raise, unless the engine called the failing operator itself: then keep the error for the engine's caller."""
    if torch._C._current_graph_task_id() == -1 or not _called_by_engine():
        raise error
    keep(error)
    return _STOPPED


def _called_by_engine() -> bool:
    """Whether no Python code stands between the engine and the dispatch that failed."""
    frame = sys._getframe(3)
    return frame.f_code is _engine.__code__


def guarded(hook: Callable[..., Any]) -> Callable[..., Any]:
    """A hook whose exception reaches the caller of backward instead of aborting the process."""

    @functools.wraps(hook)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return hook(*args, **kwargs)
        except BaseException as error:
            keep(error)
            return _STOPPED

    return run


def run_backward(*args: Any, **kwargs: Any) -> Any:
    """The engine, in this thread, raising what its operators and hooks kept."""
    outer, _kept.error = getattr(_kept, "error", None), None
    with torch.autograd.set_multithreading_enabled(False):
        try:
            result = _engine(*args, **kwargs)
        except Exception:
            _raise_kept()
            raise
        else:
            _raise_kept()
            return result
        finally:
            _kept.error = outer


def _raise_kept() -> None:
    error = _kept.error
    if error is not None:
        _kept.error = None
        raise error from None


def deep_copy(tensor: Any, memo: dict[int, Any]) -> torch.Tensor:
    """copy.deepcopy of a leaf: its own storage, its gradient and whether it is a parameter."""
    if id(tensor) in memo:
        return memo[id(tensor)]  # type: ignore[no-any-return]
    if not tensor.is_leaf:
        raise RuntimeError("only tensors created explicitly by the user (graph leaves) support deepcopy")
    with torch.no_grad():
        copied: Any = tensor.detach().clone()
        if getattr(tensor, "_is_param", False):
            copied = torch.nn.Parameter(copied, tensor.requires_grad)
        else:
            copied.requires_grad_(tensor.requires_grad)
        if tensor.grad is not None:
            copied.grad = deep_copy(tensor.grad, memo)
    memo[id(tensor)] = copied
    return copied  # type: ignore[no-any-return]


def register() -> None:
    """Put the wrapper where PyTorch looks the engine up."""
    for module in (graph, torch.autograd):
        module._engine_run_backward = run_backward  # type: ignore[attr-defined]
