"""The process groups of a session: what its client asks of them, run in order with everything else.

A collective may wait long for the other ranks. It runs in a thread of its own; the session runs nothing else until it
is over, and its worker hears its client meanwhile.
"""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from node_agent.sessions.execution.collectives.group import Group, purpose_of, size_checked
from node_agent.sessions.execution.collectives.loan import Loan
from node_agent.sessions.execution.collectives.peers import GroupBroken, Patience
from node_agent.sessions.execution.collectives.request import Request
from node_agent.sessions.execution.faults import fault_of
from node_agent.sessions.execution.handle_table import Poisoned, Table
from node_agent.sessions.execution.reply import Reply
from weir_wire import wire
from weir_wire.transport import Transport
from weir_wire.wire import Fault, Kind, WireError

_ENDS_S = 2.0


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What is under way: of which group, what it is called, and the handles that it writes to."""

    future: concurrent.futures.Future[None]
    group: Group
    op: str
    written: list[int]


class Groups:
    """`reach` is where other workers find this one: host ("" where the client knows better), port, fingerprint.
    `used_at` is when a collective last ended."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._loan = Loan(table.memory)
        self.used_at = 0.0
        self._groups: dict[str, Group] = {}
        self._running: UnderWay | None = None
        self._thread: concurrent.futures.ThreadPoolExecutor | None = None
        self._ended = ""
        self.reach: tuple[str, int, str] | None = None

    @property
    def handlers(self) -> dict[int, Callable[[memoryview], Reply | None]]:
        """What runs which kind of frame."""
        return {
            Kind.MEET: self._meet,
            Kind.JOIN: self._join,
            Kind.COLLECTIVE: self._collective,
            Kind.LEAVE: self._leave,
        }

    @property
    def is_any(self) -> bool:
        """Whether the session belongs to a group."""
        return bool(self._groups)

    # --- what is under way

    @property
    def is_running(self) -> bool:
        """Whether nothing else may run yet."""
        return self._running is not None and not self._running.future.done()

    def wait(self, timeout_s: float) -> None:
        """Until nothing is under way, at most so long."""
        if self._running is not None:
            concurrent.futures.wait([self._running.future], timeout_s)

    def settle(self) -> None:
        """Wait for what is under way, and keep what came of it."""
        self._loan.settle()
        running, self._running = self._running, None
        if running is None:
            return
        error = running.future.exception()
        self.used_at = time.monotonic()
        self._loan.settle()
        if isinstance(error, Exception):
            self._failed(running.group, running.op, error, running.written)

    def _start(self, group: Group, op: str, written: list[int], run: Callable[[], None]) -> None:
        if self._thread is None:
            self._thread = concurrent.futures.ThreadPoolExecutor(1, "collectives")

        def whole() -> None:
            try:
                with torch.inference_mode():
                    run()
            except Exception as error:
                # At once, not when this session's client asks: the other ranks wait.
                group.part(_word_for(group, op, error))
                raise

        self._running = UnderWay(self._thread.submit(whole), group, op, written)

    def _failed(self, group: Group, op: str, error: Exception, written: list[int]) -> None:
        """The group is broken, at every rank; what this one would have written stands for the reason."""
        group.part(_word_for(group, op, error))
        table = self._table
        if isinstance(error, Poisoned):
            fault = error.fault
        elif isinstance(error, GroupBroken):
            fault = Fault("group", op, str(error))
        else:
            fault = fault_of(op, error)
        if fault not in table.faults:
            table.blame(fault)
        table.poison(written, fault)

    # --- other workers

    def secret_for(self, purpose: str) -> str | None:
        """What another worker must know to come for this purpose; None where it is no group's."""
        found = purpose_of(purpose)
        group = self._groups.get(found[0]) if found else None
        if found is None or group is None or not found[1] < group.size:
            return None
        return group.secret_of(found[1]) or None

    def let_in(self, purpose: str, transport: Transport) -> None:
        """Another worker has shown that it knows the secret."""
        found = purpose_of(purpose)
        group = self._groups.get(found[0]) if found else None
        if found is None or group is None:
            transport.close()
            return
        group.let_in(found[1], transport)

    def close(self, reason: str) -> None:
        """Leave all groups; the other ranks are told why."""
        self._ended = reason
        self.wait(_ENDS_S)
        for group in self._groups.values():
            group.part(_left(group, reason))
        self._groups = {}
        if self._thread is not None:
            self._thread.shutdown(wait=False)

    # --- frames

    def _meet(self, payload: memoryview) -> Reply:
        asked = wire.load_json(payload)
        rank, size = size_checked(asked.get("rank"), asked.get("size"))
        if self.reach is None:
            raise WireError("this session has no address for others", "group")
        if len(self._groups) >= wire.MAX_GROUPS:
            raise WireError(f"a session belongs to at most {wire.MAX_GROUPS} groups: destroy some", "group")
        group = Group(rank, size, self._loan, self.reach[0])
        self._groups[group.id] = group
        host, port, fingerprint = self.reach
        told = {"group": group.id, "host": host, "port": port, "fingerprint": fingerprint}
        return Reply([wire.dump_json({**told, "secrets": group.secrets})], [])

    def _join(self, payload: memoryview) -> None:
        asked = wire.load_json(payload)
        group, rows = self._group(asked), asked.get("peers")
        patience = self._patience(asked, group)
        # Higher ranks may have come before this one was asked to join.
        if not isinstance(rows, list) or group.is_joined:
            raise WireError("a malformed joining of a group")
        group.is_joined = True
        self._start(group, "join", [], lambda: group.join(rows, patience))

    def _collective(self, payload: memoryview) -> None:
        asked = wire.load_json(payload)
        group = self._group(asked)
        written: list[int] = []
        try:
            if group.broken:
                raise GroupBroken(group.broken)
            request = Request(asked, group)
            written = request.written
            patience = self._patience(asked, group)
            run = request.prepared(self._table, patience, self._loan)
        except Exception as error:
            self._failed(group, str(asked.get("op"))[:40], error, written)
            return
        self._start(group, request.op, written, run)

    def _leave(self, payload: memoryview) -> None:
        group = self._group(wire.load_json(payload))
        del self._groups[group.id]
        group.part(f"rank {group.rank} has left the group")

    def _group(self, asked: dict[str, Any]) -> Group:
        group = self._groups.get(str(asked.get("group")))
        if group is None:
            raise WireError("the session does not belong to this group", "group")
        return group

    def _patience(self, asked: dict[str, Any], group: Group) -> Patience:
        timeout_s: Any = asked.get("timeout_s")
        if type(timeout_s) not in (int, float) or not 0 < timeout_s < 1e8:
            raise WireError("a time limit is a number of seconds")
        return Patience.of(timeout_s, lambda: self._ended and _left(group, self._ended))


def _left(group: Group, reason: str) -> str:
    return f"rank {group.rank} has left: {reason}"


def _word_for(group: Group, op: str, error: Exception) -> str:
    """For the other ranks. What came from one of them is handed on as it is."""
    if isinstance(error, GroupBroken):
        return str(error)
    fault = error.fault if isinstance(error, Poisoned) else fault_of("", error)
    return f"rank {group.rank} could not take part in {op}: {fault}"
