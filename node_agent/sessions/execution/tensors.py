"""Bytes in and out of tensors, without numpy and without copies that can be avoided."""

from __future__ import annotations

import ctypes

import torch

from node_agent.sessions.execution.template import dtype_of
from weir_wire.wire import Upload, WireError


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The contiguous bytes of a tensor; on the CPU they are its own memory, not a copy, where they can be."""
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    nbytes = plain.numel() * plain.itemsize
    if not nbytes:
        return memoryview(b"")
    array = (ctypes.c_char * nbytes).from_address(plain.data_ptr())
    array._tensor = plain  # type: ignore[attr-defined]  # the view keeps the memory alive
    return memoryview(array).cast("B")


def storage_bytes(storage: torch.UntypedStorage) -> memoryview:
    """All bytes of a storage."""
    flat = torch.empty(0, dtype=torch.uint8, device=storage.device)
    return bytes_of(flat.set_(storage, 0, (storage.nbytes(),), (1,)))


def blank(dtype: str, shape: list[int], device: torch.device) -> torch.Tensor:
    """A contiguous tensor to be written by `write`.

    Memory of a card may hold what others left there, so it is zeroed (ELA-1305); main memory of this process
    holds nothing but this session's own.
    """
    make = torch.empty if device.type == "cpu" else torch.zeros
    return make(shape, dtype=dtype_of(dtype), device=device)


def write(tensor: torch.Tensor, upload: Upload) -> None:
    """Put a chunk into a tensor that `blank` made. Raises WireError where it is not the one meant."""
    is_same = tensor.dtype is dtype_of(upload.dtype) and list(tensor.shape) == upload.shape
    is_within = upload.offset + len(upload.data) <= upload.total <= tensor.untyped_storage().nbytes()
    if not is_same or not is_within or not tensor.is_contiguous():
        raise WireError("a chunk of another tensor than the upload began with")
    write_at(tensor, upload.offset, upload.data)


def write_at(tensor: torch.Tensor, offset: int, data: memoryview) -> None:
    """Put bytes into a contiguous tensor, from a byte offset on."""
    if not len(data):
        return
    if tensor.device.type == "cpu":
        source = (ctypes.c_char * len(data)).from_buffer(data) if not data.readonly else bytes(data)
        ctypes.memmove(tensor.data_ptr() + offset, source, len(data))
        return
    chunk = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    tensor.reshape(-1).view(torch.uint8)[offset : offset + len(data)].copy_(chunk)
