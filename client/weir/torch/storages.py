"""What stands for a tensor's storage: libraries ask which tensors share one, and how large it is, before they save."""

from __future__ import annotations

from typing import Any

import torch

from weir.torch.device import Handle

# No storage is larger, so that addresses of two never overlap.
_ROOM_BITS = 40


class RemoteStorage:
    """The memory at the session that one or more tensors show. Its address is a name, and no place to read from."""

    def __init__(self, handle: Handle) -> None:
        while handle.base is not None:
            handle = handle.base
        self._root = handle

    @property
    def device(self) -> torch.device:
        return self._root.meta.device

    def data_ptr(self) -> int:
        """An address in bytes that all tensors showing this memory have in common, and no others while it is held."""
        return self._root.id << _ROOM_BITS

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def nbytes(self) -> int:
        """Its size in bytes."""
        return self._root.meta.storage_nbytes

    size = __len__ = nbytes

    def is_shared(self) -> bool:
        return False

    def resize_(self, size: int) -> Any:
        """Nothing. Emptied memory is kept: fully_shard empties what it will fill again. Raises RuntimeError for any
        other size than it has."""
        if size not in (0, self.nbytes()):
            raise RuntimeError("memory of the device weir cannot be resized: make a new tensor")
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteStorage) and other._root is self._root

    def __hash__(self) -> int:
        return hash(self.data_ptr())


def address(handle: Handle) -> int:
    """Where a tensor's first element is, as `RemoteStorage.data_ptr` counts."""
    return RemoteStorage(handle).data_ptr() + handle.meta.offset * handle.meta.dtype.itemsize
