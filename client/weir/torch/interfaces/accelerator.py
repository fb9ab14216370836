"""torch.accelerator: the same calls for every vendor's device. PyTorch asks C++ for some, which knows no device in
Python; those are answered here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from weir.torch import devices
from weir.torch.interfaces import streams
from weir.torch.interfaces.backend import get_amp_supported_dtype
from weir.torch.templates import DTYPES


def _synchronize(index: int) -> None:
    devices.get(index).synchronize()


def _memory(index: int) -> tuple[int, int]:
    place = devices.get(index)
    return place.quota_bytes - place.memory_allocated(), place.quota_bytes


def _statistics(index: int) -> dict[str, Any]:
    place = devices.get(index)
    held = {"current": place.memory_allocated(), "peak": place.peak_bytes, "allocated": 0, "freed": 0}
    none = dict.fromkeys(held, 0)
    by_pool = {"all": held, "small_pool": none, "large_pool": none}
    names = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
    return {**dict.fromkeys(names, by_pool), "num_alloc_retries": 0, "num_ooms": 0}


def _forget_peak(index: int) -> None:
    place = devices.get(index)
    place.peak_bytes = place.memory_allocated()


def _use(stream: Any) -> None:
    devices.set_current(stream.device)


def _capability(index: int) -> dict[str, Any]:
    return {"supported_dtypes": {*DTYPES.values(), *get_amp_supported_dtype()}}


def _nothing(*_: Any) -> None:
    """A session keeps no cache."""


_ANSWERS: dict[str, Callable[..., Any]] = {
    "synchronizeDevice": _synchronize,
    "getMemoryInfo": _memory,
    "getDeviceStats": _statistics,
    "resetPeakStats": _forget_peak,
    "resetAccumulatedStats": _nothing,
    "emptyCache": _nothing,
    "emptyHostCache": _nothing,
    "isAllocatorInitialized": lambda: True,
    "getStream": streams.current_stream,
    "setStream": _use,
    "getDeviceCapability": _capability,
    "getDeviceIndex": devices.current_index,
    "setDeviceIndex": devices.set_current,
}


def _answer(name: str, ours: Callable[..., Any]) -> None:
    """Ask ours where a device weir is there, else as before; what this PyTorch does not ask is passed over."""
    full = f"_accelerator_{name}"
    plain = getattr(torch._C, full, None)
    if plain is None:
        return

    def asked(*args: Any) -> Any:
        return (ours if devices.count() else plain)(*args)

    setattr(torch._C, full, asked)


def register() -> None:
    for name, ours in _ANSWERS.items():
        _answer(name, ours)
