"""Tensors as rows of elements in this machine's memory: what collectives send, receive and reduce."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import torch

from node_agent.sessions.execution import tensors
from node_agent.sessions.execution.memory import MemoryQuota
from node_agent.sessions.execution.results import Mismatch
from weir_wire import wire

Reducer = Callable[[torch.Tensor, torch.Tensor], object]


def _into(function: Callable[..., torch.Tensor]) -> Reducer:
    return lambda mine, theirs: function(mine, theirs, out=mine)


REDUCERS: dict[str, Reducer] = {
    "sum": _into(torch.add),
    "avg": _into(torch.add),
    "product": _into(torch.mul),
    "min": _into(torch.minimum),
    "max": _into(torch.maximum),
    "band": _into(torch.bitwise_and),
    "bor": _into(torch.bitwise_or),
    "bxor": _into(torch.bitwise_xor),
}


class Flat:
    """The elements of a tensor in a row; of one elsewhere or with gaps a copy, which `put_back` writes to it."""

    def __init__(self, tensor: torch.Tensor, memory: MemoryQuota) -> None:
        """Raises OutOfMemory where a copy has no room."""
        self.tensor = tensor
        is_plain = tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()
        self._is_copy = tensor.device.type != "cpu" or not is_plain
        if self._is_copy:
            memory.need(tensor.numel() * tensor.itemsize)
            tensor = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
        self.data = tensor.view(-1)

    def put_back(self) -> None:
        """After the elements were written to."""
        if self._is_copy:
            self.tensor.copy_(self.data.view(self.tensor.shape))


def parts_of(flats: list[Flat], count: int, splits: list[int]) -> list[torch.Tensor]:
    """Rows for `count` ranks: one tensor for each, or one for all, cut evenly or as `splits` says. Raises Mismatch."""
    if len(flats) == count and not splits:
        return [flat.data for flat in flats]
    if len(flats) != 1:
        raise Mismatch(f"{len(flats)} tensors for {count} ranks")
    data = flats[0].data
    if not splits:
        if len(data) % count:
            raise Mismatch(f"{len(data)} elements cannot be cut evenly for {count} ranks")
        splits = [len(data) // count] * count
    if len(splits) != count or sum(splits) != len(data):
        raise Mismatch(f"the parts have {sum(splits)} elements, the tensor {len(data)}")
    return list(torch.split(data, splits))


def pieces(data: torch.Tensor) -> Iterator[torch.Tensor]:
    """The row in pieces that each fit a frame."""
    most = wire.CHUNK_BYTES // data.itemsize
    for begin in range(0, len(data), most):
        yield data[begin : begin + most]


def packed(piece: torch.Tensor) -> bytes:
    """A copy of the bytes."""
    return bytes(tensors.bytes_of(piece))


class Scratch:
    """Room for one piece that came: aligned, as frames are not."""

    def __init__(self) -> None:
        self._room = torch.empty(wire.CHUNK_BYTES, dtype=torch.uint8)

    def of(self, data: memoryview, like: torch.Tensor) -> torch.Tensor:
        """The bytes as elements; valid until the next call."""
        put(self._room, data)
        return self._room[: len(data)].view(like.dtype)


def put(piece: torch.Tensor, data: memoryview) -> None:
    """Write bytes over a row."""
    if len(data):
        source = (ctypes.c_char * len(data)).from_buffer(data)
        ctypes.memmove(piece.data_ptr(), source, len(data))


def averaged(data: torch.Tensor, count: int) -> None:
    """Divide a sum by the number of ranks; whole numbers are cut off."""
    if data.is_floating_point() or data.is_complex():
        data.div_(count)
    else:
        data.div_(count, rounding_mode="trunc")
