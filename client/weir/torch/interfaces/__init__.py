"""What PyTorch's other parts and its libraries expect of any accelerator, beside operators."""

from __future__ import annotations

import torch

from weir.torch.interfaces import (
    accelerator,
    generators,
    lightning_trainers,
    modules,
    parallel,
    pinning,
    safetensors_files,
    streams,
    subclasses,
)


def register(aten: torch.library.Library) -> None:
    """Put all of them in place, once."""
    pinning.register(aten)
    generators.register()
    streams.register()
    accelerator.register()
    modules.register()
    subclasses.register()
    parallel.register()
    safetensors_files.register()
    lightning_trainers.register()
