"""Where a service listens: on the work's socket, or on a port: of its own network, or of this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from node_agent.web.port_connection import LOCAL, is_listened, is_own
from node_agent.web.work_socket import NotListening, TooBusy, WorkSocket

_CONNECT_S = 0.25


@dataclass(frozen=True, slots=True)
class ServicePlace:
    """`port` is the one that it was told, None before it was told any. `within` connects to a port of the network that
    it has of its own; None: it has its node's."""

    work_socket: WorkSocket
    port: int | None = None
    within: Callable[[int], socket.socket] | None = None

    def connect(self) -> socket.socket:
        """A connection to it, which does not block.

        Where work shares the ports of its node, a listener that is not the service's own user's is not spoken to.

        Raises:
            NotListening: nothing of the service's listens.
            TooBusy: it takes no more connections.
        """
        try:
            return self.work_socket.connect()
        except NotListening:
            if self.port is None:
                raise
        if self.within is not None:
            return self._connected_within(self.within, self.port)
        owner = self._owner
        for family, address in LOCAL.items():
            # Who listened may have gone in between, and somebody else come: he is looked for on both sides of it.
            if not is_own(family, self.port, owner):
                continue
            connection = socket.socket(family)
            connection.settimeout(_CONNECT_S)
            try:
                connection.connect((address, self.port))
            except TimeoutError as error:
                connection.close()
                raise TooBusy("it takes no more connections") from error
            except OSError:
                connection.close()
                continue
            if is_own(family, self.port, owner):
                connection.setblocking(False)
                return connection
            connection.close()
        raise NotListening(self._silence)

    def _connected_within(self, within: Callable[[int], socket.socket], port: int) -> socket.socket:
        try:
            return within(port)
        except TimeoutError as error:
            raise TooBusy("it takes no more connections") from error
        except OSError as error:
            raise NotListening(f"nothing listens on port {port}") from error

    @property
    def _owner(self) -> int:
        return os.getuid() if self.work_socket.owner is None else self.work_socket.owner

    @property
    def _silence(self) -> str:
        if self.port is not None and is_listened(self.port):
            return f"port {self.port} is taken on this node by something else: let the node choose one"
        return f"nothing listens on port {self.port}"


def port_free() -> int:
    """A port of this machine that nobody has now."""
    with socket.socket(socket.AF_INET) as tried:
        tried.bind(("127.0.0.1", 0))
        number: int = tried.getsockname()[1]
        return number
