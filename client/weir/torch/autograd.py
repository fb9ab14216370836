"""Backward passes over the device: both of PyTorch's pitfalls for Python devices, cured here.

1. PyTorch's device guard for Python devices counts one device, so the engine's worker threads refuse weir:1.
   Backward therefore runs in the calling thread.
2. The engine's guards ask `Guard.type_` while an exception of a Python hook, operator or Function passes them. Python
   code that returns while an error is set is an error itself, in a place that may not throw: the process aborts.
   So `type_` takes the error away first, and the wrapper around the engine raises it.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch.autograd import graph

_engine = graph._engine_run_backward
_kept = threading.local()
_TYPE = torch._C._autograd.DeviceType.PrivateUse1
# What the engine says of a graph on another accelerator than the one that PyTorch takes for its only one.
_STREAMS = "opt_ready_stream && opt_parent_stream"
# Any C function: one that returns while an error is set raises SystemError, with that error as its cause.
_probe = threading.get_ident


class Guard(torch._C._acc.DeviceGuard):
    """What PyTorch's C++ asks of the device; also the place where an error on its way out is saved."""

    def type_(self) -> Any:
        try:
            _probe()
        except SystemError as found:
            keep(found.__cause__ or found)
        return _TYPE


def keep(error: BaseException) -> None:
    """Remember the latest error of this backward pass; a SystemError only tells that an earlier one was taken away."""
    if not isinstance(error, SystemError) or getattr(_kept, "error", None) is None:
        _kept.error = error


def run_backward(*args: Any, **kwargs: Any) -> Any:
    """The engine, in this thread, raising what went wrong in its operators, hooks and Functions."""
    outer, _kept.error = getattr(_kept, "error", None), None
    try:
        with torch.autograd.set_multithreading_enabled(False):
            return _engine(*args, **kwargs)
    except SystemError:
        if _kept.error is None:
            raise
        raise _kept.error from None
    except RuntimeError as error:
        if _STREAMS not in str(error):
            raise
        raise RuntimeError(
            "PyTorch knows one kind of accelerator a process, and in this one that is weir: train on this machine's"
            " own card in a process of its own, one that does not import weir.torch"
        ) from error
    finally:
        _kept.error = outer


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
