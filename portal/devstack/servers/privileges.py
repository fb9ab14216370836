"""The account that PostgreSQL runs as: it refuses to run as root, so root's server runs as `nobody`."""

import ctypes
import os
import pwd
import signal
import stat
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_SECUREBITS = 28
_SECBIT_NO_SETUID_FIXUP = 1 << 2
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION_3 = 0x20080522


def server_account() -> pwd.struct_passwd | None:
    """The unprivileged account to change to, or None where we are no root and keep our own."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def hand_over(path: Path, account: pwd.struct_passwd | None) -> None:
    """Make a directory with everything in it the account's own, open to nobody else."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    if account is None or path.stat().st_uid == account.pw_uid:
        return
    os.chown(path, account.pw_uid, account.pw_gid)
    for folder, names, files in os.walk(path):
        for name in (*names, *files):
            os.chown(Path(folder) / name, account.pw_uid, account.pw_gid, follow_symlinks=False)


def can_reach(path: Path, account: pwd.struct_passwd | None) -> bool:
    """Whether the account may walk down to this path (root's home, say, is closed to others)."""
    if account is None:
        return True
    return all(_may_enter(parent, account) for parent in path.resolve().parents)


def _may_enter(folder: Path, account: pwd.struct_passwd) -> bool:
    status = folder.stat()
    if status.st_uid == account.pw_uid:
        return bool(status.st_mode & stat.S_IXUSR)
    return bool(status.st_mode & stat.S_IXOTH)


def child_setup(
    account: pwd.struct_passwd | None = None, *, reach_all: bool = False, death_signal: int = signal.SIGTERM
) -> Callable[[], None]:
    """A function for a fresh child, before it runs its program.

    The kernel sends the child `death_signal` when its parent dies, however that dies. With an account the
    child changes to it; with `reach_all` it keeps one capability of root's, to walk through folders closed to
    others: the alternative would be to open root's home to everybody.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def setup() -> None:
        if account is not None:
            if reach_all:
                # Else the kernel would drop the capability with root, and ignore it in access(2).
                libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            if reach_all:
                _keep_reach(libc)
        libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)

    return setup


def _keep_reach(libc: ctypes.CDLL) -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    bit = 1 << _CAP_DAC_OVERRIDE
    sets = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
    if libc.capset(header, sets) or libc.prctl(
        _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0
    ):
        raise OSError(ctypes.get_errno(), "cannot keep the capability to enter closed folders")
