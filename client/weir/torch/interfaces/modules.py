"""Modules and parameters that move to the device keep who they are: optimizers, hooks and weak references go on."""

from __future__ import annotations

import copyreg
import functools
import threading
from typing import Any

import torch

from weir.torch.tensor import RemoteTensor

_plain_swap: Any = torch.utils.swap_tensors
_plain_apply: Any = torch.nn.Module._apply
_data: Any = torch.Tensor.data
_converting = threading.local()


def _swap(t1: Any, t2: Any) -> None:
    """torch.utils.swap_tensors, which refuses where there are weak references. Those of Python follow the object,
    so they show what it has become; where both are tensors of the CPU, PyTorch's own is asked."""
    is_one_kind = isinstance(t1, RemoteTensor) == isinstance(t2, RemoteTensor)
    if (
        is_one_kind
        and getattr(_converting, "is_now", False)
        and torch._has_compatible_shallow_copy_type(t1, t2)
    ):
        _data_set(t1, t2)
        return
    if is_one_kind and not isinstance(t1, RemoteTensor):
        _plain_swap(t1, t2)
        return
    if copyreg._slotnames(type(t1)) != copyreg._slotnames(type(t2)):  # type: ignore[attr-defined]
        raise RuntimeError(f"a {type(t1).__name__} and a {type(t2).__name__} cannot be swapped: other slots")
    for tensor in (t1, t2):
        _leave_graph(tensor)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    torch._C._swap_tensor_impl(t1, t2)


@functools.wraps(_plain_apply)
def _apply(self: Any, fn: Any, *args: Any, **kwargs: Any) -> Any:
    """Module.to, half, cpu and their like. A parameter that stays where it is gets its new elements as without this
    device: the graph of a forward pass goes on, and a move to where the module is already is none."""
    before = getattr(_converting, "is_now", False)
    _converting.is_now = True
    try:
        return _plain_apply(self, fn, *args, **kwargs)
    finally:
        _converting.is_now = before


def _leave_graph(tensor: Any) -> None:
    """A graph that has used a leaf can no more run backward once it moves: it holds what the leaf was. Raises
    RuntimeError for a tensor that was computed."""
    if not tensor.is_leaf:
        raise RuntimeError("a tensor that was computed cannot move: detach it first")
    if tensor.requires_grad and tensor._use_count() > 1:
        torch.autograd.graph.get_gradient_edge(tensor).node.register_prehook(_moved)


def _moved(gradients: Any) -> Any:
    raise RuntimeError(
        "a parameter has moved between forward and backward: move the module before forward, or after both"
    )


def _data_set(tensor: Any, value: torch.Tensor) -> None:
    """`p.data = p.data.to("weir")` too, which PyTorch refuses: a tensor of the CPU and one of ours are two kinds."""
    if isinstance(value, RemoteTensor) == isinstance(tensor, RemoteTensor):
        _data.__set__(tensor, value)
        if isinstance(value, RemoteTensor):
            tensor._remote = value._remote
        return
    is_parameter = isinstance(tensor, torch.nn.Parameter)
    with torch.no_grad():
        made: Any = value.detach()
        if is_parameter:
            made = torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
    gradient, tensor.grad = tensor.grad, None
    _swap(tensor, made)
    if gradient is not None and gradient.device == tensor.device:
        tensor.grad = gradient


def register() -> None:
    torch.utils.swap_tensors = _swap
    torch.nn.Module._apply = _apply  # type: ignore[method-assign]
    torch.__future__.set_swap_module_params_on_conversion(True)
    for kind in (torch.nn.Parameter, RemoteTensor):
        kind.data = property(_data.__get__, _data_set)  # type: ignore[assignment,method-assign]
