"""The few calls of the kernel that Python has no names for. Each raises OSError with what it was about."""

from __future__ import annotations

import ctypes
import os

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
CLONE_NEWIPC, CLONE_NEWPID = 0x08000000, 0x20000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MS_NOATIME, MS_NODIRATIME, MS_RELATIME = 1024, 2048, 1 << 21
_MNT_DETACH = 2

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP = 1, 24
_CAPABILITIES_VERSION = 0x20080522
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "loongarch64": 41, "ppc64le": 203}

_LIBC = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Leave the namespaces shared with others; a new process namespace is for the children to come."""
    _checked(_LIBC.unshare(flags), "new namespaces")


def setns(fd: int, kind: int) -> None:
    """Enter a namespace; a process namespace is for the children to come."""
    _checked(_LIBC.setns(fd, kind), "a namespace")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    done = _LIBC.mount(
        source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None
    )
    _checked(done, f"mounting {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root and let the old one hang below `old`, and let go of that."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(f"changing the root is not known for {os.uname().machine}")
    _checked(_LIBC.syscall(number, new.encode(), (new + old).encode()), "changing the root")
    os.chdir("/")
    _checked(_LIBC.umount2(old.encode(), _MNT_DETACH), "letting go of the old root")


def prctl(option: int, value: int) -> None:
    _checked(_LIBC.prctl(option, value, 0, 0, 0), f"prctl {option}")


def die_with_parent(number: int) -> None:
    """Be sent this signal when the parent ends."""
    prctl(_PR_SET_PDEATHSIG, number)


def bounding_capability_drop(capability: int) -> None:
    """No program started from here on has it."""
    prctl(_PR_CAPBSET_DROP, capability)


def capabilities_drop() -> None:
    """Give up every capability this process has."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_LIBC.capset(header, nothing), "giving up capabilities")


def _checked(result: int, about: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{about}: {os.strerror(number)}")
