"""Making a network namespace, and doing something in one, each in a child: who asks stays where it is."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from node_agent.runtime.isolation import syscalls as sys_
from node_agent.runtime.isolation.namespaces import user_namespace_become
from node_agent.runtime.network.pasta import nobody_become

_SET_FLAGS, _UP = 0x8914, 0x1
_SETTINGS = Path("/proc/sys/net/ipv4")
_FILES_MAX = 8


def network_make() -> int:
    """A new network, open: its own 127.0.0.1 is there and nothing else. Of root's making it is nobody's, so that what
    leads it outside needs no powers over anything else. Raises OSError."""
    (made,) = files_from_child(_made)
    files_from_child(_begin, made)
    return made


def _made() -> Sequence[int]:
    if os.geteuid() == 0:
        nobody_become()
        user_namespace_become()
    sys_.unshare(sys_.CLONE_NEWNET)
    return [os.open("/proc/self/ns/net", os.O_RDONLY)]


def _begin() -> Sequence[int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))
    # All its ports are the work's own: programs of images want those below 1024 too.
    (_SETTINGS / "ip_unprivileged_port_start").write_text("0")
    return []


def ports_limit(first: int, last: int) -> Callable[[], Sequence[int]]:
    """To be done in a network: connections and listeners that name no port get one of these."""

    def limit() -> Sequence[int]:
        (_SETTINGS / "ip_local_port_range").write_text(f"{first} {last}")
        return []

    return limit


def files_from_child(act: Callable[[], Sequence[int]], network: int | None = None) -> list[int]:
    """The open files that `act` gives in a child, in a network where one is named. Raises OSError."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        child = os.fork()
        if child == 0:
            _act(act, network, theirs)
        theirs.close()
        said, files, _flags, _address = socket.recv_fds(ours, 4096, _FILES_MAX)
        os.waitpid(child, 0)
    if said != b"done":
        number, _space, words = said.decode(errors="replace").partition(" ")
        raise OSError(int(number or errno.ECHILD), words or "what was asked of a network ended")
    return files


def _act(act: Callable[[], Sequence[int]], network: int | None, asker: socket.socket) -> None:
    try:
        if network is not None:
            sys_.setns(network, sys_.CLONE_NEWNET)
        socket.send_fds(asker, [b"done"], list(act()))
    except OSError as error:
        number = error.errno or (errno.ETIMEDOUT if isinstance(error, TimeoutError) else errno.EIO)
        asker.send(f"{number} {error.strerror or error}".encode()[:2000])
    finally:
        os._exit(0)
