"""The socket on which work serves its web pages: its own process listens there, and nobody else is reached by it."""

from __future__ import annotations

import os
import socket
import stat
import struct
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

SOCKET = "weir-web.sock"
VARIABLE = "WEIR_WEB_SOCKET"


class NotListening(Exception):
    """Nothing of the work's listens on its socket."""


class TooBusy(Exception):
    """What listens there takes no more connections now."""


@dataclass(frozen=True, slots=True)
class WorkSocket:
    """`folder` holds the socket, as the node sees it; `owner` is the work's user (None: the agent's own)."""

    folder: Path
    owner: int | None

    def connect(self) -> socket.socket:
        """A connection to it, which does not block.

        The folder is the work's to write. A link that it puts there is not followed, and neither a socket nor a
        listener that belongs to somebody else is spoken to: the agent may reach more than the work may.

        Raises:
            NotListening: there is no socket of the work's, or nobody listens on it.
            TooBusy: its queue of connections is full.
        """
        with ExitStack() as opened:
            try:
                place = _path_fd(self.folder, None, os.O_DIRECTORY)
                opened.callback(os.close, place)
                node = _path_fd(Path(SOCKET), place, 0)
                opened.callback(os.close, node)
            except OSError as error:
                raise NotListening("it has no socket yet") from error
            self._check_owner(node)
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            opened.callback(connection.close)
            connection.setblocking(False)
            try:
                # By the file that was looked at, whatever has taken its name since; and a path of any length.
                connection.connect(f"/proc/self/fd/{node}")
            except BlockingIOError as error:
                raise TooBusy("it takes no more connections") from error
            except OSError as error:
                raise NotListening("nobody listens on its socket") from error
            self._check_peer(connection)
            return connection.dup()

    def _check_owner(self, node: int) -> None:
        facts = os.fstat(node)
        if not stat.S_ISSOCK(facts.st_mode) or (self.owner is not None and facts.st_uid != self.owner):
            raise NotListening("what stands in its place is no socket of the work's")

    def _check_peer(self, connection: socket.socket) -> None:
        said = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _pid, uid, _gid = struct.unpack("3i", said)
        if self.owner is not None and uid != self.owner:
            raise NotListening("who listens there is not the work")


def _path_fd(path: Path, folder: int | None, flags: int) -> int:
    return os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
