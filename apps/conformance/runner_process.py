"""Whether a runner still lives: a process number alone may be another's by now."""

import os
import socket
from dataclasses import asdict
from typing import Any

from apps.kernel.process_identity import ProcessIdentity


def mark() -> dict[str, Any]:
    """This process, so that it can be told from every other of its machine."""
    identity = ProcessIdentity.of(os.getpid())
    return {"host": socket.gethostname(), **(asdict(identity) if identity else {})}


def is_dead(runner: dict[str, Any]) -> bool:
    """Whether it ran on this machine and is no more; of one elsewhere that is not known."""
    if runner.get("host") != socket.gethostname() or "start_tick" not in runner:
        return False
    return not ProcessIdentity(runner["pid"], runner["start_tick"]).is_alive()
