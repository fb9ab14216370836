"""A connection to a port on which the work listens, by standard input and output: `… -m … PORT`, run beside the work.

It reaches what the work reaches and nothing else. All work of a node shares its ports, so it makes sure that who
listens is of its own user, where each work has one.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

NOBODY_LISTENS = 69  # EX_UNAVAILABLE
_LISTENS = "0A"
_CHUNK_BYTES = 64 * 1024
_TABLES = {socket.AF_INET: "/proc/net/tcp", socket.AF_INET6: "/proc/net/tcp6"}
LOCAL = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


def main(port: int) -> int:
    """Exit status 69: nothing of the work's listens there."""
    connection = connected(port)
    if connection is None:
        return NOBODY_LISTENS
    sending = threading.Thread(target=_send, args=(connection,), daemon=True)
    sending.start()
    with suppress(OSError):
        while data := connection.recv(_CHUNK_BYTES):
            _write(data)
    return 0


def connected(port: int) -> socket.socket | None:
    """A connection to the port, if its listener is of this user; None: there is none."""
    for family, address in LOCAL.items():
        # Who listened may have gone in between, and somebody else come: he is looked for on both sides of it.
        if not is_own(family, port, os.getuid()):
            continue
        connection = socket.socket(family)
        with suppress(OSError):
            connection.connect((address, port))
            if is_own(family, port, os.getuid()):
                return connection
        connection.close()
    return None


def is_own(family: socket.AddressFamily, port: int, user: int) -> bool:
    """Whether whoever listens at this port for this machine is this user."""
    return _listeners(family, port) == {user}


def is_listened(port: int) -> bool:
    """Whether anybody listens at this port for this machine."""
    return any(_listeners(family, port) for family in LOCAL)


def _listeners(family: socket.AddressFamily, port: int) -> set[int]:
    try:
        rows = [line.split() for line in Path(_TABLES[family]).read_text().splitlines()[1:]]
    except OSError:
        return set()
    local = _shown(family, LOCAL[family])
    places = {f"{address}:{port:04X}" for address in (local, "0" * len(local))}
    return {int(row[7]) for row in rows if row[3] == _LISTENS and row[1] in places}


def _shown(family: socket.AddressFamily, address: str) -> str:
    """An address as the kernel's tables have it: words of four bytes, each as this machine orders them."""
    data = socket.inet_pton(family, address)
    words = [data[start : start + 4] for start in range(0, len(data), 4)]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def _send(connection: socket.socket) -> None:
    with suppress(OSError):
        while data := os.read(0, _CHUNK_BYTES):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
