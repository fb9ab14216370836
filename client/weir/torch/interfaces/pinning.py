"""Pinned memory: host memory that a card reads by itself. A device across a network has no use for it.

Asked for, it is ordinary memory, as on other devices without it: scripts written for cards ask by default. `is_pinned`
says no of it, which is so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.jit import _builtins
from torch.utils import _device

_NEW = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros")


def _pinned(source: torch.Tensor, device: Any = None) -> torch.Tensor:
    """A tensor of the CPU as it is: copies from it to the device are asynchronous anyway."""
    return source.detach()


def _unpinned(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes tensors. With `pin_memory=True` PyTorch asks the accelerator for memory in C++, where a
    device of Python's making cannot answer: of the CPU's tensors it is taken out."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("pin_memory") and _place(args, kwargs).type == "cpu":
            kwargs["pin_memory"] = False
        return make(*args, **kwargs)

    return made


def _place(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.device:
    """Where the tensor shall be."""
    named = kwargs.get("device")
    if named is not None:
        return torch.device(named)
    like = args[0] if args else kwargs.get("input")
    return like.device if isinstance(like, torch.Tensor) else torch.get_default_device()


def _names() -> Iterator[str]:
    """The functions of `torch` that take the word."""
    yield "tensor"
    for name in {schema.name for schema in torch._C._jit_get_all_schemas() if _takes_it(schema)}:
        base = name.removeprefix("aten::")
        if name.startswith("aten::") and callable(getattr(torch, base, None)):
            yield base


def _takes_it(schema: Any) -> bool:
    return any(argument.name == "pin_memory" for argument in schema.arguments)


def register(aten: Any) -> None:
    aten.impl("_pin_memory", _pinned, "CPU")
    # Kept by PyTorch once it was asked for: torch.device("weir") as a context knows the functions as they were.
    _device._device_constructors()
    for name in _names():
        plain = getattr(torch, name)
        made = _unpinned(plain)
        # torch.jit.script knows functions by who they are.
        if builtin := _builtins._find_builtin(plain):  # type: ignore[no-untyped-call]
            _builtins._register_builtin(made, builtin)
        setattr(torch, name, made)
    for name in _NEW:
        setattr(torch.Tensor, name, _unpinned(getattr(torch.Tensor, name)))
