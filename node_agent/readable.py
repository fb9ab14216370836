"""Waiting for a file to have something to read, whatever its number."""

from __future__ import annotations

import math
import select
import socket


def is_readable(file: int | socket.socket, wait_s: float) -> bool:
    """Whether it has something to read or its other end has gone, once that is so or `wait_s` seconds are over.

    `select.select` refuses files with numbers beyond 1023, as a process with many open files gets them.
    """
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(math.ceil(max(wait_s, 0) * 1000)))
