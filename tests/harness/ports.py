"""Ports for servers of the tests."""

import os

from portal.devstack.servers import ports


def row_of_ports(count: int) -> int:
    """The first of so many free ports in a row. Raises OSError.

    All of them are below those that the kernel gives to connections that go out: none of these takes one meanwhile.
    """
    for first in range(20000 + os.getpid() % 50 * 100, 32000, count):
        if all(ports.is_free(port) for port in range(first, first + count)):
            return first
    raise OSError(f"no {count} free ports in a row")
