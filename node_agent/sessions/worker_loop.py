"""The loop of a worker: takes frames of the one client, runs them, answers; moves the session when asked.

One thread runs it. Others read its facts, and ask it for something by `tell`, `move_to` and `stop_soon`.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from typing import Any

from node_agent.sessions.connection.listener import Arrival, Listener, Refusal
from node_agent.sessions.connection.move import Giver, Mover, Taker, Target, moved_payload
from node_agent.sessions.connection.reply_buffer import KeptReplies
from node_agent.sessions.connection.waiting_frames import WaitingFrames
from node_agent.sessions.execution.core import Session
from node_agent.sessions.execution.reply import Reply
from node_agent.sessions.execution.state import Course
from weir_wire import wire
from weir_wire.handshake import Claim
from weir_wire.transport import Frame, Transport
from weir_wire.wire import Fault, Kind, WireError

_ACK_FRAMES = 64
_ACK_BYTES = 8 << 20
# How long a script may import before its first word; less where its user said how long it may lie idle, but never
# so little that PyTorch could not be imported.
_FIRST_S, _IMPORT_S = 600.0, 120.0
_TICK_S = 0.05
_ACK_AFTER_S = 0.004
# Said to the other ranks of its groups.
_ENDS = {"closed": "its client has finished", "detached": "its client is gone"}
_GROUPED = "the session takes part in a process group: it can move when its program has left the group"


class Service:
    """`ticket`: wait for the state of another worker instead of beginning empty."""

    def __init__(self, session: Session, *, token: str, ticket: str = "", detach_s: float = 60.0) -> None:
        self.session = session
        self.detach_s = detach_s
        self.idle_timeout_s: float | None = None
        self.attached = False
        self.transport_name = ""
        self.latency_us: float | None = None
        self.bandwidth_mib_s: float | None = None
        self.pause_ms: float | None = None
        self.move, self.move_reason = "", ""
        self.end = ""
        self._token, self._ticket = token, ticket
        self._course = Course("" if ticket else secrets.token_hex(16), 0, [])
        self._kept = KeptReplies()
        self._waiting = WaitingFrames()
        self._frozen_s: float | None = None
        self._gone_to: Target | None = None
        self._move_target: Target | None = None
        self._mover: Mover | None = None
        self._sent: Mover | None = None
        self._wire: Transport | None = None
        self._parting: Transport | None = None
        self._is_fresh = True
        self._has_come = self._has_left = False
        self._acked = 0
        self._unacked_bytes = 0
        self._left_at = time.monotonic()
        self._came_at: float | None = None
        self._source: Giver | None = None
        self._stop = threading.Event()
        self._listener: Listener

    # --- the listener's rules

    def key_for(self, purpose: str) -> str:
        """The token, or the ticket of a state that is waited for."""
        if purpose == "state":
            if not self._ticket:
                raise Refusal("ended", "no state is waited for here")
            return self._ticket
        if purpose == "client":
            return self._token
        secret = self.session.groups.secret_for(purpose)
        if secret is None:
            raise Refusal("unknown_group", "nobody is waited for here, or not any more")
        return secret

    def check(self, claim: Claim) -> None:
        """One client, from its first to its last word."""
        if self.end or self._has_left:
            raise Refusal("ended", "the session has ended here")
        if claim.purpose != "client":
            return
        if not self._course.session:
            raise Refusal("waiting", "the session's state has not arrived yet")
        if not claim.session and not self._is_fresh:
            raise Refusal("busy", "the session has a client already")
        if claim.session and not wire.mac_equal(claim.session, self._course.session):
            raise Refusal("unknown_session", "this worker holds another session")
        if claim.session and self._wire is not None:
            # The client has given that connection up; cutting it ends the wait for its next frame.
            self._wire.close()

    def let_in(self, arrival: Arrival) -> bool:
        """Another worker of a process group: its way in does not lead through the loop."""
        claim = arrival.claim
        if claim is None or claim.purpose in ("client", "state"):
            return False
        welcome = {
            "mac": arrival.signature,
            "session": "",
            "processed": 0,
            "quota_mib": 0,
            "compute_percent": 0,
        }
        arrival.transport.send((Kind.WELCOME, [wire.dump_json({**welcome, "device": "", "local": None})]))
        self.session.groups.let_in(claim.purpose, arrival.transport)
        return True

    # --- for other threads

    @property
    def is_stopped(self) -> bool:
        """Whether somebody has asked for the end."""
        return self._stop.is_set()

    @property
    def idle_s(self) -> float:
        """Seconds since the last use of the device, or since the client came; 0 before, and while it computes."""
        if self._came_at is None or self.session.is_running or self.session.groups.is_running:
            return 0.0
        return time.monotonic() - max(self.session.used_at, self.session.groups.used_at, self._came_at)

    @property
    def _away_s(self) -> float:
        """How long the client may be away now: before it has come it may be importing what its script needs."""
        if self._came_at is not None or self._ticket:
            return self.detach_s
        limit_s = self.idle_timeout_s
        return max(_FIRST_S if limit_s is None else max(limit_s, _IMPORT_S), self.detach_s)

    def stop_soon(self) -> None:
        """End between two frames; may be called from a signal's handler."""
        self._stop.set()

    def tell(self, kind: Kind, **fields: Any) -> bool:
        """A word to the client; False where it is not there."""
        transport = self._wire
        if transport is None:
            return False
        try:
            transport.send((kind, [wire.dump_json(fields)]))
        except OSError:
            return False
        return True

    # --- the loop

    def run(self, listener: Listener) -> None:
        """Serve until the client has finished, or stayed away too long, or `stop`."""
        self._listener = listener
        self.session.groups.reach = listener.reach
        while not (self.end or self._stop.is_set()):
            try:
                self._arrivals_take()
                self._move_when_ready()
                self._serve_some()
            except (OSError, WireError) as error:
                self._drop(error)
        self.session.groups.close(_ENDS.get(self.end, "its session has ended"))

    def _serve_some(self) -> None:
        """Frames until something else wants attention. Raises OSError when the connection drops."""
        transport = self._wire
        if transport is None or self._frozen_s is not None:
            if time.monotonic() - self._left_at > self._away_s:
                self.end = "detached"
            self._hear_other_end()
            time.sleep(0 if not self._listener.arrivals.empty() else 0.005)
            return
        while (
            self._wire is transport
            and self._listener.arrivals.empty()
            and self._mover is None
            and not self.end
        ):
            if self.session.groups.is_running:
                self._hear_beside(transport)
            else:
                self._take_next(transport)
            if self._stop.is_set():
                return

    def _take_next(self, transport: Transport) -> None:
        owes = self._course.processed > self._acked
        frame = self._waiting.next() or transport.receive(_ACK_AFTER_S if owes else _TICK_S)
        if frame is not None:
            self._take(transport, frame)
        elif owes:
            self._acknowledge(transport)

    def _hear_beside(self, transport: Transport) -> None:
        """While the session waits for other ranks: whether its client is still there, and what it wants next."""
        self.session.groups.wait(_TICK_S)
        while self._waiting.has_room:
            frame = transport.receive(0)
            if frame is None:
                return
            if wire.is_counted(frame.kind) or frame.kind == Kind.BYE:
                self._waiting.keep(frame)
            else:
                self._control(transport, *frame)

    def _take(self, transport: Transport, frame: Frame) -> None:
        kind, payload = frame
        if not wire.is_counted(kind):
            self._control(transport, kind, payload)
            return
        # Frames are sent only after the client has settled here; it need not say so.
        self._is_fresh, self.attached = False, True
        self._kept.freeze()
        reply = self.session.handle(kind, payload)
        course = self._course
        course.processed += 1
        if reply is not None:
            self._kept.keep(course.processed, reply)
            self._answer(transport, course.processed, reply)
            self._acked, self._unacked_bytes = course.processed, 0
            return
        self._unacked_bytes += len(payload)
        if course.processed - self._acked >= _ACK_FRAMES or self._unacked_bytes >= _ACK_BYTES:
            self._acknowledge(transport)

    def _acknowledge(self, transport: Transport) -> None:
        self._acked, self._unacked_bytes = self._course.processed, 0
        transport.send((Kind.ACK, [wire.NUMBER.pack(self._acked)]))

    def _control(self, transport: Transport, kind: int, payload: memoryview) -> None:
        if kind == Kind.PING:
            transport.send((Kind.PONG, [bytes(payload[:8])]))
        elif kind == Kind.GOT and len(payload) == wire.NUMBER.size:
            self._kept.forget(wire.NUMBER.unpack(payload)[0])
        elif kind == Kind.REPORT:
            self._report(wire.load_json(payload))
        elif kind == Kind.BYE and payload and wire.load_json(payload).get("is_kept") is True:
            self._begin_anew()
        elif kind == Kind.BYE:
            self.end = "closed"
        else:
            self.session.table.blame(Fault("bad_kind", "", f"no frame of kind {kind} is known"))

    def _begin_anew(self) -> None:
        """Empty and for whoever comes next: what the client had is gone with it."""
        transport, self._wire, self.attached = self._wire, None, False
        if transport is not None:
            transport.close()
        self.session.groups.close("its client has finished")
        self.session = self._empty()
        self._course, self._kept = Course(secrets.token_hex(16), 0, []), KeptReplies()
        self._is_fresh, self._came_at, self._left_at = True, None, time.monotonic()
        self._acked = self._unacked_bytes = 0

    def _empty(self) -> Session:
        """A session of the same device and share with nothing in it."""
        made = Session(self.session.device, self.session.quota_mib, clock=self.session.clock)
        made.share_set(quota_mib=self.session.quota_mib, compute_percent=self.session.compute_percent)
        made.groups.reach = self.session.groups.reach
        return made

    def _report(self, report: dict[str, Any]) -> None:
        self.latency_us = _measure(report.get("latency_us"), self.latency_us)
        self.bandwidth_mib_s = _measure(report.get("bandwidth_mib_s"), self.bandwidth_mib_s)
        if self._has_come and report.get("pause_ms") is not None:
            self.pause_ms = _measure(report.get("pause_ms"), None)
            self.move = "done"
        self.attached = True

    # --- replies

    @staticmethod
    def _answer(transport: Transport, number: int, reply: Reply) -> None:
        faults = wire.pack_faults(reply.faults)
        head = wire.VALUE_HEADER.pack(number, len(faults)) + faults
        if not reply.bulk or reply.faults:
            transport.send((Kind.VALUE, [head, *reply.body]))
            return
        data = memoryview(reply.body[0])
        frames = [
            (Kind.PART, [wire.PART_HEADER.pack(number, at), data[at : at + wire.CHUNK_BYTES]])
            for at in range(0, len(data), wire.CHUNK_BYTES)
        ]
        transport.send(*frames, (Kind.VALUE, [head]))

    # --- coming and going

    def _arrivals_take(self) -> None:
        while True:
            try:
                arrival = self._listener.arrivals.get_nowait()
            except queue.Empty:
                return
            if arrival.claim is not None and arrival.claim.purpose == "state":
                self._take_over(arrival)
            else:
                self._attach(arrival)

    def _attach(self, arrival: Arrival) -> None:
        old, self._wire = self._wire, arrival.transport
        self._waiting.clear()
        if old is not None:
            old.close()
        self._parting = None
        self.transport_name = arrival.transport.name
        if arrival.claim is None:
            return
        if arrival.claim.is_back:
            self._thaw("the client could not reach the target")
        if self._has_left or not self._settle():
            self._drop(ConnectionResetError("the session lives at the other end of its move"))
            return
        self._welcome(arrival)
        self._came_at = self._came_at or time.monotonic()
        self._kept.forget(arrival.claim.received)
        for number, reply in self._kept.again():
            self._answer(arrival.transport, number, reply)
        self._acked = self._course.processed
        if self._gone_to is not None:
            self._send_away(self._gone_to)

    def _welcome(self, arrival: Arrival) -> None:
        session = self.session
        welcome = {
            "mac": arrival.signature,
            "session": self._course.session,
            "processed": self._course.processed,
            "quota_mib": session.quota_mib,
            "compute_percent": session.compute_percent,
            "device": session.device,
            "local": self._listener.invite(),
        }
        arrival.transport.send((Kind.WELCOME, [wire.dump_json(welcome)]))

    def _drop(self, error: Exception) -> None:
        if isinstance(error, WireError):
            self.session.table.blame(Fault(error.code, "", str(error)))
        self._waiting.clear()
        if self._wire is not None:
            self._wire.close()
            self._wire = None
            self._left_at = time.monotonic()
        self.attached = False

    # --- moving

    def move_to(self, target: Target | None) -> None:
        """What session.json says: go there. Called again with the same target, does nothing."""
        if target == self._move_target:
            return
        self._move_target = target
        if target is not None and not self._ticket and self._frozen_s is None:
            if self.session.groups.is_any:
                self._move_failed(_GROUPED)
                return
            self.move, self.move_reason = "sending", ""
            threading.Thread(target=self._prepare, args=(Mover(target),), daemon=True).start()

    def _prepare(self, mover: Mover) -> None:
        """Beside the session, which computes on."""
        try:
            mover.prepare(self.session.memory.peak_bytes)
        except (OSError, WireError) as error:
            mover.close()
            self._move_failed(f"the target cannot take the session over: {error}")
        else:
            self._mover = mover

    def _move_failed(self, reason: str) -> None:
        self.move, self.move_reason = "failed", reason

    def _move_when_ready(self) -> None:
        mover, self._mover = self._mover, None
        if mover is None:
            return
        if mover.target != self._move_target or self.session.groups.is_any:
            mover.close()
            self._move_failed(_GROUPED if self.session.groups.is_any else "the move was called off")
            return
        began = time.monotonic()
        self._kept.freeze()
        self._course.kept = list(self._kept.rows)
        try:
            mover.send(self.session, self._course)
        except (OSError, WireError) as error:
            mover.close()
            self._move_failed(f"the target did not take the session over: {error}")
            return
        self._sent, self._frozen_s, self._gone_to, self.move = mover, began, mover.target, "sent"
        self._send_away(mover.target)

    def _send_away(self, target: Target) -> None:
        """The client goes there; if it cannot, it comes back and finds everything as it was."""
        transport, self._wire, self.attached = self._wire, None, False
        self._left_at = time.monotonic()
        # Kept open: closing it with unread frames would reset it, and the client might miss the word.
        self._parting = transport
        if transport is None:
            return
        frozen_s = time.monotonic() - (self._frozen_s or 0)
        with contextlib.suppress(OSError):
            transport.send((Kind.MOVED, [moved_payload(target, frozen_s)]))

    def _thaw(self, reason: str) -> None:
        """Go on here, unless the target has the client: a session lives at one end only."""
        if self._sent is None:
            return
        if not self._sent.is_called_off():
            self._part()
            return
        self._sent = self._frozen_s = self._gone_to = None
        self._move_failed(reason)

    def _hear_other_end(self) -> None:
        """Of a move whose client is on its way: one end alone goes on."""
        if self._sent is not None and self._sent.is_settled():
            self._part()
        if self._source is not None and self._source.has_called_off():
            self._called_off()

    def _called_off(self) -> None:
        self._part()
        self.move_reason = "the source has called the move off"

    def _part(self) -> None:
        """The session lives at the other end: nothing of it stays here."""
        self._sent, self._source, self._has_left = None, None, True
        self.session = Session(self.session.device, self.session.quota_mib, clock=self.session.clock)
        self._kept = KeptReplies()

    def _settle(self) -> bool:
        """At the target, when the client comes: the source is told; False where it has called the move off."""
        source, self._source = self._source, None
        if source is None or source.settle():
            return True
        self._called_off()
        return False

    def _take_over(self, arrival: Arrival) -> None:
        """The state of another worker; a broken stream leaves this one empty and waiting."""
        if not self._ticket:
            arrival.transport.close()
            return
        fresh = self._empty()
        taker = Taker(arrival.transport, self._next_transport)
        try:
            self._welcome(arrival)
            course = taker.take(fresh)
        except (OSError, WireError) as error:
            self.move_reason = f"a state did not arrive whole: {error}"
            taker.close()
            return
        self._source = taker.giver()
        self._ticket, self._has_come = "", True
        self.session, self._course = fresh, course
        self._kept = KeptReplies(course.kept)
        self._is_fresh = False
        self._came_at = self._left_at = time.monotonic()

    def _next_transport(self) -> Transport:
        try:
            return self._listener.arrivals.get(timeout=2.0).transport
        except queue.Empty as error:
            raise ConnectionResetError("the source went away") from error


def _measure(value: Any, default: float | None) -> float | None:
    is_sane = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if is_sane else default
