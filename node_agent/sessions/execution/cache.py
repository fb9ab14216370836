"""What a session's client has uploaded more than once, by content: the next time a digest is enough (ELA-1207).

It is the session's own and dies with it; it lies in main memory and is no part of the device's quota.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

LIMIT_BYTES = 128 << 20


class UploadCache:
    """Bytes by SHA-256; what was not asked for longest gives way."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._rows: OrderedDict[bytes, bytes] = OrderedDict()
        self.used_bytes = 0

    def remember(self, data: memoryview) -> None:
        """Keep these bytes; more than the whole cache holds are not kept."""
        if len(data) > self._limit_bytes:
            return
        digest = hashlib.sha256(data).digest()
        if digest not in self._rows:
            self._rows[digest] = bytes(data)
            self.used_bytes += len(data)
        while self.used_bytes > self._limit_bytes:
            _digest, gone = self._rows.popitem(last=False)
            self.used_bytes -= len(gone)

    def find(self, digest: bytes) -> bytes | None:
        """The bytes, or None."""
        if digest in self._rows:
            self._rows.move_to_end(digest)
        return self._rows.get(digest)
