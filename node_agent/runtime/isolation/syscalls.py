"""The few calls of the kernel that Python has no names for. Each raises OSError with what it was about."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterable
from itertools import pairwise

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
CLONE_NEWIPC, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x20000000, 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MS_NOATIME, MS_NODIRATIME, MS_RELATIME = 1024, 2048, 1 << 21
_MNT_DETACH = 2

# The same number on every architecture: they came after the numbers were made one.
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR, _PIDFD_GETFD = 428, 429, 442, 438
_NOFOLLOW = 0x100
_AT_FDCWD, _AT_EMPTY_PATH, _OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = -100, 0x1000, 1, 4
_MOUNT_ATTR_IDMAP = 0x00100000
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_CAP_AMBIENT = 1, 4, 24, 47
_CAP_AMBIENT_RAISE = 2
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


# Numbers on disk from the first on, whom they stand for from the second on, and how many.
_Range = tuple[int, int, int]
# All numbers that users can have; the one after them is nobody's.
_IDS = 2**32 - 1


class _MountAttributes(ctypes.Structure):
    _fields_ = [("set", ctypes.c_uint64), ("clear", ctypes.c_uint64), ("propagation", ctypes.c_uint64),
                ("userns_fd", ctypes.c_uint64)]  # fmt: skip


def mount_as(source: str, target: str, user: int, proc: str) -> None:
    """Bind a folder so that what is its owner's in it is `user`'s at the target, and what `user` makes there is its
    owner's on disk. `proc`: the process file system of this process's own namespace. Without root, only where the
    two are the same."""
    owner = os.stat(source)
    if owner.st_uid == user:
        mount(source, target, flags=MS_BIND)
        return
    _mount_mapped(source, target, proc, [(owner.st_uid, user, 1)], [(owner.st_gid, user, 1)])


def mount_owned(source: str, target: str, owner: tuple[int, int], user: int, proc: str) -> None:
    """Bind a folder so that what belongs to the user and the group of `owner` in it is `user`'s at the target, and all
    else whose it is. Root's alone. Raises OSError where the kernel or the file system cannot."""
    _mount_mapped(source, target, proc, *(_swapped(one, user) for one in owner))


def _swapped(first: int, second: int) -> list[_Range]:
    """Every number stands for itself, but these two for each other."""
    begins = sorted({0, first, first + 1, second, second + 1, _IDS})
    other = {first: second, second: first}
    return [(at, other.get(at, at), end - at) for at, end in pairwise(begins)]


def _mount_mapped(source: str, target: str, proc: str, users: list[_Range], groups: list[_Range]) -> None:
    tree = _LIBC.syscall(_OPEN_TREE, _AT_FDCWD, source.encode(), _OPEN_TREE_CLONE | _NOFOLLOW | os.O_CLOEXEC)
    _checked(min(tree, 0), f"opening {source}")
    try:
        namespace = _users_mapped(users, groups, proc)
        try:
            wanted = _MountAttributes(set=_MOUNT_ATTR_IDMAP, userns_fd=namespace)
            done = _LIBC.syscall(
                _MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, ctypes.byref(wanted), ctypes.sizeof(wanted)
            )
            _checked(done, f"mapping the users of {source}, which its file system may not know")
        finally:
            os.close(namespace)
        done = _LIBC.syscall(_MOVE_MOUNT, tree, b"", _AT_FDCWD, target.encode(), _MOVE_MOUNT_F_EMPTY_PATH)
        _checked(done, f"mounting {target}")
    finally:
        os.close(tree)


def _users_mapped(users: list[_Range], groups: list[_Range], proc: str) -> int:
    """A user namespace, held open, in which numbers on disk stand for others."""
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            unshare(CLONE_NEWUSER)
            os.write(ready_write, b"x")
            os.close(go_write)
            os.read(go_read, 1)
        finally:
            os._exit(0)
    os.close(ready_write)
    os.close(go_read)
    try:
        if os.read(ready_read, 1) != b"x":
            raise OSError(errno.EPERM, "the kernel gives no user namespace to map users by")
        for name, ranges in (("uid_map", users), ("gid_map", groups)):
            with open(f"{proc}/{child}/{name}", "w") as mapping:
                mapping.write("\n".join(" ".join(map(str, one)) for one in ranges))
        return os.open(f"{proc}/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready_read)
        os.close(go_write)
        os.waitpid(child, 0)


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


def capabilities_pass_on(capabilities: Iterable[int]) -> None:
    """The program that this process becomes keeps these capabilities, of those that it has."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    held = (ctypes.c_uint32 * 6)()
    _checked(_LIBC.capget(header, held), "reading capabilities")
    # Effective, permitted and inheritable, twice: the last are to be as those before.
    held[2], held[5] = held[1], held[4]
    _checked(_LIBC.capset(header, held), "passing capabilities on")
    for one in capabilities:
        _checked(_LIBC.prctl(_PR_CAP_AMBIENT, _CAP_AMBIENT_RAISE, one, 0, 0), "passing capabilities on")


def dumpable_become() -> None:
    """After a change of user: this process's own entries below /proc are its user's again."""
    prctl(_PR_SET_DUMPABLE, 1)


def file_of(pidfd: int, number: int) -> int | None:
    """A file that another process has open by this number, open here too; None: it has none, or has ended. Raises
    OSError where it is not ours to look into."""
    found = _LIBC.syscall(_PIDFD_GETFD, pidfd, number, 0)
    if found < 0 and ctypes.get_errno() in (errno.EBADF, errno.ESRCH):
        return None
    _checked(min(found, 0), "the file of another process")
    return int(found)


def _checked(result: int, about: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{about}: {os.strerror(number)}")
