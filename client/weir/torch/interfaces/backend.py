"""What PyTorch asks of a device's module, as torch.cuda is for "cuda": here torch.weir, also found as weir.torch.*."""

from __future__ import annotations

import types
from typing import Any

import torch

from weir.torch import devices, rng

OutOfMemoryError = torch.OutOfMemoryError
SEEDING = (
    "manual_seed",
    "manual_seed_all",
    "get_rng_state",
    "set_rng_state",
    "get_rng_state_all",
    "set_rng_state_all",
)


def is_available() -> bool:
    """Whether there is a device: attached, or named by the session file."""
    return devices.count() > 0


def is_initialized() -> bool:
    return True


def device_count() -> int:
    """Devices attached, or that the session file names."""
    return devices.count()


def current_device() -> int:
    return devices.current_index()


def set_device(device: devices.Place) -> None:
    """Let "weir" without a number mean this device in this thread."""
    devices.set_current(device)


def synchronize(device: devices.Place = None) -> None:
    """Wait until everything sent has run. Raises what failed: RuntimeError, torch.OutOfMemoryError."""
    devices.get(device).synchronize()


def memory_allocated(device: devices.Place = None) -> int:
    """Bytes of this process's live tensors on the device; counted here, nothing waits."""
    return devices.get(device).memory_allocated()


def max_memory_allocated(device: devices.Place = None) -> int:
    """The most bytes held at once since the start or `reset_peak_memory_stats`."""
    return devices.get(device).peak_bytes


def reset_peak_memory_stats(device: devices.Place = None) -> None:
    found = devices.get(device)
    found.peak_bytes = found.memory_allocated()


def mem_get_info(device: devices.Place = None) -> tuple[int, int]:
    """Bytes free and bytes in all of the share."""
    found = devices.get(device)
    return found.quota_bytes - found.memory_allocated(), found.quota_bytes


def empty_cache() -> None:
    """A session keeps no cache: freed tensors give their memory back at once."""


def get_device_name(device: devices.Place = None) -> str:
    """What stands behind the device."""
    found = devices.get(device)
    return f"weir:{found.index}: {found.link.compute_percent} % of {found.link.device}"


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16]


def is_bf16_supported() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return devices.is_forked()


def backend_module() -> types.ModuleType:
    """The module torch.weir."""
    module: Any = types.ModuleType("torch.weir", __doc__)
    module.__dict__.update({n: v for n, v in globals().items() if callable(v) and n != "backend_module"})
    module.device = devices.chosen
    # What torch.utils.checkpoint reads to decide whether dropout must be drawn again alike.
    module._initialized = True
    for name in SEEDING:
        setattr(module, name, getattr(rng, name))
    return module  # type: ignore[no-any-return]
