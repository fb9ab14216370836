"""The filter on what a work's network sends: which addresses it reaches, and which not, as a program of the kernel's.

It is put on the device by which packets leave the network (`TUNATTACHFILTER`), where the work has no say. Routes would
not do: who binds a socket to a device goes past those that lead nowhere.
"""

from __future__ import annotations

import ctypes
import fcntl
import struct
from collections.abc import Sequence

from node_agent.reach import Network, Reach

_TUNATTACHFILTER = 0x401054D5
_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE = 0x20, 0x28, 0x30
_LOAD_HALF_BEHIND_HEADER, _HEADER_LENGTH = 0x48, 0xB1
_AND, _EQUAL, _ANY_BIT, _AT_LEAST, _GO, _RETURN = 0x54, 0x15, 0x45, 0x35, 0x05, 0x06
_PASS, _DROP = 0xFFFFFFFF, 0
_IPV4, _IPV6, _ARP = 0x0800, 0x86DD, 0x0806
_TCP, _UDP, _ICMPV6 = 6, 17, 58
# Where things stand in a frame: its kind, and of each kind the protocol and the receiver.
_KIND, _V4_PROTOCOL, _V4_RECEIVER, _V4_FRAGMENT = 12, 23, 30, 20
_V6_PROTOCOL, _V6_RECEIVER, _V6_MESSAGE, _V6_PORT = 20, 38, 54, 56
_NEIGHBOURS = (133, 136)
_WORD = 0xFFFFFFFF

_Line = tuple[int, int, int, int]


def program(allowed: Sequence[Reach], denied: Sequence[Network]) -> bytes:
    """The filter as the kernel reads it: what is allowed passes, else what is denied is dropped, else all passes."""
    four = [line for one in allowed if one.network.version == 4 for line in _allow_4(one)]
    four += [line for one in denied if one.version == 4 for line in _deny(one, _V4_RECEIVER)]
    six = _neighbours()
    six += [line for one in allowed if one.network.version == 6 for line in _allow_6(one)]
    six += [line for one in denied if one.version == 6 for line in _deny(one, _V6_RECEIVER)]
    four.append((_RETURN, 0, 0, _PASS))
    six.append((_RETURN, 0, 0, _PASS))
    head: list[_Line] = [
        (_LOAD_HALF, 0, 0, _KIND),
        (_EQUAL, 0, 1, _ARP),
        (_RETURN, 0, 0, _PASS),
        (_EQUAL, 3, 0, _IPV4),
        (_EQUAL, 1, 0, _IPV6),
        (_RETURN, 0, 0, _DROP),
        (_GO, 0, 0, len(four)),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in (*head, *four, *six))


def attach(device: int, filter_: bytes) -> None:
    """Put it on the network device behind this open file, for as long as that is open anywhere. Raises OSError."""
    kept = ctypes.create_string_buffer(filter_, len(filter_))
    filled = struct.pack("@HP", len(filter_) // 8, ctypes.addressof(kept))
    fcntl.ioctl(device, _TUNATTACHFILTER, filled)


def _words(network: Network) -> list[tuple[int, int]]:
    """The address and the mask of a network in the machine words of a packet, those that say something."""
    address, mask = network.network_address.packed, network.netmask.packed
    pairs = zip(*(struct.unpack(f">{len(data) // 4}I", data) for data in (address, mask)), strict=True)
    return list(pairs)


def _is_for(network: Network, at: int, behind: int) -> list[_Line]:
    """Goes on where the receiver is in the network; else past the `behind` lines that follow."""
    lines: list[_Line] = []
    words = [(at + 4 * number, *pair) for number, pair in enumerate(_words(network)) if pair[1]]
    for number, (place, address, mask) in enumerate(words):
        masking: list[_Line] = [(_AND, 0, 0, mask)] if mask != _WORD else []
        left = sum(2 + (later != _WORD) for _place, _address, later in words[number + 1 :])
        lines += [(_LOAD_WORD, 0, 0, place), *masking, (_EQUAL, 0, left + behind, address)]
    return lines


def _deny(network: Network, at: int) -> list[_Line]:
    return [*_is_for(network, at, 1), (_RETURN, 0, 0, _DROP)]


def _allow_4(one: Reach) -> list[_Line]:
    passing: list[_Line] = [(_RETURN, 0, 0, _PASS)]
    if one.port:
        # Of a later piece of a packet nobody can say for which port it is.
        passing = [
            (_LOAD_BYTE, 0, 0, _V4_PROTOCOL),
            (_EQUAL, 1, 0, _TCP),
            (_EQUAL, 0, 6, _UDP),
            (_LOAD_HALF, 0, 0, _V4_FRAGMENT),
            (_ANY_BIT, 4, 0, 0x1FFF),
            (_HEADER_LENGTH, 0, 0, 14),
            (_LOAD_HALF_BEHIND_HEADER, 0, 0, 16),
            (_EQUAL, 0, 1, one.port),
            (_RETURN, 0, 0, _PASS),
        ]
    return [*_is_for(one.network, _V4_RECEIVER, len(passing)), *passing]


def _allow_6(one: Reach) -> list[_Line]:
    passing: list[_Line] = [(_RETURN, 0, 0, _PASS)]
    if one.port:
        passing = [
            (_LOAD_BYTE, 0, 0, _V6_PROTOCOL),
            (_EQUAL, 1, 0, _TCP),
            (_EQUAL, 0, 3, _UDP),
            (_LOAD_HALF, 0, 0, _V6_PORT),
            (_EQUAL, 0, 1, one.port),
            (_RETURN, 0, 0, _PASS),
        ]
    return [*_is_for(one.network, _V6_RECEIVER, len(passing)), *passing]


def _neighbours() -> list[_Line]:
    """What machines of a link ask each other for their addresses by."""
    first, last = _NEIGHBOURS
    return [
        (_LOAD_BYTE, 0, 0, _V6_PROTOCOL),
        (_EQUAL, 0, 4, _ICMPV6),
        (_LOAD_BYTE, 0, 0, _V6_MESSAGE),
        (_AT_LEAST, 0, 2, first),
        (_AT_LEAST, 1, 0, last + 1),
        (_RETURN, 0, 0, _PASS),
    ]
