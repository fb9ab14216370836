"""torch.nn.DataParallel over several shares: PyTorch's CPU build lacks the copies to and fro, written in C++."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def _place(device: Any) -> torch.device:
    return torch.device("weir", device) if isinstance(device, int) else torch.device(device)


def _scatter(
    tensor: Any,
    places: Sequence[Any],
    sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
) -> tuple[torch.Tensor, ...]:
    """Parts of a tensor along `dim`, one for each device."""
    parts = tensor.split(list(sizes), dim) if sizes else tensor.chunk(len(places), dim)
    return tuple(part.to(_place(place)) for part, place in zip(parts, places, strict=False))


def _gather(tensors: Sequence[torch.Tensor], dim: int, destination: Any = None) -> torch.Tensor:
    """The parts as one tensor on a device; None is the first part's, -1 the CPU."""
    if destination == -1:
        target = torch.device("cpu")
    else:
        target = tensors[0].device if destination is None else _place(destination)
    return torch.cat([part.to(target) for part in tensors], dim)


def _broadcast(tensor: torch.Tensor, places: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """The tensor on each device."""
    return tuple(tensor.to(_place(place)) for place in places)


def _broadcast_coalesced(
    tensors: Sequence[torch.Tensor], places: Sequence[Any], buffer_size: int = 0
) -> list[list[torch.Tensor]]:
    """All the tensors on each device."""
    return [[tensor.to(_place(place)) for tensor in tensors] for place in places]


def register() -> None:
    """Fill what is not there; a build for other accelerators has its own."""
    for function in (_scatter, _gather, _broadcast, _broadcast_coalesced):
        if not hasattr(torch._C, function.__name__):
            setattr(torch._C, function.__name__, function)
