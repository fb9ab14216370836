"""Calls to a centre over HTTP with JSON, within bounds of time and size, in the words of `base`."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.utils.translation import gettext as _

from apps.centers.adapters.base import CallLimits, CenterBroken, CenterRefused, CenterUnreachable
from apps.kernel.control_characters import control_removed, has_control
from apps.kernel.network_addresses import is_local

DEPTH = 64
_BLOCK_BYTES = 64 * 1024
_SECRET_LENGTH = 16
_TEXT_MAX = 300
# An answer that says: not now.
_LATER = frozenset({408, 425, 429, 502, 503, 504})


class AnswerTooLong(CenterBroken):
    """An answer has more bytes than are read of one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: its status below 500 or of the service itself, and its JSON without control characters.

    `data` is None where an answer with an error holds no JSON; `text` has its begin then, `end` the lines of its end.
    """

    status: int
    data: Any
    text: str = ""
    end: str = ""


class CenterClient:
    """Calls to one address. Every call has a connection of its own: none is sent into one that the centre closes."""

    def __init__(
        self,
        address: str,
        *,
        authority: str = "",
        local_addresses: bool = False,
        limits: CallLimits | None = None,
    ) -> None:
        """`authority` is a CA in PEM beside the public ones. Raises CenterRefused for what is no address or no CA."""
        self.address = _address(address)
        self._limits = limits or CallLimits()
        self._local_addresses = local_addresses
        # How long several calls may take together, and when that is over by the monotonic clock.
        self._together_s = 0.0
        self._ends_s: float | None = None
        self._client = httpx.Client(
            base_url=self.address,
            verify=_tls(authority),
            timeout=httpx.Timeout(self._limits.answer_s, connect=self._limits.connect_s),
            limits=httpx.Limits(max_keepalive_connections=0),
            follow_redirects=False,
            # A proxy of the portal's own would resolve names that are checked here.
            trust_env=False,
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "weir"},
        )

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask once. Raises CenterUnreachable where no whole answer came, CenterBroken where it is none of a centre's,
        CenterRefused where the credential or the address is refused; every other answer is the adapter's to judge."""
        status, data = self._sent(method, path, query, headers, body, self._read)
        return self._judged(status, self._without_secrets(data, headers))

    def blocks(
        self,
        path: str,
        taken: Callable[[bytes], bool],
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask once for bytes as they are: `taken` gets them block by block and says whether it wants more, however long
        the answer is. One that is not 200 is read as `call` reads it. Raises as `call` does."""

        def read(answer: httpx.Response, watch: _Watch) -> bytes:
            if answer.status_code != HTTPStatus.OK:
                return self._read(answer, watch)
            for block in self._blocks(answer, watch):
                if not taken(block):
                    break
            return b"{}"

        status, data = self._sent("GET", path, query, headers, None, read)
        return self._judged(status, self._without_secrets(data, headers))

    @contextmanager
    def together(self, seconds: float) -> Iterator[None]:
        """All calls inside are over within so many seconds, however many there are: one for which nothing is left is
        not begun. They raise CenterUnreachable then."""
        self._together_s, self._ends_s = seconds, time.monotonic() + seconds
        try:
            yield
        finally:
            self._ends_s = None

    def close(self) -> None:
        """Let go of everything."""
        self._client.close()

    def _sent(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        body: object,
        read: Callable[[httpx.Response, _Watch], bytes],
    ) -> tuple[int, bytes]:
        watch = _Watch(self._limits.answer_s, self._local_addresses, self._ends_s)
        if watch.is_over:
            raise self._late(self._together_s)
        asked = self._client.build_request(
            method,
            path,
            params=dict(query or {}),
            json=body,
            headers=dict(headers or {}),
            extensions={"trace": watch.trace},
        )
        try:
            with watch:
                answer = self._client.send(asked, stream=True)
                try:
                    return answer.status_code, read(answer, watch)
                finally:
                    answer.close()
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ssl.SSLError) as error:
            raise self._unreachable(error, watch) from error

    def _read(self, answer: httpx.Response, watch: _Watch) -> bytes:
        read = bytearray()
        for block in self._blocks(answer, watch):
            read += block
            if len(read) > self._limits.answer_bytes:
                raise AnswerTooLong(
                    _("The answer is longer than %(bytes)s bytes.") % {"bytes": self._limits.answer_bytes}
                )
        return bytes(read)

    def _blocks(self, answer: httpx.Response, watch: _Watch) -> Iterator[bytes]:
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise CenterBroken(_("The answer is packed, which was not asked for."))
        for block in answer.iter_raw(_BLOCK_BYTES):
            yield block
            if watch.is_over:
                raise httpx.ReadTimeout("the answer did not end in time")

    def _without_secrets(self, data: bytes, headers: Mapping[str, str] | None) -> bytes:
        """What an answer repeats of what lets us in is not kept or shown with its words."""
        for value in (headers or {}).values():
            # "Bearer" is no secret, what follows it is.
            for secret in (value, value.rpartition(" ")[2]):
                if len(secret) >= _SECRET_LENGTH:
                    data = data.replace(secret.encode(), b"(...)")
        return data

    def _unreachable(self, error: Exception, watch: _Watch) -> CenterUnreachable:
        if watch.is_over or isinstance(error, httpx.TimeoutException):
            is_together = self._ends_s is not None and time.monotonic() >= self._ends_s
            return self._late(self._together_s if is_together else self._limits.answer_s)
        return CenterUnreachable(
            _("%(address)s gave no whole answer: %(cause)s")
            % {
                "address": self.address,
                "cause": control_removed(str(error) or type(error).__name__)[:_TEXT_MAX],
            }
        )

    def _late(self, seconds: float) -> CenterUnreachable:
        return CenterUnreachable(
            _("%(address)s did not answer within %(seconds)s seconds.")
            % {"address": self.address, "seconds": round(seconds)}
        )

    def _judged(self, status: int, read: bytes) -> Answer:
        text = control_removed(read[: 4 * _TEXT_MAX].decode("utf-8", "replace"))[:_TEXT_MAX]
        if status in (401, 403):
            raise CenterRefused(
                _("The centre refuses the credential (%(status)s): %(text)s")
                % {"status": status, "text": text}
            )
        if status in _LATER:
            raise CenterUnreachable(
                _("The centre answers %(status)s now: %(text)s") % {"status": status, "text": text}
            )
        if 300 <= status < 400:
            raise CenterBroken(
                _("The address sends elsewhere (%(status)s), which is not followed.") % {"status": status}
            )
        try:
            return Answer(status, json_of(read), text)
        except CenterBroken:
            if status < 400:
                raise
            end = control_removed(read[-_TEXT_MAX:].decode("utf-8", "replace"), has_lines=True)
            return Answer(status, None, text, end)


class _Watch:
    """Looks after one call: whom it is connected to, and that it ends in time whatever trickles in."""

    def __init__(self, seconds: float, local_addresses: bool, ends_s: float | None = None) -> None:
        """It ends after so many seconds, and at `ends_s` of the monotonic clock where that is earlier."""
        self._local_addresses = local_addresses
        now_s = time.monotonic()
        self._ends_s = now_s + seconds if ends_s is None else min(now_s + seconds, ends_s)
        self._timer = threading.Timer(max(0.0, self._ends_s - now_s), self._cut)
        self._timer.daemon = True
        self._held: socket.socket | None = None
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._ends_s

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_error: object) -> None:
        self._timer.cancel()
        with self._lock:
            if self._held is not None:
                self._held.close()
                self._held = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by the HTTP library at each of its steps; the first of them is the connection."""
        if event != "connection.connect_tcp.complete":
            return
        stream = info["return_value"]
        # Of the connection that there is: a name may lead elsewhere each time that it is asked for.
        peer = str(stream.get_extra_info("server_addr")[0])
        if not self._local_addresses and is_local(peer):
            stream.close()
            raise CenterRefused(
                _("The address leads to this machine or its network's own (%(address)s).") % {"address": peer}
            )
        with self._lock:
            self._held = stream.get_extra_info("socket").dup()
        if self.is_over:
            self._cut()

    def _cut(self) -> None:
        with self._lock, suppress(OSError):
            if self._held is not None:
                self._held.shutdown(socket.SHUT_RDWR)


def json_of(read: bytes) -> Any:
    """The value of a JSON text, its texts without control characters. CenterBroken for what is none, or too deep."""
    try:
        return _cleaned(json.loads(read.decode("utf-8"), parse_constant=_no_constant), 0)
    except (ValueError, RecursionError) as error:
        raise CenterBroken(
            _("The answer is not JSON: %(cause)s") % {"cause": control_removed(str(error))[:_TEXT_MAX]}
        ) from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")


def _cleaned(value: Any, depth: int) -> Any:
    if depth > DEPTH:
        raise ValueError(f"nested more than {DEPTH} deep")
    if isinstance(value, str):
        return control_removed(value, has_lines=True)
    if isinstance(value, list):
        return [_cleaned(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {control_removed(name): _cleaned(each, depth + 1) for name, each in value.items()}
    return value


def _address(text: str) -> str:
    """The address without a slash at its end. Raises CenterRefused."""
    try:
        parts = urlsplit(text.strip())
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    else:
        is_good = is_good and not (parts.username or parts.password or parts.query or parts.fragment)
    if not is_good or has_control(text.strip()) or " " in text.strip():
        raise CenterRefused(
            _("Write an address such as https://center.example.org:6820, without a name or password in it.")
        )
    return text.strip().rstrip("/")


def _tls(authority: str) -> ssl.SSLContext:
    made = httpx.create_ssl_context(trust_env=False)
    if authority.strip():
        try:
            made.load_verify_locations(cadata=authority)
        except (ssl.SSLError, ValueError, TypeError) as error:
            raise CenterRefused(_("The certificate authority is not a certificate in PEM.")) from error
    return made
