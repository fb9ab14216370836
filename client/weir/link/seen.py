"""Which contents this client has uploaded before: what comes a third time is sent as a digest only (ELA-1207)."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

WORTH_IT = 256 << 10
"""Smaller tensors are sent as they are: asking would take longer."""
_LIMIT = 4096


class Seen:
    """Digests of past uploads, the latest few thousand."""

    def __init__(self) -> None:
        self._times: OrderedDict[bytes, int] = OrderedDict()

    @staticmethod
    def digest(data: memoryview) -> bytes:
        """SHA-256 of the content."""
        return hashlib.sha256(data).digest()

    def count(self, digest: bytes) -> int:
        """How often it came before now."""
        times = self._times.pop(digest, 0)
        self._times[digest] = times + 1
        if len(self._times) > _LIMIT:
            self._times.popitem(last=False)
        return times

    def forget(self, digest: bytes) -> None:
        """The worker does not have it any more: the next one counts as the second."""
        self._times[digest] = 1
