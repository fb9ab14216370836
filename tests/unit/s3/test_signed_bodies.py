"""Bodies in S3's chunks, by the examples of the protocol's own documentation, and what is not as it was signed."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from awscrt import checksums

from portal.s3.bodies import Body
from portal.s3.errors import S3Error
from portal.s3.requests import S3Request, request_read
from portal.s3.signature import Signed, is_right, signed_read, signing_key

pytestmark = pytest.mark.req("PLAT-ASSET-7")
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
CREDENTIAL = "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"
CONTENT = b"a" * 66560
PLAIN = (
    "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
    "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648",
    "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497",
    "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9",
)
TRAILED = (
    "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
    "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2",
    "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7",
    "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992",
)
TRAILER = "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435"


def request_of(headers: dict[str, str]) -> tuple[S3Request, Signed]:
    told = {"host": "s3.amazonaws.com", "x-amz-date": "20130524T000000Z", **headers}
    scope = {
        "method": "PUT", "path": "/examplebucket/chunkObject.txt", "raw_path": b"/examplebucket/chunkObject.txt",
        "query_string": b"", "headers": [(name.encode(), value.encode()) for name, value in told.items()],
    }  # fmt: skip
    request = request_read(scope)
    return request, signed_read(request, datetime(2013, 5, 24, tzinfo=UTC))


def example(payload: str, seed: str, **more: str) -> tuple[S3Request, Signed]:
    headers = {
        "x-amz-content-sha256": payload, "x-amz-decoded-content-length": "66560",
        "x-amz-storage-class": "REDUCED_REDUNDANCY", "content-encoding": "aws-chunked", **more,
    }  # fmt: skip
    headers |= {} if "x-amz-trailer" in more else {"content-length": "66824"}
    names = ";".join(sorted({"host", "x-amz-date", *headers}))
    signature = f"AWS4-HMAC-SHA256 Credential={CREDENTIAL},SignedHeaders={names},Signature={seed}"
    return request_of({**headers, "authorization": signature})


def chunked(signatures: tuple[str, ...], end: bytes = b"\r\n") -> bytes:
    parts = (CONTENT[:65536], CONTENT[65536:], b"")
    return (
        b"".join(
            b"%x;chunk-signature=%s\r\n%s\r\n" % (len(part), signature.encode(), part)
            for part, signature in zip(parts[:2], signatures[1:3], strict=True)
        )
        + b"0;chunk-signature=%s\r\n" % signatures[3].encode()
        + end
    )


def taken(request: S3Request, signed: Signed, body: bytes, step: int = 1000) -> bytes:
    """The body as it is kept, which arrives in steps."""
    steps = [body[at : at + step] for at in range(0, len(body), step)] or [b""]
    messages: Iterator[dict[str, Any]] = (
        {"type": "http.request", "body": part, "more_body": n < len(steps) - 1}
        for n, part in enumerate(steps)
    )

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    async def read() -> bytes:
        key = signing_key(SECRET, signed.scope)
        return b"".join([piece async for piece in Body(request, signed, key, receive).pieces()])

    return asyncio.run(read())


def code_of(request: S3Request, signed: Signed, body: bytes) -> str:
    with pytest.raises(S3Error) as caught:
        taken(request, signed, body)
    return caught.value.code


@pytest.mark.parametrize("step", [1, 7, 65536, 10**6])
def test_signed_chunks_are_taken_however_they_arrive(step: int) -> None:
    request, signed = example("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", PLAIN[0])
    assert is_right(request, signed, signing_key(SECRET, signed.scope))
    assert not is_right(request, signed, signing_key(f"{SECRET}x", signed.scope))
    assert taken(request, signed, chunked(PLAIN), step) == CONTENT


def test_a_signed_trailer_is_checked_with_its_checksum() -> None:
    told = {"x-amz-trailer": "x-amz-checksum-crc32c"}
    request, signed = example("STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", TRAILED[0], **told)
    assert is_right(request, signed, signing_key(SECRET, signed.scope))
    trailer = f"x-amz-checksum-crc32c:sOO8/Q==\r\nx-amz-trailer-signature:{TRAILER}\r\n\r\n"
    assert taken(request, signed, chunked(TRAILED, trailer.encode())) == CONTENT
    other = trailer.replace("sOO8", "sOO9").encode()
    assert code_of(request, signed, chunked(TRAILED, other)) == "SignatureDoesNotMatch"
    assert code_of(request, signed, chunked(TRAILED)) == "SignatureDoesNotMatch"


def test_what_is_changed_cut_or_longer_is_refused() -> None:
    request, signed = example("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", PLAIN[0])
    body = chunked(PLAIN)
    assert code_of(request, signed, body.replace(b"aaa", b"aba", 1)) == "SignatureDoesNotMatch"
    assert (
        code_of(request, signed, chunked((PLAIN[0], PLAIN[2], PLAIN[1], PLAIN[3]))) == "SignatureDoesNotMatch"
    )
    assert code_of(request, signed, body[:5000]) == "IncompleteBody"
    assert code_of(request, signed, body[:-90]) == "IncompleteBody"
    assert code_of(request, signed, b"zz;chunk-signature=1\r\n") == "InvalidRequest"
    assert code_of(request, signed, b"x" * 10_000) == "InvalidRequest"


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("crc32", lambda data: checksums.crc32(data).to_bytes(4, "big")),
        ("crc32c", lambda data: checksums.crc32c(data).to_bytes(4, "big")),
        ("crc64nvme", lambda data: checksums.crc64nvme(data).to_bytes(8, "big")),
        ("sha1", lambda data: hashlib.sha1(data).digest()),
        ("sha256", lambda data: hashlib.sha256(data).digest()),
    ],
)
def test_unsigned_chunks_are_held_to_their_checksum(name: str, digest: Any) -> None:
    told = {"x-amz-trailer": f"x-amz-checksum-{name}", "x-amz-decoded-content-length": "5"}
    request, signed = example("STREAMING-UNSIGNED-PAYLOAD-TRAILER", "0" * 64, **told)
    value = base64.b64encode(digest(b"hello")).decode()
    body = f"5\r\nhello\r\n0\r\nx-amz-checksum-{name}:{value}\r\n\r\n".encode()
    assert taken(request, signed, body) == b"hello"
    assert code_of(request, signed, body.replace(b"hello", b"hallo")) == "BadDigest"
    assert code_of(request, signed, b"5\r\nhello\r\n0\r\n\r\n") == "BadDigest"
    assert code_of(request, signed, b"6\r\nhello!\r\n0\r\n\r\n") == "InvalidRequest"
