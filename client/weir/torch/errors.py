"""How the worker's word of failure becomes a PyTorch error."""

from __future__ import annotations

import torch

from weir_wire.wire import Fault, SessionFault


class NotAttached(RuntimeError):
    """A device was named that no session stands behind."""


def torch_error(index: int, failure: SessionFault) -> RuntimeError:
    """The error to raise for faults found at the worker since the last reply; memory comes first."""
    for fault in failure.faults:
        if fault.code == "out_of_memory":
            return torch.OutOfMemoryError(f"weir:{index}: {fault}")
    return RuntimeError(f"weir:{index}: {_joined(failure.faults)}")


def _joined(faults: tuple[Fault, ...]) -> str:
    text = "; ".join(map(str, faults))
    return (
        f"{text} (operators run asynchronously: the line above may be a later one than the cause; "
        "WEIR_LAUNCH_BLOCKING=1 finds it)"
    )


def out_of_memory(index: int, asked: int, used: int, quota: int) -> torch.OutOfMemoryError:
    """The error at the line that asks for more than the share holds."""
    return torch.OutOfMemoryError(
        f"weir:{index}: out of memory. Tried to allocate {asked / 2**20:.2f} MiB; in use {used / 2**20:.2f} MiB"
        f" of the quota of {quota >> 20} MiB. Free tensors or ask for a share with more memory."
    )


def mixed_devices(one: object, other: object) -> RuntimeError:
    """The error for tensors on two devices, in the words of PyTorch's own."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {one} and {other}!"
    )
