"""The network that one work stands in, as its shim has it."""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import json
import os
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node_agent.readable import is_readable
from node_agent.runtime import proc
from node_agent.runtime.isolation import syscalls as sys_
from node_agent.runtime.network.inside import files_from_child
from node_agent.runtime.network.keeper import KeptNetwork, keeper_start
from node_agent.runtime.network.pasta import Way
from node_agent.runtime.network.rules import Rules

READY_S = 60.0
_MESSAGE_BYTES = 4096
_CONNECT_S = 0.25
_FILES_MAX = 2
_CREDENTIALS = struct.Struct("3i")
_AGAIN_S = 1.0
_HERE = "127.0.0.1"
_LOCAL = ((socket.AF_INET, _HERE), (socket.AF_INET6, "::1"))


@dataclass(frozen=True, slots=True)
class NetworkWanted:
    """What a slice's record says of the work's network. `rules`: where it leads; None: nowhere. `shared`: the socket by
    which a gang on this machine shares it ("": it is the work's alone); `device`: what its device is called ("": as the
    node's)."""

    rules: Rules | None
    shared: str = ""
    device: str = ""

    def to_json(self) -> dict[str, Any]:
        rules = self.rules.to_json() if self.rules is not None else None
        return {"rules": rules, "shared": self.shared, "device": self.device}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> NetworkWanted:
        rules = Rules.from_json(value["rules"]) if value["rules"] is not None else None
        return cls(rules, value["shared"], value["device"])


class WorkNetwork:
    """Raises OSError where it cannot be had; then nothing is left behind."""

    def __init__(self, wanted: NetworkWanted, names: str = "") -> None:
        """`names`: the name server of the node that stands behind the work's ("": none)."""
        self._wanted, self._names = wanted, names
        self.fd = -1
        # Whether this process started it.
        self._keeper, self._is_own = 0, False
        # Of keepers that this process has taken back.
        self.reaped_cpu_s = 0.0
        self._is_ready, self._is_in_own_users = False, False
        self._is_lost = False
        self._again_s = 0.0
        self._notes: list[str] = []
        self._meeting: int | None = None
        self._connection: socket.socket | None = None
        try:
            self._join()
        except BaseException:
            self.close()
            raise

    # ---- the keeper ----

    def _join(self) -> None:
        """Be with the keeper that there is, or start one."""
        if not self._wanted.shared:
            self._start(None, None)
            return
        place = Path(self._wanted.shared)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(place.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                self._connection, self._is_own = _connected(place), False
            except OSError:
                # Of its own, for it outlives this one: a lock is one opening's.
                self._start(place, os.open(place.with_suffix(".lock"), os.O_RDWR | os.O_CLOEXEC))
            else:
                self._take()
        finally:
            os.close(lock)

    def _start(self, place: Path | None, lock: int | None) -> None:
        wanted = self._wanted
        way = Way(wanted.rules, wanted.device) if wanted.rules is not None else None
        kept = KeptNetwork(way, self._names, self.fd if self.fd >= 0 else None, place, lock)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        try:
            keeper_start(kept, theirs, is_in_own_users=self._is_in_own_users)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            if lock is not None:
                os.close(lock)
        self._connection = ours
        self._is_own = True
        self._take()

    def _take(self) -> None:
        """The network itself, which the keeper gives first."""
        assert self._connection is not None
        self._connection.settimeout(READY_S)
        said, files, self._keeper = _taken(self._connection)
        told = json.loads(said) if said else {}
        if not files:
            raise OSError(
                errno.ENETDOWN, f"its network cannot be made: {told.get('failed', 'its keeper ended')}"
            )
        network, *users = files
        if self.fd < 0:
            self.fd = network
            if users:
                # Without root: what the keeper is root of, this process is root of from here on.
                sys_.setns(users[0], sys_.CLONE_NEWUSER)
                self._is_in_own_users = True
        else:
            os.close(network)
        for fd in users:
            os.close(fd)

    @property
    def is_in_own_users(self) -> bool:
        """Whether this process is root of a user namespace of its own since it has this network."""
        return self._is_in_own_users

    def ready(self) -> None:
        """Wait until it leads outside. Raises OSError where it does not come to that."""
        until_s = time.monotonic() + READY_S
        while not self._is_ready:
            assert self._connection is not None
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not is_readable(self._connection, left_s):
                raise OSError(errno.ETIMEDOUT, f"its network was not ready within {READY_S:.0f} s")
            told = self._hear()
            if told is None or "failed" in told:
                why = (told or {}).get("failed", "its keeper ended")
                raise OSError(errno.ENETDOWN, f"its network cannot be led outside: {why}")

    def _hear(self) -> dict[str, Any] | None:
        """What the keeper says; None where it has gone."""
        assert self._connection is not None
        try:
            said = self._connection.recv(_MESSAGE_BYTES)
        except OSError:
            said = b""
        told: dict[str, Any] | None = json.loads(said) if said else None
        if told is not None and "ready" in told:
            if self._is_lost:
                self._notes.append("its network leads outside again")
            self._is_ready, self._is_lost = True, False
        if told is not None and "lost" in told:
            self._is_lost = True
            self._notes.append(f"its network does not lead outside for the moment: {told['lost']}")
        return told

    def look(self) -> list[str]:
        """Hear of it, and see to it that it has a keeper; what is to be said of it in the work's log."""
        if self._connection is None:
            self._reap()
            self._again()
        elif is_readable(self._connection, 0):
            told = self._hear()
            if told is None or "failed" in told:
                why = (told or {}).get("failed", "its keeper ended")
                self._notes.append(f"its network does not lead outside for the moment: {why}")
                self._connection.close()
                self._connection = None
        notes, self._notes = self._notes, []
        return notes

    def _again(self) -> None:
        if time.monotonic() < self._again_s:
            return
        self._again_s = time.monotonic() + _AGAIN_S
        try:
            self._join()
            if self._meeting is not None:
                self._meet(self._meeting)
            self._notes.append("its network has a keeper again")
        except OSError:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def meet(self, port: int) -> None:
        """Members of its gang on other machines are to reach it: at the port where all meet, if that is here (0: it is
        not), and at those that its programs are given. Waits until they do. Raises OSError."""
        if port == self._meeting or not self._wanted.shared:
            return
        self._meeting = port
        self._meet(port)
        until_s = time.monotonic() + READY_S
        while time.monotonic() < until_s and self._connection is not None:
            if is_readable(self._connection, 0.1):
                told = self._hear()
                if told is not None and "unmet" in told:
                    raise OSError(errno.EADDRNOTAVAIL, str(told["unmet"]))
                if told is None or "meets" in told:
                    return

    def _meet(self, port: int) -> None:
        if self._connection is not None:
            self._connection.send(json.dumps({"meeting_port": port}).encode())

    # ---- in it ----

    def connect(self, port: int) -> socket.socket:
        """A connection, which does not block, to what listens at this port in there.

        Raises:
            ConnectionRefusedError: nothing does.
            TimeoutError: it takes no more connections.
        """

        def connected() -> Sequence[int]:
            for family, address in _LOCAL:
                connection = socket.socket(family)
                connection.settimeout(_CONNECT_S)
                with contextlib.suppress(ConnectionError):
                    connection.connect((address, port))
                    return [connection.detach()]
            raise OSError(errno.ECONNREFUSED, f"nothing listens on port {port}")

        connection = socket.socket(fileno=files_from_child(connected, self.fd)[0])
        connection.setblocking(False)
        return connection

    def port_free(self) -> int:
        """A port in there that nobody has now."""

        def bound() -> Sequence[int]:
            tried = socket.socket(socket.AF_INET)
            tried.bind((_HERE, 0))
            return [tried.detach()]

        with socket.socket(fileno=files_from_child(bound, self.fd)[0]) as tried:
            number: int = tried.getsockname()[1]
            return number

    # ---- the helpers ----

    @property
    def pids(self) -> list[int]:
        """The keeper and what it has started, where this work's shim started it: they are ours, not the work's."""
        if not (self._keeper and self._is_own) or proc.stat_fields(self._keeper) is None:
            return []
        return [self._keeper, *proc.descendants(self._keeper)]

    @property
    def cpu_s(self) -> float:
        """Processor time that they took so far."""
        return self.reaped_cpu_s + proc.cpu_seconds_of(self.pids)

    def _reap(self) -> None:
        """Take back a keeper that has ended; its time is not the work's."""
        if not (self._keeper and self._is_own):
            return
        try:
            pid, _status, usage = os.wait4(self._keeper, os.WNOHANG)
        except ChildProcessError:
            self._keeper = 0
            return
        if pid:
            self._keeper = 0
            self.reaped_cpu_s += usage.ru_utime + usage.ru_stime

    def close(self) -> None:
        """The work has ended: let go of it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _connected(place: Path) -> socket.socket:
    """By a path of any length."""
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    found = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    try:
        found.connect(f"/proc/self/fd/{folder}/{place.name}")
    except OSError:
        found.close()
        raise
    finally:
        os.close(folder)
    return found


def _taken(connection: socket.socket) -> tuple[bytes, list[int], int]:
    """A message, the open files that came with it, and whose it is by this process's own numbers. Raises OSError."""
    room = socket.CMSG_SPACE(_FILES_MAX * 4) + socket.CMSG_SPACE(_CREDENTIALS.size)
    said, beside, _flags, _address = connection.recvmsg(_MESSAGE_BYTES, room)
    files, sender = array.array("i"), 0
    for _level, kind, data in beside:
        if kind == socket.SCM_RIGHTS:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
        elif kind == socket.SCM_CREDENTIALS:
            sender = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
    for fd in files:
        os.set_inheritable(fd, False)
    return said, list(files), sender
