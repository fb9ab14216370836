"""Random numbers are drawn at the worker: seeding and saving its state, without waiting for it."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import checkpoint

from weir.torch import devices, transfer
from weir.torch.device import handle_of
from weir.torch.metas import contiguous_meta
from weir.torch.tensor import RemoteTensor, wrap
from weir_wire import wire
from weir_wire.wire import Kind

GET, KEEP, RESTORE = b"\1", b"\3", b"\4"
manual_seed_all = devices.seed_all
_states_of_arguments = checkpoint.get_device_states


def manual_seed(seed: int) -> None:
    """Seed the current device."""
    devices.get().seed(seed)


def get_rng_state(device: devices.Place = None) -> torch.Tensor:
    """The state as a uint8 tensor of the device: it stays there, so nothing waits; `.cpu()` reads it."""
    place = devices.get(device)
    if place.rng_nbytes is None:
        place.rng_nbytes = len(place.request(Kind.RNG, GET))
    meta = contiguous_meta((place.rng_nbytes,), torch.uint8, place.index)
    handle = place.allocate(meta)
    place.send(Kind.RNG, KEEP, wire.HANDLE.pack(handle.id))
    return wrap(handle)


def set_rng_state(state: torch.Tensor, device: devices.Place = None) -> None:
    """Put a state back that `get_rng_state` gave, of this device or read from one of the same kind."""
    place = devices.get(device)
    if not isinstance(state, RemoteTensor) or handle_of(state).device is not place:
        state = transfer.upload(state.cpu(), place)
    place.send(Kind.RNG, RESTORE, wire.HANDLE.pack(handle_of(state).id))


def get_rng_state_all() -> list[torch.Tensor]:
    """The state of each device."""
    return [get_rng_state(index) for index in range(devices.count())]


def set_rng_state_all(states: list[torch.Tensor]) -> None:
    """Put the state of each device back."""
    for index, state in enumerate(states):
        set_rng_state(state, index)


def _states_of_all(*args: Any) -> tuple[list[int], list[torch.Tensor]]:
    """What a checkpointed function may draw from: every device of ours, whatever its arguments are.

    PyTorch looks at positional arguments only; a function that has its tensors from keywords or from around it would
    draw another dropout when it is run again, and give wrong gradients without an error.
    """
    if checkpoint._infer_device_type(*args) != "weir":
        return _states_of_arguments(*args)  # type: ignore[no-any-return]
    found = [device.index for device in devices.attached()]
    return found, [get_rng_state(index) for index in found]


def register() -> None:
    """Let checkpointed functions draw alike when they are run again."""
    checkpoint.DefaultDeviceType.set_device_type("weir")
    checkpoint.get_device_states = _states_of_all
