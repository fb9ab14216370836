"""Starts the name server in a network of work's own (`name_relay`), where it needs one."""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Sequence

from node_agent.runtime.network.pasta import files_keep, nobody_become
from node_agent.runtime.network.rules import NAMES

_RELAY = "node_agent.runtime.network.name_relay"
_PORT = 53


def relay_sockets() -> Sequence[int]:
    """To be done in the network: where the work asks, by datagrams and by connections."""
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind((NAMES, _PORT))
    connections = socket.create_server((NAMES, _PORT))
    return [datagrams.detach(), connections.detach()]


def relay_start(files: Sequence[int], server: str) -> None:
    """A process, of nobody's where root starts it, that asks this server and ends with the process namespace. Raises
    OSError."""
    if os.fork():
        for fd in files:
            os.close(fd)
        return
    try:
        # Only here, for it takes long; and before it is nobody, who may not be allowed to read it.
        relay = importlib.import_module(_RELAY)
        if os.geteuid() == 0:
            nobody_become()
        null = os.open(os.devnull, os.O_RDWR)
        files_keep((null, null, null, *files))
        relay.relay_run(socket.socket(fileno=3), socket.socket(fileno=4), server)
    finally:
        os._exit(1)
