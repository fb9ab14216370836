"""A request to the S3-compatible address, as its signature and its operation read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from django.utils.translation import gettext as _

from portal.s3.errors import S3Error, malformed

Scope = dict[str, Any]
_ADDRESS_MOST = 8192


@dataclass(frozen=True, slots=True)
class S3Request:
    """`path` and `query` are decoded; `headers` are by small letters, those of one name joined."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: dict[str, str]

    @property
    def bucket(self) -> str:
        return self.path[1:].partition("/")[0]

    @property
    def key(self) -> str:
        return self.path[1:].partition("/")[2]

    def asked(self, name: str, default: str = "") -> str:
        """The value of a parameter of the address."""
        return next((value for given, value in self.query if given == name), default)

    def has(self, name: str) -> bool:
        return any(given == name for given, _value in self.query)

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    @property
    def is_chunked(self) -> bool:
        """Whether the body is in chunks of S3's own."""
        return self.header("x-amz-content-sha256").startswith("STREAMING-")

    @property
    def length(self) -> int:
        """How many bytes are to be kept of the body. Raises S3Error where it does not say."""
        given = self.header("x-amz-decoded-content-length" if self.is_chunked else "content-length")
        if not given:
            if self.is_chunked or self.header("transfer-encoding"):
                raise S3Error("MissingContentLength", 411, _("Say how long the body is."))
            return 0
        if not (given.isascii() and given.isdigit() and len(given) <= 18):
            raise malformed(_("The length of the body is not a number."))
        return int(given)


def request_read(scope: Scope) -> S3Request:
    """Raises S3Error for what is no address: not UTF-8, too long, with a control character's NUL in it."""
    raw = bytes(scope.get("raw_path") or quote(scope["path"]).encode("latin-1"))
    asked = bytes(scope["query_string"])
    if len(raw) + len(asked) > _ADDRESS_MOST:
        raise S3Error("KeyTooLongError", 400, _("The address is too long."))
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("utf-8", "replace")
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    pairs = [pair.partition(b"=") for pair in asked.split(b"&") if pair]
    query = tuple((_text(name), _text(value)) for name, _equals, value in pairs)
    path = _text(raw.replace(b"+", b"%2B"))
    if not path.startswith("/"):
        raise malformed(_("The address has no path."))
    return S3Request(scope["method"], path, query, headers)


def _text(raw: bytes) -> str:
    try:
        found = unquote_to_bytes(raw.replace(b"+", b"%20")).decode("utf-8")
    except UnicodeDecodeError as error:
        raise S3Error("InvalidURI", 400, _("The address is not UTF-8.")) from error
    if "\x00" in found:
        raise S3Error("InvalidURI", 400, _("The address holds a NUL character."))
    return found
