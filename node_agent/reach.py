"""Addresses that work is let through to or kept from, as an operator writes them."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Reach:
    """A network, or one port of it (0: all)."""

    network: Network
    port: int = 0


def reach_read(text: str) -> Reach:
    """From an address or a network, with a port or without: `10.1.2.3`, `10.1.0.0/16`, `127.0.0.1:3128`, `[::1]:80`.
    Raises ValueError."""
    text = text.strip()
    address, port = text, ""
    if text.startswith("["):
        address, _closing, rest = text[1:].partition("]")
        if rest and not rest.startswith(":"):
            raise ValueError(f"{text} is no address")
        port = rest[1:]
    elif text.count(":") == 1:
        address, port = text.split(":")
    if port and not (port.isdecimal() and 0 < int(port) < 2**16):
        raise ValueError(f"{port} is no port")
    return Reach(ipaddress.ip_network(address, strict=False), int(port or 0))


def networks_read(texts: Sequence[str]) -> tuple[Network, ...]:
    """Addresses and networks without ports. Raises ValueError."""
    return tuple(ipaddress.ip_network(text.strip(), strict=False) for text in texts)
