"""Whether a runner still lives: a process number alone may be another's by now."""

import os
import socket
from typing import Any

import psutil


def mark() -> dict[str, Any]:
    """This process, so that it can be told from every other."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "since": psutil.Process().create_time()}


def is_dead(runner: dict[str, Any]) -> bool:
    """Whether it ran on this machine and is no more; one elsewhere is not known."""
    if runner.get("host") != socket.gethostname():
        return False
    try:
        return bool(psutil.Process(runner["pid"]).create_time() != runner["since"])
    except psutil.NoSuchProcess:
        return True
