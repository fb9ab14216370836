"""Which addresses nobody's word makes the portal connect to."""

import pytest

from apps.kernel.network_addresses import is_local

LOCAL = [
    "127.0.0.1", "127.1.2.3", "0.0.0.0", "0.1.2.3", "::1", "::", "169.254.169.254", "169.254.1.1", "fe80::1",
    "fe80::1%eth0", "224.0.0.1", "ff02::1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254",
    "fd20:ce::254",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:100.100.100.200", "::ffff:0.0.0.0",
    "2002:7f00:1::", "2002:a9fe:a9fe::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::6464:64c8",
]  # fmt: skip
OTHERS = [
    "10.1.2.3", "192.168.0.1", "172.16.0.1", "100.64.0.1", "8.8.8.8", "1.0.0.1", "::ffff:10.0.0.1", "fd00::1",
    "2001:db8::1", "64:ff9b::a00:1",
]  # fmt: skip


@pytest.mark.parametrize("address", LOCAL)
def test_a_machines_own_and_its_links_are_told(address):
    assert is_local(address)


@pytest.mark.parametrize("address", OTHERS)
def test_those_of_a_centres_network_are_not(address):
    assert not is_local(address)


def test_a_name_is_no_address():
    with pytest.raises(ValueError, match="localhost"):
        is_local("localhost")
