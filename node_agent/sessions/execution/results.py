"""Outputs of operators: compared with what the client expects, or described to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from node_agent.sessions.execution.handle_table import Table
from node_agent.sessions.execution.template import Template, name_of
from weir_wire import wire
from weir_wire.wire import WireError


class Mismatch(Exception):
    """The operator gave other tensors than the client counts on."""


def flatten(result: Any) -> list[Any]:
    """Tensors and Nones of a result, lists opened, in order."""
    if isinstance(result, torch.Tensor) or result is None:
        return [result]
    if isinstance(result, list | tuple):
        return [one for row in result for one in flatten(row)]
    raise Mismatch(f"a {type(result).__name__} where a tensor was expected: such operators need a CALL")


def check(template: Template, found: list[Any], inputs: list[torch.Tensor]) -> None:
    """Compare outputs with the template's, on its first run. Raises Mismatch."""
    if len(found) != len(template.outs):
        raise Mismatch(f"{len(found)} outputs, not {len(template.outs)}")
    owned = {one.untyped_storage()._cdata for one in inputs}
    for tensor, out in zip(found, template.outs, strict=True):
        if out is None:
            continue
        if tensor is None:
            raise Mismatch("an output is None")
        check_kept(tensor, template.device)
        shape, stride, dtype = out
        if tuple(tensor.shape) != shape or tensor.dtype is not dtype:
            raise Mismatch(f"{list(tensor.shape)} {tensor.dtype}, not {list(shape)} {dtype}")
        if _strides_differ(tensor, stride):
            if tensor.untyped_storage()._cdata in owned:
                raise Mismatch(f"a view with strides {tensor.stride()}, not {stride}")
            template.restrides = True
    template.is_checked = True


def check_kept(tensor: torch.Tensor, device: torch.device) -> None:
    """Only plain tensors of the session's device can be kept. Raises Mismatch."""
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise Mismatch("sessions hold strided tensors only")
    if tensor.device.type != device.type:
        raise Mismatch(f"a tensor on {tensor.device}, not on the session's device")


def _strides_differ(tensor: torch.Tensor, stride: tuple[int, ...]) -> bool:
    if not tensor.numel():
        return False
    rows = zip(tensor.shape, tensor.stride(), stride, strict=True)
    return any(size > 1 and mine != theirs for size, mine, theirs in rows)


def restride(template: Template, found: list[Any]) -> list[Any]:
    """The outputs in the strides the client counts on."""
    return [
        _copy(tensor, out) if out is not None and _strides_differ(tensor, out[1]) else tensor
        for tensor, out in zip(found, template.outs, strict=True)
    ]


def _copy(tensor: torch.Tensor, out: Any) -> torch.Tensor:
    shape, stride, dtype = out
    return torch.empty_strided(shape, stride, dtype=dtype, device=tensor.device).copy_(tensor)


class Describer:
    """Writes a result down as a node, keeping its tensors under fresh handles (CALL)."""

    def __init__(self, table: Table, handles: Iterator[int], device: torch.device) -> None:
        self._table, self._handles, self._device = table, handles, device
        self.kept: list[int] = []

    def node(self, value: Any, depth: int = 0) -> list[Any]:
        """Raises Mismatch, WireError, OutOfMemory; `kept` then says what to free."""
        if isinstance(value, torch.Tensor):
            return self._keep(value)
        if isinstance(value, list | tuple):
            if depth > wire.MAX_DEPTH:
                raise Mismatch("a result nested too deep")
            return ["l", [self.node(one, depth + 1) for one in value]]
        if value is None or isinstance(value, bool | int | str):
            return ["c", value]
        if isinstance(value, float | complex):
            return wire.float_node(value)
        if isinstance(value, torch.dtype):
            return ["d", name_of(value)]
        raise Mismatch(f"a {type(value).__name__} cannot be sent")

    def _keep(self, tensor: torch.Tensor) -> list[Any]:
        check_kept(tensor, self._device)
        if name_of(tensor.dtype) not in wire.DTYPE_BYTES:
            raise Mismatch(f"{tensor.dtype} cannot be sent")
        handle = next(self._handles, None)
        if handle is None:
            raise WireError("more results than there is room for")
        self._table.put(handle, tensor)
        self.kept.append(handle)
        shape, stride = list(tensor.shape), list(tensor.stride())
        return ["t", handle, shape, stride, tensor.storage_offset(), name_of(tensor.dtype)]
