"""What of a request, and of its answer, is carried on: the headers, and where it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from portal.gateway.access import cookies_forwarded, service_key

Scope = dict[str, Any]
Pairs = list[tuple[bytes, bytes]]
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
# Of one connection and not of the message (RFC 9110, 7.6.1).
_HOP_BY_HOP = frozenset(
    {
        b"connection", b"expect", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
# What a browser would do to hosts beside the one that says it: to all of its site.
_BEYOND_ITS_HOST = frozenset({b"clear-site-data"})


def target_of(scope: Scope) -> bytes:
    """Path and query as they were asked."""
    query: bytes = scope["query_string"]
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path + (b"?" + query if query else b"")


def request_headers(scope: Scope) -> Pairs:
    """The headers of a request as the work gets them."""
    headers = []
    is_keyed = bool(service_key(scope))
    for name, value in _end_to_end(scope["headers"]):
        if name == b"authorization" and is_keyed:
            # The gateway's, not the work's: who serves does not get to know who else may ask.
            continue
        if name == b"cookie":
            value = cookies_forwarded(value)
            if not value:
                continue
        headers.append((name, value))
    client = scope.get("client")
    if client:
        headers.append((b"x-forwarded-for", str(client[0]).encode()))
    headers.append((b"x-forwarded-proto", b"https" if scope["scheme"] in ("https", "wss") else b"http"))
    return headers


def answer_headers(pairs: Iterable[tuple[bytes, bytes]], status: int = HTTPStatus.OK) -> Pairs:
    """The headers of the work's answer as the browser gets them, without a length that its body does not have."""
    given = list(pairs)
    has_length = status not in _BODILESS and not any(
        name.lower() == b"transfer-encoding" for name, _value in given
    )
    return [
        (name, value)
        for name, value in _end_to_end(given)
        if name not in _BEYOND_ITS_HOST
        and not _is_foreign_cookie(name, value)
        and (has_length or name != b"content-length")
    ]


def _end_to_end(pairs: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """Without what is of one connection only, and without what the gateway says itself."""
    listed = [(name.lower(), value) for name, value in pairs]
    named = {
        word.strip().lower() for name, value in listed if name == b"connection" for word in value.split(b",")
    }
    own = (b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"forwarded")
    return [pair for pair in listed if pair[0] not in _HOP_BY_HOP | named and pair[0] not in own]


def _is_foreign_cookie(name: bytes, value: bytes) -> bool:
    """Whether a page sets a cookie for other hosts than its own, or one of the gateway's."""
    if name != b"set-cookie":
        return False
    first, *attributes = value.split(b";")
    is_own_name = first.partition(b"=")[0].strip() in (b"weir_web", b"__Host-weir_web")
    return is_own_name or any(part.strip().lower().startswith(b"domain") for part in attributes)
