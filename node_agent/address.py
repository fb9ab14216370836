"""Where clients reach the sessions of this node (POOL-8.1-1: its own interface or address if set)."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from urllib.parse import urlsplit

import psutil

LOOPBACK = "lo"
"""The network interface by which a machine reaches itself."""


def data_address(setting: str, server: str) -> str:
    """The configured address, else the local one from which the server is reached."""
    return setting or _toward(server) or "127.0.0.1"


def bind_address(address: str) -> str:
    """Where to listen for it: on the address itself where this machine has it, else (NAT, a name) on all."""
    if address in _own():
        return address
    return "::" if ":" in address else "0.0.0.0"  # noqa: S104


def _toward(server: str) -> str:
    """No packet is sent: connecting a datagram socket only chooses the route."""
    parts = urlsplit(server)
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_DGRAM)
        family, kind, proto, _, target = found[0]
        with socket.socket(family, kind, proto) as probe:
            probe.connect(target)
            return str(ipaddress.ip_address(probe.getsockname()[0].partition("%")[0]))
    except (OSError, ValueError, IndexError):
        return ""


def interface_of(address: str) -> str:
    """The name of this machine's network interface that has the address; empty where none has."""
    return _own().get(address, "")


def own_addresses() -> list[str]:
    """All addresses of this machine, of any of its network interfaces."""
    found = []
    for address in _own():
        with suppress(ValueError):
            found.append(str(ipaddress.ip_address(address)))
    return found


def _own() -> dict[str, str]:
    """By address, the name of the interface that has it."""
    found = psutil.net_if_addrs()
    return {item.address.partition("%")[0]: name for name, items in found.items() for item in items}
