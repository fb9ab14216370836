"""Processes known by a variable that they were started with: what an engine has left behind, whatever it is called."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from apps.kernel.process_identity import ProcessIdentity
from portal.devstack.servers.processes import wait_until

_PATIENCE_S = 30


def marked_end(name: str, value: str) -> bool:
    """End at once all processes but this one whose environment has `name=value`; whether none is left.

    Each is ended by its process id, and only while that is still the process that was seen to bear the mark.
    """
    mark = f"{name}={value}".encode()
    return wait_until(lambda: not _ended(mark), timeout_s=_PATIENCE_S, every_s=0.1)


def _ended(mark: bytes) -> int:
    """How many that bear the mark were there, and have been sent their end now."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        identity = None if pid == os.getpid() else ProcessIdentity.of(pid)
        if identity is None:
            continue
        with suppress(OSError):
            if mark in (entry / "environ").read_bytes().split(b"\0"):
                identity.send(signal.SIGKILL)
                count += 1
    return count
