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
# As Linux itself bounds them.
_LINKS_MOST = 40


def shell_find(root: Path) -> str:
    """The best shell below a root; a link in there leads within it, not here."""
    return next((path for path in _SHELLS if _is_there(root, path)), _SHELLS[-1])


def _is_there(root: Path, path: str) -> bool:
    """Whether a path leads to something for who has that root: its links, absolute ones too, begin there."""
    left, place = path.split("/")[::-1], [str(root)]
    links = 0
    while left:
        name = left.pop()
        if name == "..":
            place = place[:1] + place[1:-1]
        elif name not in ("", "."):
            here = os.path.join(*place, name)
            try:
                target = os.readlink(here)
            except OSError:
                place.append(name)
                continue
            links += 1
            if links > _LINKS_MOST:
                return False
            place = place[:1] if target.startswith("/") else place
            left += target.split("/")[::-1]
    return os.path.lexists(os.path.join(*place))


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
