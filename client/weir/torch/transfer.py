"""Bytes between this process and the devices: upload, download, copies from device to device."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import torch

from weir.torch.device import Device, Handle, handle_of
from weir.torch.metas import Meta, contiguous_meta
from weir.torch.templates import DTYPE_NAMES
from weir.torch.tensor import RemoteTensor, wrap

# Who may hold a handle that one tensor alone uses: the tensor, the local name, getrefcount's argument.
REFERENCES_OF_ONE_TENSOR = 3


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The memory of a contiguous CPU tensor, writable; it keeps the tensor alive."""
    nbytes = tensor.numel() * tensor.itemsize
    if not nbytes:
        return memoryview(b"")
    memory = (ctypes.c_char * nbytes).from_address(tensor.data_ptr())
    # Whoever still reads or fills the memory, as a thread does whose waiter was interrupted, keeps the tensor alive.
    memory.tensor = tensor  # type: ignore[attr-defined]
    return memoryview(memory).cast("B")


def upload(tensor: torch.Tensor, device: Device) -> RemoteTensor:
    """A contiguous copy of a CPU tensor on the device. Raises torch.OutOfMemoryError."""
    return wrap(_uploaded(tensor, device))


def _uploaded(tensor: torch.Tensor, device: Device) -> Handle:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.dtype not in DTYPE_NAMES:
        raise NotImplementedError(
            f"the device weir holds dense tensors, not {tensor.layout} of {tensor.dtype}"
        )
    source = tensor.detach().resolve_conj().resolve_neg().contiguous()
    meta = contiguous_meta(tuple(source.shape), source.dtype, device.index)
    return device.upload(bytes_of(source), meta, DTYPE_NAMES[source.dtype])


def download(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in this process, of the same strides where they are dense; waits for the worker."""
    handle = handle_of(tensor)
    meta = handle.meta
    landed = torch.empty(meta.size, dtype=meta.dtype, device="cpu")
    if landed.numel():
        handle.device.read(handle, landed.numel() * landed.itemsize, bytes_of(landed))
    if meta.is_contiguous:
        return landed
    return torch.empty_like(meta.shadow(), device="cpu").copy_(landed)


def to_copy(tensor: torch.Tensor, device: torch.device, target: Device | None) -> torch.Tensor:
    """A copy on another device; `target` is it where it is a weir device."""
    if device.type == "meta":
        return torch.empty_like(handle_of(tensor).meta.shadow())
    landed = download(tensor)
    if target is None:
        return landed.to(device)
    if landed.is_contiguous():
        return upload(landed, target)
    room = torch.empty_strided(
        tuple(landed.shape), landed.stride(), dtype=landed.dtype, device=target.torch_device
    )
    return room.copy_(landed)


def replace_contents(target: Any, source: torch.Tensor) -> bool:
    """Give `target` the uploaded bytes instead of its own, where nobody else shows them; whether it could.

    What `x.to("weir")` does is an empty tensor and a copy into it: this saves the copy, and its memory.
    """
    handle = handle_of(target)
    meta = handle.meta
    is_whole = handle.base is None and meta.is_contiguous and not meta.offset
    is_dense = source.layout is torch.strided and not source.is_quantized
    is_alike = is_dense and source.dtype is meta.dtype and tuple(source.shape) == meta.size
    if not (is_whole and is_alike) or sys.getrefcount(handle) > REFERENCES_OF_ONE_TENSOR:
        return False
    device = handle.device
    target._remote = None
    del handle
    try:
        target._remote = _uploaded(source, device)
    except BaseException:
        target._remote = _blank(device, meta)
        raise
    return True


def _blank(device: Device, meta: Meta) -> Handle:
    """A handle for a tensor whose own was given up for contents that did not arrive."""
    try:
        return handle_of(torch.empty(meta.size, dtype=meta.dtype, device=device.torch_device))
    except (RuntimeError, OSError):
        # No room, or no session: whatever uses it says so.
        return Handle(device, meta, 0)
