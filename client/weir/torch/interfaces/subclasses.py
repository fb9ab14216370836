"""Classes of tensors that others have written, shown on the device: `x.as_subclass(Image)`, `image.to("weir")`.

A tensor of the device is of Python's making, so PyTorch cannot give the same tensor a second class. It gets one that is
both: what the class says is done, what it leaves to PyTorch is done by the device.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch

from weir.torch import tensor as tensors
from weir.torch.tensor import RemoteTensor

_plain_as_subclass: Any = torch.Tensor.as_subclass
_plain_make_subclass: Any = torch.Tensor._make_subclass
# Kept by the device itself, not by who wrote the class.
_OWN = frozenset({"_remote", "_is_param"})


class Shown(RemoteTensor):
    """A tensor of the device under another class, `shows`, which stands before this one."""

    shows: type[torch.Tensor]

    @classmethod
    def __torch_function__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """As PyTorch's own: results are of the class too, here and on the device."""
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        if func in torch.overrides.get_default_nowrap_functions():
            return result
        return torch._tensor._convert(result, cls.shows)  # type: ignore[no-untyped-call]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Of its class again when it is read, on the CPU or the device, with the attributes it was given."""
        function, arguments = as_subclass(self, torch.Tensor).__reduce_ex__(protocol)[:2]
        return torch._tensor._rebuild_from_type_v2, (function, type(self).shows, arguments, _given(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        copied = super().__deepcopy__(memo)
        copied.__dict__.update(copy.deepcopy(_given(self), memo))
        return copied


def _given(tensor: torch.Tensor) -> dict[str, Any]:
    """The attributes that its class or its user gave it."""
    return {name: value for name, value in tensor.__dict__.items() if name not in _OWN}


@functools.cache
def _shown(kind: Any) -> type[RemoteTensor]:
    """The class of tensors of the device that are of `kind` as well. Raises TypeError where there can be none."""
    if kind in (torch.Tensor, torch.nn.Parameter):
        return RemoteTensor
    if issubclass(kind, RemoteTensor):
        return kind  # type: ignore[no-any-return]
    names = {
        "shows": kind,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    return type(kind)(kind.__name__, (kind, Shown), names)  # type: ignore[no-any-return]


def as_subclass(tensor: Any, cls: Any) -> Any:
    """torch.Tensor.as_subclass, for tensors of the device too: the same elements, gradients flow through."""
    if not isinstance(tensor, RemoteTensor):
        return _plain_as_subclass(tensor, cls)
    return _view(torch.ops.aten.alias.default, tensor, cls)


def _make_subclass(cls: Any, data: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
    """torch.Tensor._make_subclass, by which constructors of such classes make what they return: a leaf. torch.compile
    looks at its arguments' names."""
    if not isinstance(data, RemoteTensor):
        return _plain_make_subclass(cls, data, requires_grad, **kwargs)
    made = _view(torch.ops.aten.detach.default, data, cls)
    return made.requires_grad_(kwargs.get("require_grad", requires_grad))


def _view(func: Any, tensor: Any, kind: Any) -> Any:
    with torch._C.DisableTorchFunctionSubclass(), tensors.made_as(_shown(kind)):
        made = func(tensor)
    if kind is torch.nn.Parameter:
        made._is_param = True
    return made


def register() -> None:
    torch.Tensor.as_subclass = as_subclass  # type: ignore[method-assign,assignment]
    torch.Tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[method-assign,assignment]
