"""Which addresses work reaches from a network of its own: what an operator says, and what nobody is to reach."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from node_agent.reach import Network, Reach

# This machine, its link with the services for machines of a cloud that lie there, groups and everybody; and where
# clouds have those services elsewhere.
_NEVER = (
    "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
    "100.100.100.200/32", "192.0.0.192/32",
    "::/8", "fe80::/10", "ff00::/8", "64:ff9b::a9fe:0/112", "fd00:ec2::254/128", "fd20:ce::254/128",
)  # fmt: skip
NAMES = "127.0.0.53"
"""Where work finds a name server, where it does not reach that of its node."""
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Rules:
    """`allowed` goes before `denied`, and what is neither is reached. `ports` of the node's own 127.0.0.1 are found at
    the same ports of the work's own. `is_elsewhere`: the network has an address of its own, not its node's, so that
    what is allowed of the node's is reached."""

    allowed: tuple[Reach, ...] = ()
    denied: tuple[Network, ...] = ()
    ports: tuple[int, ...] = ()
    is_elsewhere: bool = False

    @classmethod
    def of_node(cls, allowed: Iterable[Reach], denied: Iterable[Network], own: Iterable[str]) -> Self:
        """What the operator says, and besides that what nobody is to reach; `own` are the addresses of the node."""
        wanted = list(allowed)
        addresses = map(ipaddress.ip_network, own)
        never = (*map(ipaddress.ip_network, _NEVER), *(one for one in addresses if not _is_loopback(one)))
        return cls(
            tuple(one for one in wanted if not _is_loopback(one.network)),
            (*denied, *never),
            tuple(one.port for one in wanted if _is_loopback(one.network) and one.port),
        )

    def with_server(self, address: str) -> Rules:
        """These rules, by which a server of the operator's is reached too, wherever it is: `address` is its own on the
        web. Raises OSError where its name is not known."""
        parts = urlsplit(address)
        port = parts.port or _PORTS.get(parts.scheme, 0)
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        networks = [ipaddress.ip_network(str(each[4][0]).partition("%")[0]) for each in found]
        here = (port,) if any(map(_is_loopback, networks)) else ()
        reached = [Reach(one, port) for one in dict.fromkeys(networks) if not _is_loopback(one)]
        is_own = any(one.network in self.denied for one in reached)
        return Rules(
            (*self.allowed, *reached),
            self.denied,
            tuple(dict.fromkeys((*self.ports, *here))),
            is_elsewhere=self.is_elsewhere or is_own,
        )

    def is_reached(self, address: str) -> bool:
        """Whether all ports of an address are reached."""
        one = ipaddress.ip_network(address)
        if any(_is_within(one, each.network) for each in self.allowed if not each.port):
            return True
        return not any(_is_within(one, each) for each in self.denied)

    def to_json(self) -> dict[str, Any]:
        return {
            "allowed": [[str(one.network), one.port] for one in self.allowed],
            "denied": [str(one) for one in self.denied],
            "ports": list(self.ports),
            "is_elsewhere": self.is_elsewhere,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        return cls(
            tuple(Reach(ipaddress.ip_network(network), port) for network, port in value["allowed"]),
            tuple(map(ipaddress.ip_network, value["denied"])),
            tuple(value["ports"]),
            bool(value["is_elsewhere"]),
        )


def resolver_of_work(resolver: str, rules: Rules) -> tuple[str, str]:
    """A node's settings for looking up names as its work is to have them; and the first name server of the node that
    the work does not reach by itself, in whose place `NAMES` stands in them ("": it reaches all of them)."""
    lines, behind = [], ""
    for line in resolver.splitlines():
        words = line.split()
        if words[:1] == ["nameserver"] and len(words) > 1 and not _is_known(words[1], rules):
            if not behind:
                lines.append(f"nameserver {NAMES}")
                behind = words[1]
            continue
        lines.append(line)
    return "\n".join(lines) + "\n", behind


def _is_known(address: str, rules: Rules) -> bool:
    try:
        return rules.is_reached(address.partition("%")[0])
    except ValueError:
        return False


def _is_loopback(network: Network) -> bool:
    return network.network_address.is_loopback


def _is_within(one: Network, other: Network) -> bool:
    return one.version == other.version and one.subnet_of(other)  # type: ignore[arg-type]


NOWHERE = Rules(denied=(ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0")))
"""Nothing is reached but what is allowed beside it."""
