"""Pinned memory: host memory that a card reads by itself. A device across a network has no use for it.

Asked for, it is ordinary memory, as on other devices without it: scripts written for cards ask by default.
"""

from __future__ import annotations

from typing import Any

import torch


def _pinned(source: torch.Tensor, device: Any = None) -> torch.Tensor:
    """A tensor of the CPU as it is: copies from it to the device are asynchronous anyway."""
    return source.detach()


def register(aten: Any) -> None:
    aten.impl("_pin_memory", _pinned, "CPU")
