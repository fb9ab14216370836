"""The keeper of a network of work's own: a process that has it led outside, and that lives as long as its work.

Whoever runs work in the network, a shim, holds a connection to it; with the last of them it ends, however they ended,
and with it, by the kernel's hand, all that it has started: it is the first process of a process namespace. Shims of one
gang on a machine share a network: then the keeper listens on a socket, by which more of them come.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from node_agent.runtime.isolation import syscalls as sys_
from node_agent.runtime.isolation.namespaces import user_namespace_become
from node_agent.runtime.network import ports
from node_agent.runtime.network.inside import files_from_child, network_make, ports_limit
from node_agent.runtime.network.names import relay_sockets, relay_start
from node_agent.runtime.network.pasta import Pasta, Way, device_make_usable, files_keep

_WAIT_MIN_S, _WAIT_MAX_S = 0.2, 5.0
_MESSAGE_BYTES = 4096
_MEMBERS_MAX = 512
_STARTED = b"started"


@dataclass(frozen=True, slots=True)
class KeptNetwork:
    """What is kept. `way`: how it is led outside; None: it is not. `names`: the node's name server that stands behind
    the work's ("": none). `network`: one that is there already; `place`: the socket of a shared one, with `lock` for
    those who come and go."""

    way: Way | None
    names: str = ""
    network: int | None = None
    place: Path | None = None
    lock: int | None = None


def keeper_start(kept: KeptNetwork, member: socket.socket, *, is_in_own_users: bool) -> None:
    """Start one. `member` is the other end of the first member's connection. `is_in_own_users`: this
    process is root of a user namespace of its own already. Raises OSError."""
    told, telling = os.pipe()
    try:
        between = os.fork()
        if between == 0:
            _launch(kept, member, telling, is_in_own_users=is_in_own_users)
        os.close(telling)
        telling = -1
        os.waitpid(between, 0)
        number = os.read(told, 64)
    finally:
        for fd in (told, telling):
            if fd >= 0:
                os.close(fd)
    if number != _STARTED:
        raise OSError(f"the keeper of the work's network has not started: {number.decode(errors='replace')}")


def _launch(kept: KeptNetwork, member: socket.socket, telling: int, *, is_in_own_users: bool) -> NoReturn:
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        found = [fd if fd is not None else null for fd in (kept.network, kept.lock)]
        files_keep((null, null, null, telling, member.detach(), *found))
        if os.geteuid() != 0 and not is_in_own_users:
            user_namespace_become()
        sys_.unshare(sys_.CLONE_NEWPID)
        keeper = os.fork()
        if keeper == 0:
            os.close(3)
            network, lock = (5 if kept.network is not None else None), (6 if kept.lock is not None else None)
            _Keeper(replace(kept, network=network, lock=lock), socket.socket(fileno=4)).run()
        os.write(3, _STARTED)
    except BaseException as error:
        with suppress(OSError):
            os.write(3, str(error).encode()[:60])
    finally:
        os._exit(0)


class _Keeper:
    def __init__(self, kept: KeptNetwork, member: socket.socket) -> None:
        self._kept, self._way = kept, kept.way
        self._members = [member]
        self._network = -1
        self._listening: socket.socket | None = None
        self._pasta: Pasta | None = None
        self._block: ports.Block | None = None
        self._wait_s, self._due_s = _WAIT_MIN_S, 0.0

    def run(self) -> NoReturn:
        try:
            self._begin()
            while self._members or not self._has_ended():
                self._turn()
        except BaseException as error:
            self._tell({"failed": str(getattr(error, "strerror", None) or error)[:400]})
        finally:
            os._exit(0)

    def _begin(self) -> None:
        kept = self._kept
        self._network = kept.network if kept.network is not None else network_make()
        if kept.place is not None:
            self._listening = _listening(kept.place)
        self._welcome(self._members[0])
        if kept.names:
            relay_start(files_from_child(relay_sockets, self._network), kept.names)
        if self._way is not None:
            sys_.unshare(sys_.CLONE_NEWNS)
            sys_.mount("none", "/", flags=sys_.MS_REC | sys_.MS_PRIVATE)
            if os.geteuid() == 0:
                device_make_usable()
            self._pasta = Pasta(self._network, self._way)
        self._tell({"ready": True})

    def _welcome(self, member: socket.socket) -> None:
        """Give a member the network, and the user namespace that it is root of where nobody is root."""
        files = [self._network]
        if os.geteuid() != 0:
            files.append(os.open("/proc/self/ns/user", os.O_RDONLY))
        socket.send_fds(member, [json.dumps({"network": True}).encode()], files)

    def _turn(self) -> None:
        looked: list[socket.socket | int] = [
            *self._members,
            *([self._listening] if self._listening is not None else []),
        ]
        if self._pasta is not None:
            looked += [self._pasta.exited, self._pasta.errors]
        wait_s = 1.0 if self._members else 0.05
        if self._way is not None and self._pasta is None:
            wait_s = min(wait_s, max(self._due_s - time.monotonic(), 0))
        ready = select.select(looked, [], [], wait_s)[0]
        for member in [one for one in self._members if one in ready]:
            self._hear(member)
        if self._listening is not None and self._listening in ready:
            self._accept(self._listening)
        if self._pasta is not None and self._pasta.exited in ready:
            self._lost(self._pasta)
        elif self._pasta is not None and self._pasta.errors in ready:
            self._pasta.hear()
        if self._way is not None and self._pasta is None and time.monotonic() >= self._due_s:
            self._start_again(self._way)

    def _hear(self, member: socket.socket) -> None:
        try:
            said = member.recv(_MESSAGE_BYTES)
        except OSError:
            said = b""
        if not said:
            self._members.remove(member)
            member.close()
            return
        try:
            self._meet(**json.loads(said))
        except OSError as error:
            self._tell({"unmet": str(error)[:400]}, [member])

    def _accept(self, listening: socket.socket) -> None:
        member, _address = listening.accept()
        if len(self._members) >= _MEMBERS_MAX:
            member.close()
            return
        self._members.append(member)
        self._welcome(member)
        if self._pasta is not None or self._way is None:
            self._tell({"ready": True}, [member])

    def _meet(self, meeting_port: int) -> None:
        """Its members meet those on other machines: from there it is reached at this port (0: at none that is known),
        and at the ports that its programs are given."""
        if self._way is None:
            return
        if self._block is None:
            self._block = ports.Block.take(self._kept.place)
            files_from_child(ports_limit(self._block.first, self._block.last), self._network)
        leading = {(self._block.first, self._block.last)} | (
            {(meeting_port, meeting_port)} if meeting_port else set()
        )
        if leading <= set(self._way.ports):
            self._tell({"meets": True})
            return
        self._way = replace(self._way, ports=tuple(sorted(leading | set(self._way.ports))))
        if self._pasta is not None:
            self._pasta.end()
        self._pasta = None
        self._start_again(self._way)
        self._tell({"meets": True})

    def _lost(self, pasta: Pasta) -> None:
        pasta.hear()
        self._tell({"lost": pasta.last_words})
        pasta.end()
        self._pasta = None
        self._due_s = time.monotonic() + self._wait_s
        self._wait_s = min(2 * self._wait_s, _WAIT_MAX_S)

    def _start_again(self, way: Way) -> None:
        try:
            self._pasta = Pasta(self._network, way)
        except OSError as error:
            self._due_s = time.monotonic() + self._wait_s
            self._wait_s = min(2 * self._wait_s, _WAIT_MAX_S)
            self._tell({"lost": str(error)[:400]})
        else:
            self._tell({"ready": True})

    def _tell(self, said: dict[str, Any], members: Sequence[socket.socket] | None = None) -> None:
        for member in self._members if members is None else members:
            with suppress(OSError):
                member.send(json.dumps(said).encode(), socket.MSG_DONTWAIT)

    def _has_ended(self) -> bool:
        """Its last member has gone: whether nobody else is about to come, and nobody can any more."""
        if self._listening is None or self._kept.lock is None or self._kept.place is None:
            return True
        try:
            fcntl.flock(self._kept.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        if select.select([self._listening], [], [], 0)[0]:
            fcntl.flock(self._kept.lock, fcntl.LOCK_UN)
            return False
        self._kept.place.unlink(missing_ok=True)
        return True


def _listening(place: Path) -> socket.socket:
    """A socket at a path of any length, for nobody but this user."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    place.unlink(missing_ok=True)
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    mask = os.umask(0o177)
    try:
        found.bind(f"/proc/self/fd/{folder}/{place.name}")
        found.listen(_MEMBERS_MAX)
    finally:
        os.umask(mask)
        os.close(folder)
    return found
