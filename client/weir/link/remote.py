"""The Link to a worker elsewhere: survives dropped connections and moves, and tells only what cannot be hidden."""

from __future__ import annotations

import atexit
import contextlib
import os
import struct
import threading
import time
import weakref
from collections.abc import Iterable
from typing import Any

from weir.link.backlog import Backlog, Payload
from weir.link.interface import Link
from weir.link.replies import Waiter, Waiters
from weir.link.seen import WORTH_IT, Seen
from weir_wire import wire
from weir_wire.handshake import Claim, Endpoint, HandshakeRefused, Welcome, attach, lost_by
from weir_wire.transport import Frame, Transport
from weir_wire.transport_local import LocalTransport
from weir_wire.wire import Kind, SessionLost, WireError

RESUME_S = 60.0
"""How long a dropped connection is tried again."""
_FLUSH_S = 0.001
_GOT_AT_ONCE = 1 << 20
_PROBE_BYTES = 1 << 20
_MOVE_TRIES_S = 5.0
_GONE_S = 2.0
"""A worker of this machine that no longer listens has ended; elsewhere the network may be what refuses."""
# What a reply or word of the worker may break while it is read.
_BROKEN = (OSError, ValueError, KeyError, TypeError, struct.error)
_FINAL = frozenset({"token", "version", "ended", "unknown_session", "busy"})


class RemoteLink(Link):
    """Opens at once: raises HandshakeRefused, OSError or WireError when the worker cannot be reached or says no.

    `token` is the session's; `is_local` allows shared memory where the worker is on this machine; `is_kept`: the
    session goes on, empty, for the next client when this one has finished.
    """

    def __init__(
        self,
        host: str,
        port: int,
        fingerprint: str,
        token: str,
        *,
        timeout_s: float = 10.0,
        is_local: bool = True,
        resume_s: float = RESUME_S,
        is_kept: bool = False,
    ) -> None:
        self._endpoint = Endpoint(host, port, fingerprint)
        self.host = host
        self._token, self._timeout_s, self._is_local, self._resume_s = token, timeout_s, is_local, resume_s
        self._order = threading.Lock()
        self._backlog, self._waiters, self._seen = Backlog(), Waiters(), Seen()
        self._received = self._received_told = 0
        self._ending = ""
        self._moved_at = self._frozen_ms = 0.0
        self._is_closed = self._is_forked = False
        self._is_kept = is_kept
        self._pong = threading.Event()
        self._woken = threading.Event()
        self._flusher: threading.Thread | None = None
        self._wired: Transport | None = None
        self._reading, welcome = attach(
            self._endpoint, token, Claim(), timeout_s=timeout_s, is_local=is_local
        )
        self._session = welcome.session
        self._welcomed(welcome, self._reading)
        self._receiver = threading.Thread(target=self._receive_all, name="weir-receiver", daemon=True)
        self._receiver.start()
        self.latency_us, self.bandwidth_mib_s = self._measure()
        self._tell(Kind.REPORT, latency_us=self.latency_us, bandwidth_mib_s=self.bandwidth_mib_s)
        _LINKS.add(self)

    # --- Link

    def send(self, kind: int, *parts: Any) -> None:
        self._post(kind, parts, None)

    def request(self, kind: int, *parts: Any) -> memoryview:
        return self._asked(kind, parts, Waiter(None))

    def read(self, handle: int, nbytes: int, into: memoryview | None = None) -> memoryview:
        buffer = memoryview(bytearray(nbytes)) if into is None else into
        self._asked(Kind.READ, [wire.READ_REQUEST.pack(handle, nbytes)], Waiter(buffer))
        return buffer

    def upload(self, handle: int, dtype: str, shape: Iterable[int], data: Any) -> None:
        """Over a network, what the worker has seen before is sent as a digest."""
        dims, flat = list(shape), memoryview(data)
        if self.transport != "tcp" or flat.nbytes < WORTH_IT:
            super().upload(handle, dtype, dims, data)
            return
        digest = self._seen.digest(flat)
        times = self._seen.count(digest)
        if times > 1 and self._is_remembered(handle, digest, dtype, dims):
            return
        super().upload(handle, dtype, dims, data)
        if times:
            self.send(Kind.REMEMBER, wire.HANDLE.pack(handle))

    def _is_remembered(self, handle: int, digest: bytes, dtype: str, shape: list[int]) -> bool:
        header = wire.CACHED_HEADER.pack(handle, digest)
        if bytes(self.request(Kind.CACHED, header, wire.dump_json([dtype, shape]))) == b"\1":
            return True
        self._seen.forget(digest)
        return False

    def wake(self) -> None:
        if self._flusher is None:
            self._flusher = threading.Thread(target=self._flush_all, name="weir-flusher", daemon=True)
            self._flusher.start()
        self._woken.set()

    def close(self) -> None:
        if self._is_closed or self._is_forked:
            return
        self._is_closed = True
        self._woken.set()
        self._tell(Kind.BYE, **({"is_kept": True} if self._is_kept else {}))
        self._lose(SessionLost("the session was closed"))

    # --- sending

    def _asked(self, kind: int, parts: Any, waiter: Waiter) -> memoryview:
        self._post(kind, parts, waiter)
        return waiter.wait()

    def _post(self, kind: int, parts: Any, waiter: Waiter | None) -> None:
        """Number a frame, keep it, and send it where there is a connection."""
        if self._is_forked:
            raise SessionLost("the session belongs to the process that opened it, not to its forked child")
        payload = self._backlog.buffers.pack(parts)
        if len(payload) > wire.MAX_PAYLOAD:
            raise WireError(f"a frame holds at most {wire.MAX_PAYLOAD} bytes")
        self._backlog.wait()
        with self._order:
            number = self._backlog.add(kind, payload)
            if waiter is not None:
                self._waiters.add(number, waiter)
                if self._backlog.lost is not None:
                    self._waiters.fail_all(self._backlog.lost)
            transport = self._wired
            if transport is not None:
                self._transmit(transport, kind, payload)

    def _transmit(self, transport: Transport, kind: int, payload: Payload) -> None:
        """With it, what replies have arrived, where the worker has not been told."""
        frames: list[Any] = [(kind, [payload])]
        if self._received_told < self._received:
            self._received_told = self._received
            frames.insert(0, (Kind.GOT, [wire.NUMBER.pack(self._received_told)]))
        try:
            transport.send(*frames)
        except OSError:
            # The receiver notices too, connects anew, and everything kept is sent again.
            transport.close()

    def _tell(self, kind: int, **fields: Any) -> None:
        """A control frame, as far as there is a connection."""
        transport = self._wired
        if transport is not None:
            with contextlib.suppress(OSError):
                transport.send((kind, [wire.dump_json(fields)] if fields else []))

    def _flush_all(self) -> None:
        """Send what waits in the device's buffer soon, but not before a few more operators could join it."""
        while not self._is_closed:
            self._woken.wait()
            time.sleep(_FLUSH_S)
            self._woken.clear()
            with contextlib.suppress(SessionLost):
                self.on_flush()

    # --- receiving

    def _receive_all(self) -> None:
        """The receiver's thread: frames, and new connections when one drops, until the session is lost."""
        moved: Endpoint | None = None
        while not self._is_closed and self._backlog.lost is None:
            try:
                moved = self._receive_until_moved()
            except _BROKEN as error:
                if self._is_closed:
                    return
                why = str(error)
            else:
                why = "the session moved"
            try:
                self._reconnect(moved, why)
            except SessionLost as lost:
                self._lose(lost)
                return
            moved = None

    def _receive_until_moved(self) -> Endpoint:
        transport = self._reading
        while True:
            frame = transport.receive(None)
            if frame is not None and frame.kind == Kind.MOVED:
                to = wire.load_json(frame.payload)
                self._frozen_ms = float(to.get("frozen_ms", 0))
                self._moved_at = time.monotonic()
                return Endpoint(str(to["host"]), int(to["port"]), str(to["fingerprint"]))
            if frame is not None:
                self._got(frame)

    def _got(self, frame: Frame) -> None:
        if frame.kind == Kind.VALUE:
            number, faults, body = wire.unpack_value(frame.payload)
            self._replied(number, faults, body)
        elif frame.kind == Kind.PART:
            number, offset = wire.PART_HEADER.unpack_from(frame.payload)
            waiter = self._waiters.find(number)
            if waiter is not None:
                waiter.part(offset, frame.payload[wire.PART_HEADER.size :])
        elif frame.kind == Kind.ACK:
            self._backlog.acknowledge(wire.NUMBER.unpack(frame.payload)[0])
        elif frame.kind == Kind.PONG:
            self._pong.set()
        elif frame.kind == Kind.NOTICE:
            notice = wire.load_json(frame.payload)
            self._ending = str(notice.get("text"))
            # Whatever it does with it, the session goes on until the worker ends it.
            with contextlib.suppress(Exception):
                self.on_notice(str(notice.get("code")), self._ending)
        elif frame.kind == Kind.SHARE:
            share = wire.load_json(frame.payload)
            self.quota_mib, self.compute_percent = int(share["quota_mib"]), int(share["compute_percent"])

    def _replied(self, number: int, faults: list[wire.Fault], body: memoryview) -> None:
        self._backlog.acknowledge(number)
        waiter = self._waiters.pop(number)
        if waiter is None:
            return
        self._received = max(self._received, number)
        is_large = waiter.into is not None and len(waiter.into) >= _GOT_AT_ONCE
        waiter.settle(faults, body)
        if is_large and self._wired is not None:
            # The worker keeps a reply until it knows that it has arrived.
            with contextlib.suppress(OSError):
                self._wired.send((Kind.GOT, [wire.NUMBER.pack(number)]))

    # --- connecting again

    def _reconnect(self, moved: Endpoint | None, why: str) -> None:
        """Resume at the worker, or where the session has moved, or back at its source. Raises SessionLost."""
        self._drop()
        home, began, was_local = self._endpoint, time.monotonic(), self.transport == LocalTransport.name
        wait_s, has_left = 0.02, False
        while time.monotonic() - began < self._resume_s:
            if self._is_closed:
                raise SessionLost("the session was closed")
            is_back = moved is not None and not has_left and time.monotonic() - began > _MOVE_TRIES_S
            try:
                target = home if moved is None or is_back else moved
                self._resume(target, is_back=is_back, is_move=target == moved)
                return
            except HandshakeRefused as refusal:
                if refusal.code in _FINAL and moved is None:
                    raise lost_by(refusal) from None
                # The target has welcomed this client, whether or not it heard so: the source has let go.
                has_left = has_left or (is_back and refusal.code == "ended")
                why = str(refusal)
            except _BROKEN as error:
                why = str(error)
                is_gone = isinstance(error, ConnectionRefusedError) and was_local and moved is None
                if is_gone and time.monotonic() - began > _GONE_S:
                    break
            if self._ending:
                break
            time.sleep(wait_s)
            wait_s = min(wait_s * 1.6, 1.0)
        raise SessionLost(self._ending or f"the session cannot be reached any more: {why}")

    def _resume(self, endpoint: Endpoint, *, is_back: bool, is_move: bool) -> None:
        claim = Claim(self._session, self._received, is_back)
        timeout_s = min(self._timeout_s, 3.0) if is_move else self._timeout_s
        transport, welcome = attach(
            endpoint, self._token, claim, timeout_s=timeout_s, is_local=self._is_local
        )
        self._endpoint, self.host = endpoint, endpoint.host
        self._backlog.acknowledge(welcome.processed)
        self._reading = transport
        report: dict[str, Any] = {"latency_us": self.latency_us, "bandwidth_mib_s": self.bandwidth_mib_s}
        if is_move:
            report["pause_ms"] = self._frozen_ms + (time.monotonic() - self._moved_at) * 1000
        with contextlib.suppress(OSError):
            transport.send((Kind.REPORT, [wire.dump_json(report)]))
        # In a thread of its own: while it sends, this one must already read.
        threading.Thread(target=self._send_again, args=(transport, welcome), daemon=True).start()

    def _send_again(self, transport: Transport, welcome: Welcome) -> None:
        with self._order:
            if transport is not self._reading:
                return
            try:
                for _number, kind, payload in self._backlog.waiting():
                    transport.send((kind, [payload]))
            except OSError:
                transport.close()
                return
            self._welcomed(welcome, transport)

    def _welcomed(self, welcome: Welcome, transport: Transport) -> None:
        self.quota_mib, self.compute_percent = welcome.quota_mib, welcome.compute_percent
        self.device, self.transport = welcome.device, transport.name
        self._wired = transport

    def _drop(self) -> None:
        self._reading.close()
        with self._order:
            self._wired = None

    def _lose(self, lost: SessionLost) -> None:
        self._backlog.lose(lost)
        self._waiters.fail_all(self._backlog.lost or lost)
        self._reading.close()

    # --- the rest

    def _measure(self) -> tuple[float, float]:
        """Round-trip time in µs and bandwidth in MiB/s of this connection."""
        times = [self._ping(8) for _ in range(4)]
        latency_s = min(times)
        size = _PROBE_BYTES if latency_s < 0.005 else _PROBE_BYTES // 16
        transfer_s = max(min(self._ping(size) for _ in range(3)) - latency_s, 1e-6)
        return round(latency_s * 1e6, 1), round(size / (1 << 20) / transfer_s, 1)

    def _ping(self, size: int) -> float:
        self._pong.clear()
        began = time.perf_counter()
        if self._wired is not None:
            self._wired.send((Kind.PING, [bytes(size)]))
        if not self._pong.wait(self._timeout_s):
            raise TimeoutError("the worker did not answer in time")
        return time.perf_counter() - began

    def _after_fork(self) -> None:
        self._is_forked = True
        self._reading.abandon()


def connect(
    host: str, port: int, fingerprint: str, token: str, *, timeout_s: float = 10.0, is_kept: bool = False
) -> Link:
    """Open the session a worker holds for this token; with `is_kept` it outlives this client.

    Raises OSError where it cannot be reached or says no.
    """
    return RemoteLink(host, port, fingerprint, token, timeout_s=timeout_s, is_kept=is_kept)


_LINKS: weakref.WeakSet[RemoteLink] = weakref.WeakSet()


def _forked() -> None:
    for link in list(_LINKS):
        link._after_fork()


def _close_all() -> None:
    for link in list(_LINKS):
        link.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
atexit.register(_close_all)
