"""The account that PostgreSQL runs as: it refuses to run as root, so root's server runs as `nobody`."""

import ctypes
import os
import pwd
import signal
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def server_account() -> pwd.struct_passwd | None:
    """The unprivileged account to change to, or None where we are no root and keep our own."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def hand_over(path: Path, account: pwd.struct_passwd | None) -> None:
    """Make a directory with everything in it the account's own, open to nobody else."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    if account is None:
        return
    os.chown(path, account.pw_uid, account.pw_gid)
    for folder, names, files in os.walk(path):
        for name in (*names, *files):
            os.chown(Path(folder) / name, account.pw_uid, account.pw_gid, follow_symlinks=False)


def die_with_parent(signum: int = signal.SIGTERM) -> Callable[[], None]:
    """A function for a fresh child: the kernel sends it this signal when its parent dies, however that dies."""
    libc = ctypes.CDLL(None, use_errno=True)

    def arrange() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)

    return arrange
