"""Asking the keeper of a slice's work, its shim, by the socket in the slice's folder."""

from __future__ import annotations

import errno
import json
import os
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

_MESSAGE_BYTES = 64 * 1024
# The most that it hands over: the ends of a process's input, output and errors.
_FILES = 3


def keeper_ask(
    path: Path, asked: dict[str, Any], answer_s: float
) -> tuple[socket.socket, dict[str, Any], list[int]]:
    """A connection by which this was asked, the answer ({}: the work has ended), and the files that came with it.
    Raises OSError."""
    connection = _connected(path)
    try:
        connection.settimeout(answer_s)
        connection.send(json.dumps(asked).encode())
        message, files, _flags, _address = socket.recv_fds(connection, _MESSAGE_BYTES, _FILES)
        connection.setblocking(False)
    except OSError:
        connection.close()
        raise
    return connection, json.loads(message) if message else {}, files


def keeper_connect(path: Path, port: int, answer_s: float) -> socket.socket:
    """A connection, which does not block, to a port of the network that the work has of its own. Raises OSError:
    ConnectionRefusedError where nothing listens there, TimeoutError where it takes no more connections."""
    asking, told, files = keeper_ask(path, {"connect": port}, answer_s)
    asking.close()
    if not files:
        number = told.get("errno", errno.ECONNREFUSED)
        raise OSError(number, told.get("detail", "the work has ended"))
    connection = socket.socket(fileno=files[0])
    connection.setblocking(False)
    return connection


def _connected(path: Path) -> socket.socket:
    """By a path of any length."""
    with ExitStack() as opened:
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, folder)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(f"/proc/self/fd/{folder}/{path.name}")
        except OSError:
            connection.close()
            raise
        return connection
