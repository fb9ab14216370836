"""A share of a remote accelerator as the PyTorch device "weir": `import weir.torch`, then `device="weir:0"`."""

from weir.torch.devices import attach, detach
from weir.torch.errors import NotAttached
from weir.torch.interfaces.backend import (
    current_device,
    device_count,
    is_available,
    max_memory_allocated,
    mem_get_info,
    memory_allocated,
    set_device,
    synchronize,
)
from weir.torch.registration import register
from weir.torch.rng import get_rng_state, manual_seed, set_rng_state

__all__ = [
    "NotAttached",
    "attach",
    "current_device",
    "detach",
    "device_count",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "set_device",
    "set_rng_state",
    "synchronize",
]

register()
