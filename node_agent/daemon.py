"""The agent's loop: look at the slices, tell the server, do what the machine says.

Nothing that a server, a disk or a driver does ends this loop; only a signal does. Work goes on
without it, under its shims.
"""

from __future__ import annotations

import logging
import random
import threading
import time
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice

from node_agent.container_saves import ContainerSaves
from node_agent.credential import Credential, credential_load, credential_save, token_digest
from node_agent.drivers.base import DriverError, RuntimeDriver
from node_agent.events import EventLog
from node_agent.folder_transfers import FolderTransfers
from node_agent.images.transfers import ImageTransfers
from node_agent.instructions import Discard, Forget, Instruction, Resize, Send, Start, Stop
from node_agent.machine import DevicesFound, Distrusted, Event, Failed, Machine, Observed, Replied
from node_agent.node import Node
from node_agent.protocol.fields import (
    LOGS_PER_SYNC,
    PROTOCOL_VERSION,
    SLICES_PER_NODE,
    TERMINAL_STATES,
    USAGE_PER_SYNC,
)
from node_agent.protocol.join import JoinRequest
from node_agent.protocol.metrics import METRICS_PER_SYNC, MetricBatch
from node_agent.protocol.slices import DesiredSlice, LogChunk, SliceReport, UsageReport
from node_agent.protocol.sync import SyncReply, SyncRequest
from node_agent.remote_config import Configured
from node_agent.transport import Transport, TransportError, Unauthorised, UnknownProtocol
from node_agent.upgrade import Upgrade
from node_agent.web.tunnel import WebTunnel

LOOK_S = 0.25
BACKOFF_MIN_S, BACKOFF_MAX_S = 1.0, 60.0
SKEW_S = 30.0
LOG_BYTES_PER_SYNC = 1024 * 1024

log = logging.getLogger("weir.agent")


class Daemon:
    """One node's agent. `run` returns once `stop` is set."""

    def __init__(self, configured: Configured, node: Node, runtime: RuntimeDriver, events: EventLog) -> None:
        settings = self._settings = configured.settings
        self._configured, self._node, self._runtime, self._events = configured, node, runtime, events
        self._transport = Transport(settings.server, settings.ca)
        self.upgrade = Upgrade(settings, self._transport)
        self._machine = Machine()
        self._transfers = FolderTransfers(
            self._transport, runtime.folders, runtime.folder_owner, runtime.library
        )
        self._images = ImageTransfers(self._transport, runtime.images, runtime.images_used)
        self._saves = ContainerSaves(self._transport, settings.home / "saves", runtime.container)
        self._tunnel = WebTunnel(settings.server, settings.ca, runtime.web_socket, runtime.executions)
        self._credential = credential_load(settings.home, settings.server)
        self._boot_id, self._seq = uuid.uuid4().hex, 0
        self._next_sync_at = 0.0
        self._failures = 0
        self._told: dict[str, _Key] = {}
        self._trouble = ""
        self._failed = ""
        self._is_clock_wrong = False
        self.stop = threading.Event()

    def run(self) -> None:
        """Look and sync until told to stop."""
        self._do(self._machine.handle(DevicesFound(self._node.reports())))
        while not self.stop.is_set():
            try:
                self.turn()
            except Exception as error:  # whatever it is, the node must not leave the server's sight
                self._surprised(error)
            if self.upgrade.is_due.is_set():
                break
            self.stop.wait(LOOK_S)
        self._tunnel.close()
        self._transport.close()

    def _surprised(self, error: Exception) -> None:
        """Tell a new surprise with all its detail, once, and try again at leisure."""
        self._next_sync_at = time.monotonic() + BACKOFF_MIN_S
        if repr(error) != self._trouble:
            self._trouble = repr(error)
            log.error("unexpected trouble; the agent goes on", exc_info=error)

    def turn(self) -> None:
        """One look, and a sync if it is due or something has changed."""
        self._handle(Observed(self._runtime.list()))
        self._take_fetched()
        has_news = self._note_changes()
        self._tunnel_keep()
        if time.monotonic() >= self._next_sync_at or (has_news and not self._failures):
            self._exchange()

    def _tunnel_keep(self) -> None:
        """Hold the tunnel while there is work that it leads to."""
        if self._credential is not None and self._runtime.is_reachable:
            self._tunnel.open(self._credential.credential)
        else:
            self._tunnel.close()

    # ---- with the server ----

    def _exchange(self) -> None:
        try:
            if self._credential is None:
                self._join()
            else:
                self._sync(self._credential)
        except TransportError as error:
            self._back_off(error)
        except OSError as error:
            self._back_off(TransportError(f"the credential cannot be stored: {error}"))

    def _join(self) -> None:
        token = self._settings.join_token
        if token is None:
            raise Unauthorised(
                "this node has not joined yet: set WEIR_AGENT_JOIN_TOKEN to a fresh join token"
            )
        reply = self._transport.join(
            JoinRequest(
                protocol=PROTOCOL_VERSION,
                join_token=token.get_secret_value(),
                node=self._node.info(),
                devices=self._node.reports(),
            )
        )
        digest = token_digest(token.get_secret_value())
        self._credential = Credential(self._settings.server, reply.node_uid, reply.credential, digest)
        log.info("joined %s as node %s", self._settings.server, reply.node_uid)
        self._recover(0.0)
        credential_save(self._settings.home, self._credential)

    def _sync(self, credential: Credential) -> None:
        try:
            reply = self._transport.sync(credential.credential, self._request())
        except Unauthorised:
            if not self._has_fresh_token(credential):
                raise
            log.info("the stored credential is refused; joining again with the new join token")
            return self._join()
        for uid, seq in reply.metric_acks.items():
            self._runtime.metrics_drop(uid, seq)
        has_more = self._events.ack(reply.event_ack) or self._has_more(reply)
        self._recover(0.0 if has_more else reply.next_sync_s)
        self._handle(Replied(reply))
        self._saves.want(reply.containers_save)
        self._note_clock(reply.server_time)
        self._configured.follow(reply.config)
        self.upgrade.synced(reply.release)

    def _note_clock(self, server_time: datetime) -> None:
        """A wrong clock is told once, and once more when it is right again; metering does not follow it."""
        skew_s = (datetime.now(UTC) - server_time).total_seconds()
        is_wrong = abs(skew_s) > SKEW_S
        if is_wrong and not self._is_clock_wrong:
            side = "ahead of" if skew_s > 0 else "behind"
            log.warning("this node's clock is %d s %s the server's: set it by NTP", abs(skew_s), side)
        elif self._is_clock_wrong and not is_wrong:
            log.info("this node's clock agrees with the server's again")
        self._is_clock_wrong = is_wrong

    def _has_fresh_token(self, credential: Credential) -> bool:
        token = self._settings.join_token
        return token is not None and token_digest(token.get_secret_value()) != credential.token_digest

    def _request(self) -> SyncRequest:
        devices = self._node.reports()
        self._do(self._machine.handle(DevicesFound(devices)))
        uids = self._machine.slice_uids()
        self._seq += 1
        return SyncRequest(
            protocol=PROTOCOL_VERSION,
            boot_id=self._boot_id,
            seq=self._seq,
            sent_at=datetime.now(UTC),
            node=self._node.info().model_copy(update={"release_problem": self.upgrade.problem}),
            devices=devices,
            slices=self._slice_reports(),
            usage=tuple(self._usage(uids)),
            logs=tuple(self._logs(uids)),
            events=self._events.pending(),
            metrics=tuple(self._metrics(uids)),
            folders=self._machine.folders_idle(self._runtime.folders.names())[:SLICES_PER_NODE],
            saves=True,
        )

    def _slice_reports(self) -> tuple[SliceReport, ...]:
        """What fits into one message, the living first."""
        reports = sorted(self._machine.reports(), key=lambda report: report.state in TERMINAL_STATES)
        return tuple(reports[:SLICES_PER_NODE])

    def _usage(self, uids: Iterable[str]) -> Iterable[UsageReport]:
        room = USAGE_PER_SYNC
        for uid in uids:
            reports = self._runtime.usage(uid, self._machine.usage_acks.get(uid, 0), room)
            yield from reports
            room -= len(reports)

    def _logs(self, uids: Iterable[str]) -> Iterable[LogChunk]:
        """Chunks in order of offset, one of each slice in turn so that a loud one silences nobody."""
        offsets = {uid: self._machine.log_acks.get(uid, 0) for uid in uids}
        room, bytes_left = LOGS_PER_SYNC, LOG_BYTES_PER_SYNC
        while offsets and room and bytes_left > 0:
            for uid in list(offsets)[:room]:
                chunk = self._runtime.log(uid, offsets[uid]) if bytes_left > 0 else None
                if chunk is None:
                    del offsets[uid]
                    continue
                size = len(chunk.text.encode())
                offsets[uid] += size
                room, bytes_left = room - 1, bytes_left - size
                yield chunk

    def _metrics(self, uids: Sequence[str]) -> Iterable[MetricBatch]:
        """The oldest batch of each slice, of some slices in turn where there are many."""
        first = self._seq % max(len(uids), 1)
        batches = (self._runtime.metrics(uid) for uid in (*uids[first:], *uids[:first]))
        return islice((batch for batch in batches if batch is not None), METRICS_PER_SYNC)

    def _has_more(self, reply: SyncReply) -> bool:
        """Whether acknowledgements rose and leave something unsent: then the next sync is due at once."""
        machine = self._machine
        risen = [uid for uid, seq in reply.usage_acks.items() if seq > machine.usage_acks.get(uid, 0)]
        grown = [uid for uid, offset in reply.log_acks.items() if offset > machine.log_acks.get(uid, 0)]
        held = set(machine.slice_uids())
        return (
            any(self._runtime.usage(uid, reply.usage_acks[uid], 1) for uid in risen if uid in held)
            or any(self._runtime.log(uid, reply.log_acks[uid]) for uid in grown if uid in held)
            or any(self._runtime.metrics(uid) for uid in reply.metric_acks if uid in held)
        )

    def _recover(self, wait_s: float) -> None:
        if self._trouble:
            log.info("the server answers again")
        self._failures, self._trouble = 0, ""
        self._next_sync_at = time.monotonic() + wait_s

    def _back_off(self, error: TransportError) -> None:
        if isinstance(error, Unauthorised | UnknownProtocol):
            self._do(self._machine.handle(Distrusted()))
        wait_s = min(BACKOFF_MIN_S * 2 ** min(self._failures, 10), BACKOFF_MAX_S)
        self._failures += 1
        self._next_sync_at = time.monotonic() + wait_s * random.uniform(0.8, 1.0)
        if str(error) != self._trouble:
            self._trouble = str(error)
            log.warning(
                "%s (running work goes on; trying again, at the latest every %d s)", error, BACKOFF_MAX_S
            )

    # ---- with the slices ----

    def _handle(self, event: Event) -> None:
        self._do(self._machine.handle(event))

    def _do(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            try:
                self._carry_out(instruction)
            except (DriverError, OSError) as error:
                if str(error) != self._failed:
                    self._failed = str(error)
                    log.error("%s", error)
                self._machine.handle(Failed(instruction, str(error)))

    def _carry_out(self, instruction: Instruction) -> None:
        match instruction:
            case Start(wanted):
                if wanted.folder is not None and not self._transfers.is_fetched(wanted.folder):
                    self._transfers.fetch(wanted)
                elif wanted.work.image is not None and not self._images.is_fetched(wanted.work.image):
                    self._images.fetch(wanted)
                else:
                    self._start(wanted)
            case Resize(uid, generation, compute_percent, memory_mib, session, size, run_timeout_s):
                share = (compute_percent, memory_mib)
                self._runtime.resize(uid, generation, *share, session, size, run_timeout_s)
            case Stop(uid, generation, saves):
                self._runtime.stop(uid, generation, saves=saves)
            case Forget(uid):
                self._runtime.remove(uid)
            case Discard(folder):
                self._runtime.folder_remove(folder)
                log.info("work folder %s is deleted: its work is over", folder)
            case Send(request):
                self._transfers.send(request)

    def _start(self, wanted: DesiredSlice) -> None:
        device = self._node.device(wanted.device_uid)
        if device is None:
            raise DriverError(f"this node has no device {wanted.device_uid}")
        self._runtime.make(wanted, device)
        self._runtime.start(wanted.slice_uid)

    def _take_fetched(self) -> None:
        """Start what waited for its folder or its image; what cannot have it is refused, and never begins without."""
        for transfers in (self._transfers, self._images):
            transfers.unwant(self._machine.to_stop())
        for wanted, problem in (*self._transfers.fetched(), *self._images.fetched()):
            if problem:
                log.warning("slice %s: %s", wanted.slice_uid, problem, extra={"slice_uid": wanted.slice_uid})
                self._machine.handle(Failed(Start(wanted), problem))
            else:
                self._do([Start(wanted)])

    def _note_changes(self) -> bool:
        """Log one line per change of state; True if there was anything the server should hear at once."""
        now = {report.slice_uid: _key(report) for report in self._machine.reports()}
        for uid, key in now.items():
            before = self._told.get(uid)
            if before is None or before[:3] != key[:3]:
                state, generation, reason = key[:3]
                sentence = f", {reason}" if reason else ""
                told = {"slice_uid": uid}
                log.info("slice %s: %s%s (generation %d)", uid, state, sentence, generation, extra=told)
        for uid in self._told.keys() - now.keys():
            log.info("slice %s: forgotten", uid, extra={"slice_uid": uid})
        is_changed = now != self._told
        self._told = now
        return is_changed


_Key = tuple[str, int, str, bool, int, object]


def _key(report: SliceReport) -> _Key:
    session = report.session
    place = (
        (session.port, session.attached, session.transport, session.move, session.move_reason)
        if session
        else None
    )
    return (report.state, report.generation, report.reason, report.mounted, report.size_step, place)
