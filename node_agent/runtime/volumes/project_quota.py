"""The size of a volume held by its file system: project quotas of ext4 and xfs.

All that lies in a volume's folder bears a number, its project, which new files and folders have of the folder that they
are made in; the kernel counts what bears it, and lets it grow to the size that was told, whoever writes and from
wherever, by NFS too. Root's alone, on the machine whose disk it is. Work cannot give its files another number: the
filter of the kernel's calls refuses what would.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import stat
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_QUOTACTL_FD = {"x86_64": 443, "aarch64": 443}.get(platform.machine())
_PROJECT = 2
_GET, _SET = (0x800007 << 8) | _PROJECT, (0x800008 << 8) | _PROJECT
_LIMIT_VALID = 1
_FS_GET, _FS_SET, _INHERITED = 0x801C581F, 0x401C5820, 0x200
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SYSTEMS = ("ext4", "xfs")
# Ours, apart from the small numbers that people give by hand.
_FIRST, _NUMBERS = 0x40000000, 0x3FFFFFF0
# What the portal keeps in a volume's folder beside the files: folders, and the file that tells the size.
OWN_KIB = 64


class _Quota(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_uint64)
        for name in ("hard_kib", "soft_kib", "bytes", "hard_files", "soft_files", "files", "btime", "itime")
    ] + [("valid", ctypes.c_uint32)]  # fmt: skip


def is_offered(folder: Path) -> bool:
    """Whether the file system of a folder holds projects to their quotas, and this process may tell it theirs."""
    with contextlib.suppress(OSError):
        if os.geteuid() == 0 and _QUOTACTL_FD is not None and _is_mounted_with_projects(folder):
            with _opened(folder) as fd:
                _quota(fd, 0)
                return True
    return False


def hold(volume: Path, size_mib: int) -> None:
    """Let the folder of a volume hold so much and no more, from now on; what is in it beyond that stays. Raises
    OSError, and RecursionError where folders are too deep to go down."""
    with _opened(volume) as fd:
        number = _project(fd)
        if number < _FIRST:
            # The volume itself bears it last: broken off, the next one goes through all of it again.
            number = _number_begun(volume) or _number_free(fd, volume)
            _spread(volume, number)
            _mark(fd, number)
        _limit(fd, number, size_mib * 1024 + OWN_KIB)


def held_mib(volume: Path) -> tuple[int, int]:
    """What a held volume holds by its file system's count and how much it may, in MiB. Raises OSError."""
    with _opened(volume) as fd:
        found = _quota(fd, _project(fd))
        return found.bytes // 2**20, found.hard_kib // 1024


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, _FOLDER)
    try:
        yield fd
    finally:
        os.close(fd)


def _is_mounted_with_projects(folder: Path) -> bool:
    """By what the kernel says of the mount: that a file system could do it is not enough."""
    facts = os.stat(folder)
    number = f"{os.major(facts.st_dev)}:{os.minor(facts.st_dev)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _dash, system = line.partition(" - ")
        if mount.split()[2] == number:
            kind, _source, options = system.split(" ", 2)
            return kind in _SYSTEMS and bool({"prjquota", "pquota"} & set(options.split(",")))
    return False


def _number_begun(volume: Path) -> int:
    """What a try that was broken off has begun to give; 0 for none."""
    with contextlib.suppress(OSError), _opened(volume / "files") as fd:
        number = _project(fd)
        return number if number >= _FIRST else 0
    return 0


def _number_free(fd: int, volume: Path) -> int:
    """One that no other volume has, taken by a limit of its own; those who look for one wait for each other."""
    first = zlib.crc32(f"{volume.parent.name}/{volume.name}".encode())
    with _opened(volume.parent.parent) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for step in range(1000):
            number = _FIRST + (first + step) % _NUMBERS
            found = _quota(fd, number)
            if not (found.hard_kib or found.bytes or found.files):
                _limit(fd, number, OWN_KIB)
                return number
    raise OSError(errno.EUSERS, "no number is left for a volume's quota")


def _spread(volume: Path, number: int) -> None:
    """Give the number to all in a volume. A folder gets it before it is looked through, so what is made in it meanwhile
    has it; what work deletes or moves meanwhile is passed over. It goes down as deep as its folders are."""
    for room in ("uploads", "trash", "files"):
        with contextlib.suppress(FileNotFoundError):
            top = os.open(volume / room, _FOLDER)
            try:
                _mark(top, number)
                for _path, folders, files, fd in os.fwalk(".", dir_fd=top, follow_symlinks=False):
                    _mark(fd, number)
                    for name in (*folders, *files):
                        _mark_named(fd, name, number)
            finally:
                os.close(top)


def _mark_named(folder: int, name: str, number: int) -> None:
    with contextlib.suppress(OSError):
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode):
            fd = os.open(name, _FILE, dir_fd=folder)
            try:
                _mark(fd, number)
            finally:
                os.close(fd)


def _project(fd: int) -> int:
    found = fcntl.ioctl(fd, _FS_GET, bytes(28))
    return int(struct.unpack("=5I8x", found)[3])


def _mark(fd: int, number: int) -> None:
    flags, extent, extents, _project_now, copied = struct.unpack("=5I8x", fcntl.ioctl(fd, _FS_GET, bytes(28)))
    flags |= _INHERITED if stat.S_ISDIR(os.fstat(fd).st_mode) else 0
    fcntl.ioctl(fd, _FS_SET, struct.pack("=5I8x", flags, extent, extents, number, copied))


def _quota(fd: int, number: int) -> _Quota:
    found = _Quota()
    if _LIBC.syscall(_QUOTACTL_FD, fd, _GET, number, ctypes.byref(found)):
        fault = ctypes.get_errno()
        # xfs knows of no quota before there is one.
        if fault != errno.ENOENT:
            raise OSError(fault, f"asking for a quota: {os.strerror(fault)}")
    return found


def _limit(fd: int, number: int, kib: int) -> None:
    wanted = _Quota(hard_kib=kib, soft_kib=kib, valid=_LIMIT_VALID)
    if _LIBC.syscall(_QUOTACTL_FD, fd, _SET, number, ctypes.byref(wanted)):
        fault = ctypes.get_errno()
        raise OSError(fault, f"telling a quota: {os.strerror(fault)}")
