"""torch.save and torch.load: copies in a file say where they belong, and become tensors of the device that
map_location names."""

from __future__ import annotations

from typing import Any

import torch

from weir.torch import devices, transfer

# Before PyTorch's own restorers, whose lowest number is 10.
PRIORITY = 5


class StorageFor(torch.UntypedStorage):
    """A CPU storage being loaded whose tensors shall be on another device; sent once for all of them."""

    target: torch.device
    sent: torch.Tensor | None

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return self.target

    def uploaded(self) -> torch.Tensor:
        """All its bytes on the device."""
        if self.sent is None:
            flat = torch.empty(0, dtype=torch.uint8).set_(self, 0, (self.nbytes(),), (1,))
            self.sent = transfer.upload(flat, devices.get(self.target))
        return self.sent


def _location(storage: Any) -> str | None:
    """torch.save's question where a storage belongs; None where that is no device of ours."""
    return getattr(storage, "weir_location", None)


def _restore(storage: Any, location: str) -> Any:
    """torch.load's word that a storage goes to `location`; None where that is no device of ours."""
    if not location.startswith("weir"):
        return None
    storage.__class__ = StorageFor
    storage.target, storage.sent = devices.get(location).torch_device, None
    return storage


def set_storage(target: Any, storage: Any, offset: int, size: Any, stride: Any = ()) -> Any:
    """Make an empty tensor of the device show a part of a storage that torch.load restores."""
    if not isinstance(storage, StorageFor):
        raise RuntimeError("tensors on the device weir cannot be given another storage: make a new one")
    shown = storage.uploaded().view(target.dtype).as_strided(size, stride, offset)
    target.data = shown
    return target


def register() -> None:
    torch.serialization.register_package(PRIORITY, _location, _restore)
