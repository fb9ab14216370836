"""Frames between two processes of one machine: a Unix socket for small ones, shared memory for the rest.

The worker makes the memory and hands it over the socket; it is sealed, so neither end can shrink it under
the other. Each direction has a ring that only one end writes to; the reader publishes how far it has read.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import secrets
import select
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

from weir_wire import wire
from weir_wire.transport import Frame, Outgoing, Stream
from weir_wire.wire import HEADER, NUMBER

RING_BYTES = 16 << 20
_PAGE = 4096
_SIZE = _PAGE + 2 * RING_BYTES
_IN_RING = 1 << 31
_WORTH_IT = 32 << 10
_KEY_BYTES = 32
_STALL_S = 60.0
_POSITION_MAX = (1 << 64) - 1
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class LocalListener:
    """The worker's side: an abstract Unix address whose key is told over TLS, to one client at a time."""

    def __init__(self) -> None:
        """Raises OSError where this machine has no such sockets."""
        self.address = f"weir-session-{secrets.token_hex(12)}"
        self.key = ""
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.listener.bind("\0" + self.address)
            self.listener.listen(8)
        except OSError:
            self.listener.close()
            raise

    def invite(self) -> dict[str, str]:
        """What WELCOME tells; the key works once."""
        self.key = secrets.token_hex(_KEY_BYTES // 2)
        return {"address": self.address, "key": self.key}

    def answer(self, sock: socket.socket) -> LocalTransport | None:
        """The transport of whoever shows the key, else None."""
        sock.settimeout(2.0)
        try:
            # Sent in one piece; whoever drips it would keep others waiting.
            shown = sock.recv(_KEY_BYTES).decode("ascii", "replace")
            if not self.key or not wire.mac_equal(shown, self.key):
                raise ConnectionRefusedError("the wrong key")
            self.key = ""
            memory = _memory_make()
            socket.send_fds(sock, [b"1"], [memory])
        except OSError:
            sock.close()
            return None
        return LocalTransport(sock, memory, is_worker=True)


def client_open(invitation: Any) -> LocalTransport | None:
    """The client's side: None where the worker is elsewhere or shared memory cannot be had."""
    if not isinstance(invitation, dict):
        return None
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(2.0)
    try:
        sock.connect("\0" + str(invitation["address"]))
        sock.sendall(str(invitation["key"]).encode())
        _byte, descriptors, _flags, _peer = socket.recv_fds(sock, 1, 1)
        if len(descriptors) != 1 or os.fstat(descriptors[0]).st_size != _SIZE:
            raise ConnectionRefusedError("no shared memory")
    except (OSError, KeyError, ValueError):
        sock.close()
        return None
    return LocalTransport(sock, descriptors[0], is_worker=False)


def _memory_make() -> int:
    memory = os.memfd_create("weir-session", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, _SIZE)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, _SEALS)
    return memory


class Ring:
    """One direction. Positions only grow; `read_to` lies in the shared page."""

    def __init__(self, memory: mmap.mmap, index: int) -> None:
        self._marks = memoryview(memory)[:_PAGE].cast("Q")
        self._index = 8 * index
        begin = _PAGE + index * RING_BYTES
        self._data = memoryview(memory)[begin : begin + RING_BYTES]
        self.head = 0

    def write(self, parts: Sequence[Any], length: int, check: Any) -> int:
        """Copy a payload in, in one piece; waits for room. Returns its position; raises what `check` raises."""
        room_to_end = RING_BYTES - self.head % RING_BYTES
        begin = self.head if length <= room_to_end else self.head + room_to_end
        waited = 0
        while begin + length - self._read_to() > RING_BYTES:
            check(waited)
            waited += 1
            time.sleep(0.00005)
        at = begin % RING_BYTES
        for part in parts:
            view = memoryview(part).cast("B") if wire.size_of(part) else memoryview(b"")
            self._data[at : at + len(view)] = view
            at += len(view)
        self.head = begin + length
        return begin

    def read(self, position: int, length: int) -> memoryview:
        """The payload at a position. Raises ConnectionError for one that cannot be."""
        at = position % RING_BYTES
        if at + length > RING_BYTES or position + length > _POSITION_MAX:
            raise ConnectionResetError("the other end points out of the shared memory")
        return self._data[at : at + length]

    def release(self, position: int) -> None:
        """All up to here has been read."""
        self._marks[self._index] = position

    def _read_to(self) -> int:
        mark = self._marks[self._index]
        if mark > self.head:
            raise ConnectionResetError("the other end has read what was never written")
        return mark


class LocalTransport(Stream):
    """A frame in the ring is announced on the socket: its length with the top bit set, then its position."""

    name = "shared-memory"

    def __init__(self, sock: socket.socket, memory: int, *, is_worker: bool) -> None:
        super().__init__()
        sock.setblocking(True)
        sock.settimeout(None)
        self._sock = sock
        self._fd = sock.fileno()
        mapped = mmap.mmap(memory, _SIZE)
        os.close(memory)
        self._out, self._in = Ring(mapped, int(is_worker)), Ring(mapped, int(not is_worker))
        self._send_lock = threading.Lock()
        self._readable = select.poll()
        self._readable.register(self._fd, select.POLLIN)
        self._is_closed = False
        self._unreleased: int | None = None

    def send(self, *frames: Outgoing) -> None:
        with self._send_lock:
            small: list[Outgoing] = []
            for kind, parts in frames:
                length = sum(map(wire.size_of, parts))
                if length < _WORTH_IT:
                    small.append((kind, parts))
                    continue
                if small:
                    self.write_frames(small)
                    small = []
                position = self._out.write(parts, length, self._check_waiting)
                header = HEADER.pack(length | _IN_RING, kind) + NUMBER.pack(position)
                self.write_all(memoryview(header))
            if small:
                self.write_frames(small)

    def receive(self, timeout_s: float | None) -> Frame | None:
        if self._unreleased is not None:
            self._in.release(self._unreleased)
            self._unreleased = None
        if not self.fill(HEADER.size, timeout_s):
            return None
        length, kind = HEADER.unpack_from(self._buffer, self._start)
        if not length & _IN_RING:
            return super().receive(timeout_s)
        if not self.fill(HEADER.size + NUMBER.size, timeout_s):
            return None
        (position,) = NUMBER.unpack(self.take(HEADER.size, NUMBER.size))
        length &= ~_IN_RING
        if length > wire.MAX_PAYLOAD:
            raise wire.WireError("a frame that is too long", "too_long")
        self._unreleased = position + length
        return Frame(kind, self._in.read(position, length))

    def write_all(self, view: memoryview) -> None:
        self._check_open()
        self._sock.sendall(view)

    def read_some(self, view: memoryview, timeout_s: float | None) -> int:
        if timeout_s is not None and not self._readable.poll(timeout_s * 1000):
            self._check_open()
            return 0
        n = self._sock.recv_into(view)
        if not n:
            raise ConnectionResetError("the other end has closed the connection")
        return n

    def _check_waiting(self, waited: int) -> None:
        self._check_open()
        if waited * 0.00005 > _STALL_S:
            raise TimeoutError("the other end has stopped reading")

    def _check_open(self) -> None:
        if self._is_closed:
            raise ConnectionResetError("the connection was closed")

    def close(self) -> None:
        self._is_closed = True
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self._sock.close()

    def abandon(self) -> None:
        self._is_closed = True
        with contextlib.suppress(OSError):
            os.close(self._sock.detach())
