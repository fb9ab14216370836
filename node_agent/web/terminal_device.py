"""A terminal of the work's own: the end that a person's screen is at, and the end that a process sits before."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from pathlib import Path

# From <asm-generic/ioctls.h>; Python 3.11 has no names for them.
_TIOCSPTLCK, _TIOCGPTPEER = 0x40045431, 0x5441
_OF_THE_NODE = "/dev/ptmx"
_SHELLS = ("/bin/bash", "/bin/sh")


def shell_find(root: Path) -> str:
    """The best shell below a root; a link in there leads within it, not here."""
    return next((path for path in _SHELLS if os.path.lexists(root / path.removeprefix("/"))), _SHELLS[-1])


def terminal_open(system: int | None, owner: int | None) -> tuple[int, int]:
    """A new terminal: the screen's end and the process's, which belongs to the user `owner`. Raises OSError.

    `system` is the folder of the work's own terminal system; None: the node's.
    """
    flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC
    screen = os.open(_OF_THE_NODE, flags) if system is None else os.open("ptmx", flags, dir_fd=system)
    try:
        fcntl.ioctl(screen, _TIOCSPTLCK, struct.pack("i", 0))
        # By the terminal and not by its name, which another may have in what the shim sees.
        process = fcntl.ioctl(screen, _TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        os.close(screen)
        raise
    try:
        if owner is not None:
            os.fchown(process, owner, owner)
    except OSError:
        os.close(screen)
        os.close(process)
        raise
    return screen, process


def size_set(terminal: int, rows: int, columns: int) -> None:
    """Tell it how large its screen is; what runs before it hears of the change."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def control_take() -> None:
    """Of a process that leads a session: its standard input is its terminal from here on."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
