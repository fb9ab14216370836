"""Frames over TLS over TCP. Either end knows the other: the client pins the worker's certificate."""

from __future__ import annotations

import contextlib
import hashlib
import select
import socket
import ssl
import threading
import time

from weir_wire.transport import Outgoing, Stream

_PIECE = 256 << 10
_STALL_S = 15.0
"""A peer that takes nothing for so long is given up; the session resumes over a new connection."""


def socket_tune(sock: socket.socket) -> None:
    """No delay for small frames; a silent peer is noticed within about ten seconds."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 4),
        ("TCP_KEEPINTVL", 2),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 10_000),
    ):
        option = getattr(socket, name, None)
        if option is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, option, value)


def fingerprint_of(certificate: bytes | None) -> str:
    """SHA-256 of a certificate (DER), hexadecimal."""
    return hashlib.sha256(certificate or b"").hexdigest()


def client_connect(host: str, port: int, fingerprint: str, *, timeout_s: float) -> TcpTransport:
    """Connect and check that the worker is the one the portal named. Raises OSError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # The certificate is the worker's own; its fingerprint, from the portal, says more than a name could.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    raw = socket.create_connection((host, port), timeout=timeout_s)
    try:
        socket_tune(raw)
        sock = context.wrap_socket(raw)
    except BaseException:
        raw.close()
        raise
    if fingerprint_of(sock.getpeercert(binary_form=True)) != fingerprint:
        sock.close()
        raise ConnectionRefusedError(
            f"{host}:{port} is not the session's worker: another certificate answers"
        )
    return TcpTransport(sock)


class TcpTransport(Stream):
    """OpenSSL objects are not safe to use from two threads at once, so each call is short and under a lock,
    and the waiting is done outside of it."""

    name = "tcp"

    def __init__(self, sock: ssl.SSLSocket) -> None:
        super().__init__()
        sock.setblocking(False)
        self._sock = sock
        self._fd = sock.fileno()
        self._call_lock = threading.Lock()
        self._send_lock = threading.Lock()
        self._readable = select.poll()
        self._readable.register(self._fd, select.POLLIN)
        self._is_closed = False

    def send(self, *frames: Outgoing) -> None:
        with self._send_lock:
            self.write_frames(frames)

    def write_all(self, view: memoryview) -> None:
        for at in range(0, len(view), _PIECE):
            piece = view[at : at + _PIECE]
            deadline = time.monotonic() + _STALL_S
            while not self._write(piece):
                self._wait_writable(deadline)

    def _write(self, piece: memoryview) -> bool:
        with self._call_lock:
            self._check_open()
            try:
                self._sock.send(piece)
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return False
            except ValueError as error:
                raise ConnectionResetError("the connection was closed") from error
        return True

    def read_some(self, view: memoryview, timeout_s: float | None) -> int:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            n = self._read(view)
            if n:
                return n
            # Readable may also mean part of a TLS record, or one that carries no data.
            left_ms = None if deadline is None else max(deadline - time.monotonic(), 0) * 1000
            if not self._readable.poll(left_ms):
                self._check_open()
                return 0

    def _read(self, view: memoryview) -> int:
        with self._call_lock:
            self._check_open()
            try:
                n = self._sock.recv_into(view)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return 0
            except ValueError as error:
                raise ConnectionResetError("the connection was closed") from error
        if not n:
            raise ConnectionResetError("the other end has closed the connection")
        return n

    def _wait_writable(self, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        poll.poll(1000)
        self._check_open()
        if time.monotonic() > deadline:
            raise TimeoutError("the other end has stopped taking part")

    def _check_open(self) -> None:
        if self._is_closed:
            raise ConnectionResetError("the connection was closed")

    def close(self) -> None:
        self._is_closed = True
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self._sock.close()

    def abandon(self) -> None:
        self._is_closed = True
        with contextlib.suppress(OSError):
            socket.close(self._sock.detach())
