"""Which addresses work reaches from a network of its own: the rules, and the filter as the kernel itself runs it."""

from __future__ import annotations

import ctypes
import ipaddress
import socket
import struct
from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from node_agent.config import AgentSettings
from node_agent.reach import Network, Reach, reach_read
from node_agent.runtime.network.packet_filter import program
from node_agent.runtime.network.rules import NAMES, NOWHERE, Rules, resolver_of_work

pytestmark = pytest.mark.req("POOL-8.2c")

OWN = ("192.0.2.2", "172.17.0.1", "fd00::2", "127.0.0.1", "::1", "fe80::1")
_ATTACH = 26
_TCP, _UDP, _ICMPV6 = 6, 17, 58


class Filtered:
    """A pair of sockets between which a filter stands."""

    def __init__(self, rules: Rules) -> None:
        self._sending, self._receiving = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        lines = program(rules.allowed, rules.denied)
        kept = ctypes.create_string_buffer(lines, len(lines))
        told = struct.pack("@HP", len(lines) // 8, ctypes.addressof(kept))
        self._receiving.setsockopt(socket.SOL_SOCKET, _ATTACH, told)
        self._receiving.setblocking(False)

    def passes(self, frame: bytes) -> bool:
        try:
            self._sending.send(frame)
            return bool(self._receiving.recv(2**16))
        except (BlockingIOError, PermissionError):
            return False

    def reaches(self, address: str, port: int = 80, protocol: int = _TCP) -> bool:
        return self.passes(frame(address, port, protocol))

    def close(self) -> None:
        self._sending.close()
        self._receiving.close()


def frame(
    address: str, port: int = 80, protocol: int = _TCP, *, fragment: int = 0, options: int = 0
) -> bytes:
    """A packet to this address, as it stands on the wire."""
    to = ipaddress.ip_address(address)
    transport = struct.pack(">HH16x", 40_000, port)
    if to.version == 4:
        head = struct.pack(
            ">BBHHHBBH4s4s", 0x45 + options, 0, 40, 0, fragment, 64, protocol, 0, b"\1\2\3\4", to.packed
        )
        return bytes(12) + b"\x08\x00" + head + bytes(4 * options) + transport
    return (
        bytes(12)
        + b"\x86\xdd"
        + struct.pack(">IHBB16s16s", 6 << 28, 20, protocol, 64, bytes(16), to.packed)
        + transport
    )


@pytest.fixture
def filtered() -> Iterator[Filtered]:
    found = Filtered(Rules.of_node([reach_read("172.17.0.1:3128"), reach_read("10.9.8.7")], [], OWN))
    yield found
    found.close()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "169.254.169.254", "169.254.0.1", "224.0.0.1", "255.255.255.255",
        "100.100.100.200", "192.0.0.192", "192.0.2.2", "172.17.0.1", "::1", "::", "::ffff:10.0.0.1", "fe80::1",
        "fe80::5", "ff02::1", "fd00::2", "fd00:ec2::254", "64:ff9b::a9fe:a9fe",
    ],
)  # fmt: skip
def test_nobody_reaches_the_node_its_link_or_the_services_of_a_cloud(
    filtered: Filtered, address: str
) -> None:
    assert not filtered.reaches(address)
    assert not filtered.reaches(address, 53, _UDP)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "10.0.0.1", "192.0.2.3", "172.17.0.2", "fd00::3", "2606:4700::1"]
)
def test_what_is_not_denied_is_reached(filtered: Filtered, address: str) -> None:
    assert filtered.reaches(address)
    assert filtered.reaches(address, 53, _UDP)


def test_what_is_allowed_goes_before_and_by_its_port_alone(filtered: Filtered) -> None:
    assert filtered.reaches("172.17.0.1", 3128)
    assert filtered.passes(frame("172.17.0.1", 3128, options=3))
    assert not filtered.reaches("172.17.0.1", 3129)
    assert not filtered.reaches("172.17.0.1", 3128, protocol=1)
    # Where a packet goes on, the bytes at the place of its port are the sender's to choose.
    assert not filtered.passes(frame("172.17.0.1", 3128, fragment=8))
    assert filtered.reaches("10.9.8.7", 1)


def test_neighbours_are_asked_for_and_nothing_else_goes_to_the_link(filtered: Filtered) -> None:
    def message(kind: int) -> bytes:
        return frame("ff02::1:ff00:1", protocol=_ICMPV6)[:54] + bytes([kind]) + bytes(23)

    assert [filtered.passes(message(kind)) for kind in (128, 132, 133, 135, 136, 137)] == [
        False, False, True, True, True, False,
    ]  # fmt: skip
    assert filtered.passes(bytes(12) + b"\x08\x06" + bytes(28))
    # What is neither is no packet of anybody's.
    assert not filtered.passes(bytes(12) + b"\x81\x00" + bytes(40))


def test_an_operator_denies_more_and_long_lists_hold() -> None:
    many: list[Network] = [ipaddress.ip_network(f"10.{part}.0.0/16") for part in range(200)]
    found = Filtered(Rules.of_node([Reach(ipaddress.ip_network("10.7.0.9/32"))], many, OWN))
    assert [found.reaches(address) for address in ("10.7.0.9", "10.7.0.8", "10.199.1.1", "10.200.1.1")] == [
        True, False, False, True,
    ]  # fmt: skip
    found.close()
    nothing = Filtered(NOWHERE)
    assert not nothing.reaches("93.184.216.34")
    assert not nothing.reaches("2606:4700::1")
    nothing.close()


def test_rules_say_what_they_said_when_they_are_read_again() -> None:
    rules = Rules.of_node([reach_read("127.0.0.1:3128"), reach_read("[fd00::9]:443")], [], OWN)
    assert rules.ports == (3128,)
    assert Rules.from_json(rules.to_json()) == rules


def test_the_operators_index_is_reached_wherever_it_is() -> None:
    rules = Rules.of_node([], [ipaddress.ip_network("10.0.0.0/8")], OWN)
    here = rules.with_server("http://127.0.0.1:3141/simple")
    assert (here.ports, here.allowed, here.is_elsewhere) == ((3141,), (), False)
    own = rules.with_server("https://192.0.2.2/simple")
    assert (own.allowed, own.is_elsewhere) == ((Reach(ipaddress.ip_network("192.0.2.2/32"), 443),), True)
    denied = rules.with_server("http://10.1.1.1/simple")
    assert (denied.allowed, denied.is_elsewhere) == ((Reach(ipaddress.ip_network("10.1.1.1/32"), 80),), False)
    with pytest.raises(OSError):
        rules.with_server("http://nobody.invalid/simple")


def test_names_are_asked_of_the_node_where_its_own_server_is_not_reached() -> None:
    rules = Rules.of_node([], [], OWN)
    known = "search here\nnameserver 10.1.1.1\noptions ndots:2\n"
    assert resolver_of_work(known, rules) == (known, "")
    local = "nameserver 127.0.0.53\nnameserver 10.1.1.1\nnameserver 169.254.169.253\noptions edns0\n"
    told = f"nameserver {NAMES}\nnameserver 10.1.1.1\noptions edns0\n"
    assert resolver_of_work(local, rules) == (told, "127.0.0.53")
    assert resolver_of_work("nameserver fe80::1%eth0\n", rules) == (f"nameserver {NAMES}\n", "fe80::1%eth0")
    assert resolver_of_work(known, NOWHERE)[1] == "10.1.1.1"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("WORK_NETWORK", "open", "Input should be"),
        ("WORK_NETWORK_ALLOW", "10.1.2.3,portal.example", "'portal.example' does not appear to be"),
        ("WORK_NETWORK_ALLOW", "127.0.0.1:99999", "99999 is no port"),
        ("WORK_NETWORK_ALLOW", "[fd00::1]x", "is no address"),
        ("WORK_NETWORK_DENY", "10.0.0.0/40", "does not appear to be"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_to_write(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"WEIR_AGENT_{name}", value)
    with pytest.raises(ValidationError, match=said):
        AgentSettings()


def test_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_AGENT_WORK_NETWORK", "private")
    monkeypatch.setenv(
        "WEIR_AGENT_WORK_NETWORK_ALLOW", "10.1.2.3, 127.0.0.1:3128,[fd00::1]:443,10.2.0.0/16:80"
    )
    monkeypatch.setenv("WEIR_AGENT_WORK_NETWORK_DENY", "10.0.0.0/8,fd00::/8")
    settings = AgentSettings()
    assert settings.work_network == "private"
    assert [(str(one.network), one.port) for one in settings.work_network_allow] == [
        ("10.1.2.3/32", 0), ("127.0.0.1/32", 3128), ("fd00::1/128", 443), ("10.2.0.0/16", 80),
    ]  # fmt: skip
    assert list(map(str, settings.work_network_deny)) == ["10.0.0.0/8", "fd00::/8"]
    assert AgentSettings(work_network_allow="", work_network="").work_network == ""
