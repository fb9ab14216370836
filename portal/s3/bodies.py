"""Bodies as they arrive: plain or in S3's chunks, checked as they were signed, in pieces that are written at once.

No body is held in memory beyond a piece. What was promised of it, its digests and its length, is known to be so or not
when it has all been read: who reads it keeps nothing until then.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

from awscrt import checksums
from django.utils.translation import gettext as _

from portal.s3.errors import S3Error, incomplete, malformed, not_taken
from portal.s3.requests import S3Request
from portal.s3.signature import UNSIGNED, Signed, chunk_signature, trailer_signature

PIECE_BYTES = 4 * 2**20
_SMALL_BYTES = 64 * 1024
# So long may the next bytes take.
_WAIT_S = 60
_LINE_MOST = 4096
_CHUNK_MOST = 2**30
_TRAILER_MOST = 16
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})(?:;chunk-signature=([0-9a-f]{64}))?")
_KINDS = {
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD": (True, False),
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER": (True, True),
    "STREAMING-UNSIGNED-PAYLOAD-TRAILER": (False, True),
}


class _Crc:
    """A checksum that is carried on from piece to piece."""

    def __init__(self, function: Callable[..., int], size: int) -> None:
        self._function, self._size, self._value = function, size, 0

    def update(self, data: bytes) -> None:
        self._value = self._function(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._size, "big")


_CHECKSUMS: dict[str, Callable[[], Any]] = {
    "content-md5": lambda: hashlib.md5(usedforsecurity=False),
    "x-amz-checksum-crc32": lambda: _Crc(checksums.crc32, 4),
    "x-amz-checksum-crc32c": lambda: _Crc(checksums.crc32c, 4),
    "x-amz-checksum-crc64nvme": lambda: _Crc(checksums.crc64nvme, 8),
    "x-amz-checksum-sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "x-amz-checksum-sha256": hashlib.sha256,
}


class Body:
    """The body of a request, read once."""

    def __init__(self, request: S3Request, signed: Signed, key: bytes, receive: Any) -> None:
        self._stream, self._signed, self._key = _Stream(receive), signed, key
        self._length, self._is_chunked = request.length, request.is_chunked
        self._payload = signed.payload
        if self._is_chunked and self._payload not in _KINDS:
            raise not_taken(self._payload)
        if not self._is_chunked and self._payload != UNSIGNED and not _SHA256.fullmatch(self._payload):
            raise malformed(_("The header x-amz-content-sha256 is no digest."))
        self._told = {name: value for name, value in request.headers.items() if name in _CHECKSUMS}
        self._trailing = request.header("x-amz-trailer").lower().strip()
        if self._trailing and self._trailing not in _CHECKSUMS:
            raise not_taken(self._trailing)
        names = {*self._told, *([self._trailing] if self._trailing else [])}
        self._sums = {name: _CHECKSUMS[name]() for name in names}
        self._sha256, self._md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)

    @property
    def length(self) -> int:
        return self._length

    @property
    def is_read(self) -> bool:
        """Whether nothing of it is left on the connection."""
        return self._stream.is_over or (self._length == 0 and not self._is_chunked)

    @property
    def md5(self) -> str:
        return self._md5.hexdigest()

    async def pieces(self) -> AsyncIterator[bytes]:
        """All of it, in pieces of `PIECE_BYTES`; at its end S3Error where it is not what was promised."""
        held, count = bytearray(), 0
        async for data in self._chunks() if self._is_chunked else self._plain():
            count += len(data)
            if count > self._length:
                raise malformed(_("The body is longer than it was said to be."))
            held += data
            while len(held) >= PIECE_BYTES:
                piece = bytes(held[:PIECE_BYTES])
                del held[:PIECE_BYTES]
                await self._note(piece)
                yield piece
        if count < self._length:
            raise incomplete()
        await self._note(bytes(held))
        self._check()
        if held:
            yield bytes(held)

    async def small(self, most: int) -> bytes:
        """All of one that is a document. Raises S3Error where it is larger."""
        if self._length > most:
            raise S3Error("MaxMessageLengthExceeded", 400, _("The document is too large."))
        return b"".join([piece async for piece in self.pieces()])

    async def _note(self, data: bytes) -> None:
        # What is small is counted sooner than a thread is asked.
        if len(data) <= _SMALL_BYTES:
            self._count(data)
        else:
            await asyncio.to_thread(self._count, data)

    def _count(self, data: bytes) -> None:
        self._md5.update(data)
        if not self._is_chunked and self._payload != UNSIGNED:
            self._sha256.update(data)
        for known in self._sums.values():
            known.update(data)

    def _check(self) -> None:
        is_digest = not self._is_chunked and self._payload != UNSIGNED
        if is_digest and not hmac.compare_digest(self._sha256.hexdigest(), self._payload):
            raise S3Error("XAmzContentSHA256Mismatch", 400, _("The body is not what was signed."))
        for name, told in self._told.items():
            self._sum_check(name, told)

    def _sum_check(self, name: str, given: str) -> None:
        try:
            known = base64.b64decode(given, validate=True)
        except (binascii.Error, ValueError):
            known = b""
        if known != self._sums[name].digest():
            raise S3Error(
                "BadDigest", 400, _("The body arrived damaged: %(name)s is another.") % {"name": name}
            )

    async def _plain(self) -> AsyncIterator[bytes]:
        left = self._length
        while left:
            data = await self._stream.some(left)
            left -= len(data)
            yield data

    async def _chunks(self) -> AsyncIterator[bytes]:
        is_signed, is_trailed = _KINDS[self._payload]
        previous = self._signed.signature
        while True:
            found = _CHUNK.fullmatch(await self._stream.line())
            if found is None or is_signed == (found[2] is None) or int(found[1], 16) > _CHUNK_MOST:
                raise malformed(_("The body is in no chunks that can be read."))
            size, digest = int(found[1], 16), hashlib.sha256()
            left = size
            while left:
                data = await self._stream.some(min(left, PIECE_BYTES))
                left -= len(data)
                if is_signed:
                    digest.update(data)
                yield data
            if is_signed:
                expected = chunk_signature(self._key, self._signed, previous, digest.hexdigest())
                self._signature_check(expected, found[2].decode())
                previous = expected
            if not size:
                break
            if await self._stream.line():
                raise malformed(_("The body is in no chunks that can be read."))
        await self._trailer(previous, is_signed=is_signed, is_trailed=is_trailed)

    async def _trailer(self, previous: str, *, is_signed: bool, is_trailed: bool) -> None:
        """What follows the last chunk: the checksum that was announced, and its signature."""
        told: dict[str, str] = {}
        while (line := await self._stream.line(at_end=True)) and len(told) < _TRAILER_MOST:
            name, _colon, value = line.decode("latin-1").partition(":")
            told[name.strip().lower()] = value.strip()
        signature = told.pop("x-amz-trailer-signature", "")
        if is_trailed and is_signed:
            lines = "".join(f"{name}:{value}\n" for name, value in sorted(told.items()))
            self._signature_check(
                trailer_signature(self._key, self._signed, previous, lines.encode("latin-1")), signature
            )
        if self._trailing:
            # It is held against it when all has been counted.
            self._told[self._trailing] = told.get(self._trailing, "")

    @staticmethod
    def _signature_check(expected: str, given: str) -> None:
        if not hmac.compare_digest(expected, given):
            raise S3Error("SignatureDoesNotMatch", 403, _("A part of the body is not as it was signed."))


class _Stream:
    """The bytes of a connection, with a limit on how long the next may take."""

    def __init__(self, receive: Any) -> None:
        self._receive, self._held, self.is_over = receive, bytearray(), False

    async def some(self, most: int) -> bytes:
        if not self._held:
            await self._more()
        data = bytes(self._held[:most])
        del self._held[:most]
        return data

    async def line(self, *, at_end: bool = False) -> bytes:
        """Up to the next end of a line, without it; `at_end`: the body may end instead."""
        while (end := self._held.find(b"\r\n")) < 0:
            if len(self._held) > _LINE_MOST:
                raise malformed(_("The body is in no chunks that can be read."))
            if self.is_over and at_end:
                data = bytes(self._held)
                self._held.clear()
                return data
            await self._more()
        data = bytes(self._held[:end])
        del self._held[: end + 2]
        return data

    async def _more(self) -> None:
        if self.is_over:
            raise incomplete()
        try:
            async with asyncio.timeout(_WAIT_S):
                message = await self._receive()
        except TimeoutError as error:
            raise S3Error("RequestTimeout", 400, _("The rest of the body did not come.")) from error
        if message["type"] == "http.disconnect":
            self.is_over = True
            raise incomplete()
        self._held += message.get("body", b"")
        self.is_over = not message.get("more_body", False)
