"""Ports on the loopback address."""

import os
import socket


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    """Whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def listener(port: int, host: str = "127.0.0.1") -> socket.socket:
    """A listening socket for processes to come: they may come and go, callers wait in its queue meanwhile.

    Raises OSError.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(1024)
    except OSError:
        made.close()
        raise
    return made


def any_free(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def row_free(count: int, seed: int | None = None) -> int:
    """The first of so many free ports in a row, looked for from a place that `seed` says, else this process's number.

    All of them are below those that the kernel gives to connections that go out: none of these takes one meanwhile.
    Raises OSError.
    """
    begin = (os.getpid() if seed is None else seed) % 50 * 100
    places: list[int] = [*range(20000 + begin, 32000, count), *range(20000, 20000 + begin, count)]
    for first in places:
        if row_is_free(first, count):
            return first
    raise OSError(f"no {count} free ports in a row")


def row_is_free(first: int, count: int) -> bool:
    """Whether servers could listen on all of so many ports in a row now."""
    return all(is_free(port) for port in range(first, first + count))
