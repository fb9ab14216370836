"""Groups of gloo over tensors of the device: they travel by way of this process's memory and the group's own transport
for the CPU, and the results go back to the device."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_map

from weir.torch import transfer
from weir.torch.tensor import RemoteTensor


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run one of c10d's operators on copies in this process, wait for it, and put back what it has written."""
    landed: dict[int, tuple[RemoteTensor, torch.Tensor]] = {}

    def here(value: Any) -> Any:
        if not isinstance(value, RemoteTensor):
            return value
        if id(value) not in landed:
            landed[id(value)] = value, transfer.download(value)
        return landed[id(value)][1]

    result = func(*tree_map(here, args), **tree_map(here, kwargs))
    for work in _works(result):
        work.wait()
    with torch.no_grad():
        for there, copy in landed.values():
            there.copy_(copy)
    back = {id(copy): there for there, copy in landed.values()}
    return tree_map(lambda value: back.get(id(value), value), result)


def _works(result: Any) -> list[Any]:
    """What of an operator's result is to be waited for."""
    found = result if isinstance(result, (list, tuple)) else [result]
    return [one for one in found if hasattr(one, "wait") and not isinstance(one, torch.Tensor)]


def register() -> None:
    """Let groups of gloo take tensors of the device."""
    gloo = torch.distributed.Backend.backend_capability["gloo"]
    if "weir" not in gloo:
        gloo.append("weir")
