"""Network addresses that are a machine's own or its link's: nobody's word makes the portal connect to one of them."""

import ipaddress

# Where clouds tell their machines secrets, at addresses that are not link-local: Alibaba, Azure, Oracle, AWS, Google.
_METADATA = frozenset(
    map(
        ipaddress.ip_address,
        ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_local(address: str) -> bool:
    """Whether a literal IP address leads to this machine, to its link, to a group or to a cloud's metadata service.

    An IPv4 address within an IPv6 one is looked at as the IPv4 one. Raises ValueError for what is no address.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped or found.sixtofour:
            found = found.ipv4_mapped or found.sixtofour  # type: ignore[assignment]
        elif found in _NAT64:
            found = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    # "This network" (0.0.0.0/8) is this machine on Linux.
    is_here = found.is_loopback or found.is_unspecified or (found.version == 4 and int(found) < 2**24)
    return is_here or found.is_link_local or found.is_multicast or found in _METADATA
