"""The random state of a session's device: seeded, told and set as torch does it locally."""

from __future__ import annotations

import torch

from node_agent.sessions.execution.tensors import bytes_of
from weir_wire.wire import WireError

_LARGEST_STATE = 1 << 16


def rng_seed(device: torch.device, seed: int) -> None:
    """Seed the default generator of the device."""
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        getattr(torch, device.type).manual_seed(seed)


def rng_get(device: torch.device) -> bytes:
    """The generator's whole state."""
    return bytes(bytes_of(_state(device)))


def rng_tensor(device: torch.device) -> torch.Tensor:
    """The generator's whole state as a uint8 tensor of the device."""
    return _state(device).to(device)


def _state(device: torch.device) -> torch.Tensor:
    state: torch.Tensor = _module(device).get_rng_state(*_where(device))
    return state


def rng_set(device: torch.device, state: bytes) -> None:
    """Put a state back. Raises WireError for what is none."""
    if not 0 < len(state) <= _LARGEST_STATE:
        raise WireError("a random state of impossible size")
    tensor = torch.frombuffer(bytearray(state), dtype=torch.uint8)
    try:
        _module(device).set_rng_state(tensor, *_where(device))
    except (RuntimeError, TypeError) as error:
        raise WireError("this is no random state") from error


def _module(device: torch.device):  # type: ignore[no-untyped-def]
    return torch.random if device.type == "cpu" else getattr(torch, device.type)


def _where(device: torch.device) -> tuple[torch.device, ...]:
    return () if device.type == "cpu" else (device,)
