"""The memory of a session: the storages its tensors hold, each counted once, against its quota (POOL-7.3b)."""

from __future__ import annotations

import torch

_MIB = 1 << 20


class OutOfMemory(Exception):
    """The session's quota, or the device, has no room for what was asked."""


class MemoryQuota:
    """Counts storages by the handles that hold them. Bytes; the quota is in whole MiB."""

    def __init__(self, quota_mib: int) -> None:
        self.quota_set(quota_mib)
        self.used_bytes = 0
        self.peak_bytes = 0
        self._held: dict[int, list[int]] = {}

    def quota_set(self, quota_mib: int) -> None:
        """Another quota from now on; what is held stays."""
        self.quota_mib, self.quota_bytes = quota_mib, quota_mib * _MIB

    def need(self, nbytes: int) -> None:
        """Raises OutOfMemory where so many more bytes would pass the quota."""
        if self.used_bytes + nbytes > self.quota_bytes:
            raise OutOfMemory(
                f"tried to allocate {nbytes / _MIB:.2f} MiB with {self.used_bytes / _MIB:.2f} MiB in use"
                f" of the session's {self.quota_mib} MiB"
            )

    def hold(self, tensor: torch.Tensor) -> None:
        """Count a handle that holds the tensor's storage. Raises OutOfMemory, then nothing was counted."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        row = self._held.get(key)
        if row is not None:
            row[0] += 1
            return
        nbytes = storage.nbytes()
        used_bytes = self.used_bytes + nbytes
        if used_bytes > self.quota_bytes:
            self.need(nbytes)
        self._held[key] = [1, nbytes]
        self.used_bytes = used_bytes
        if used_bytes > self.peak_bytes:
            self.peak_bytes = used_bytes

    def drop(self, tensor: torch.Tensor) -> None:
        """One handle fewer."""
        key = tensor.untyped_storage()._cdata
        row = self._held[key]
        row[0] -= 1
        if not row[0]:
            self.used_bytes -= row[1]
            del self._held[key]

    def recount(self, tensor: torch.Tensor) -> None:
        """An operator may have grown the storage. Raises OutOfMemory, then the storage is emptied."""
        storage = tensor.untyped_storage()
        row = self._held[storage._cdata]
        more = storage.nbytes() - row[1]
        try:
            self.need(max(more, 0))
        except OutOfMemory:
            storage.resize_(0)
            self.used_bytes -= row[1]
            row[1] = 0
            raise
        self.used_bytes += more
        row[1] += more
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)
