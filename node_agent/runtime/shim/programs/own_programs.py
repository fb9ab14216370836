"""Programs of ours that run beside the work within its walls, whatever is installed there: a container need not have an
interpreter. The shim forks, and the child becomes the program behind the walls instead of starting another.

Names that a client gives are those that OpenSSH uses, where it has one.
"""

from __future__ import annotations

# What a program needs is loaded before the walls are around it: nothing of the node is seen from there.
import encodings.idna  # noqa: F401
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress

from node_agent.runtime.isolation import syscalls
from node_agent.web import port_connection, sftp

SFTP = "internal-sftp"
PORT_CONNECTION = ("python", "-m", "node_agent.web.port_connection")
_PR_SET_DUMPABLE = 4
_FIRST_OF_OTHERS, _FDS = 3, 65_536

OwnProgram = Callable[[], int]


def own_program(argv: list[str]) -> OwnProgram | None:
    """The program of ours that these words mean; None: another."""
    if argv == [SFTP]:
        return sftp.main
    *words, last = argv
    if tuple(words) == PORT_CONNECTION and last.isdecimal():
        return lambda: port_connection.main(int(last))
    return None


def become(program: OwnProgram, env: Mapping[str, str]) -> None:
    """In a child of the shim, behind the walls: be this program. Does not return.

    What the shim knows is still in this process's memory: no other process of the work may look into it.
    """
    code = 1
    try:
        syscalls.prctl(_PR_SET_DUMPABLE, 0)
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        # The one by which the shim waits for the start is among them.
        os.closerange(_FIRST_OF_OTHERS, _FDS)
        os.environ.clear()
        os.environ.update(env)
        code = program()
    except BaseException:
        with suppress(OSError):
            os.write(2, traceback.format_exc().encode())
    finally:
        sys.stdout = sys.stderr = None  # type: ignore[assignment]
        os._exit(code)
