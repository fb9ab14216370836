"""Ports on the loopback address."""

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
