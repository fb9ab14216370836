"""The file system that walled work sees: the node's programs, read-only, and what is its own; nothing else.

It is built in a mount namespace of the work's own and goes with it.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from node_agent.runtime.isolation import syscalls as sys_

ROOT = "/view"
"""Where the work's root lies below the root of its mount namespace: a process whose root is not its namespace's
cannot make a user namespace, in which it would be allowed to mount."""

# Programs, libraries and settings of the node. Whoever may not read a file there as any user still may not.
_SYSTEM = ("/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/opt", "/sbin", "/sys", "/usr")
_COVERED = ("/etc/weir", "/sys/fs/cgroup")
_EMPTY = ("/dev", "/home", "/mnt", "/proc", "/root", "/run", "/srv", "/tmp", "/var", "/var/tmp")
# Where no volume may be: what the work needs of the node would disappear below it.
_TAKEN = (*_SYSTEM, "/dev", "/proc", "/root", "/run", "/tmp", "/var")
# Sockets by which a card's driver is spoken to, and where names are looked up.
_RUN_FILES = ("/run/nvidia-persistenced/socket",)
_OPTIONS = {
    "ro": sys_.MS_RDONLY,
    "nosuid": sys_.MS_NOSUID,
    "nodev": sys_.MS_NODEV,
    "noexec": sys_.MS_NOEXEC,
    "noatime": sys_.MS_NOATIME,
    "nodiratime": sys_.MS_NODIRATIME,
    "relatime": sys_.MS_RELATIME,
}
_DEVICE_DEPTH = 2
# Of no use to work, and more of the kernel than it needs.
_TERMINALS_AND_MEMORY = frozenset({"ptmx", "pts", "shm"})
_KERNELS_OWN = frozenset({"autofs", "bus", "fuse", "kvm", "net", "rfkill", "userfaultfd", "vsock"})
_DEVICES_LEFT_OUT = _TERMINALS_AND_MEMORY | _KERNELS_OWN | {"vhost-net", "vhost-vsock"}
_LINKS_OF_DEV = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Mounted:
    """A folder of the node, `source`, that the work finds at `path`: as its own, whosever it is on the node."""

    source: Path
    path: Path
    is_read_only: bool


@dataclass(frozen=True, slots=True)
class View:
    """What one work sees beside the node's programs.

    `base`: an empty folder in which the view is built. `read_only`: more paths of the node. `own`: folders that are
    the work's, as (where it lies, where the work sees it). `hidden`: paths that would be seen and must not be.
    `files`: files of the node in place of others, in the same way. `has_network`: this process stands in a network of
    the work's own. `shm_mib` bounds /dev/shm. `volumes` are mounted for it; `user` is who it runs as (None: who
    builds this).
    """

    base: Path
    own: tuple[tuple[Path, Path], ...]
    shm_mib: int
    read_only: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = field(default=())
    volumes: tuple[Mounted, ...] = ()
    user: int | None = None
    files: tuple[tuple[Path, Path], ...] = ()
    has_network: bool = False

    def build(self) -> None:
        """Make it the root of this process's mount namespace. Raises OSError."""
        sys_.mount("none", "/", flags=sys_.MS_REC | sys_.MS_PRIVATE)
        base = str(self.base)
        sys_.mount("tmpfs", base, "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, "mode=755,size=1m")
        root = base + ROOT
        for name in (ROOT, "/old"):
            os.mkdir(base + name)
        self._fill(root)
        writable = [one.path for one in self.volumes if not one.is_read_only]
        _lock(base, [root + str(target) for target in (*(seen for _, seen in self.own), *writable)], root)
        sys_.mount("none", base, flags=sys_.MS_REMOUNT | sys_.MS_BIND | sys_.MS_RDONLY | sys_.MS_NOSUID)
        os.chdir(base)
        sys_.pivot_root(base, "/old")

    def _fill(self, root: str) -> None:
        for path in _EMPTY:
            os.makedirs(root + path, exist_ok=True)
        for path in _SYSTEM:
            if not (self.has_network and path == "/sys" and _own_devices(root + path)):
                _system(root, path)
        sys_.mount("proc", root + "/proc", "proc", sys_.MS_NOSUID | sys_.MS_NODEV | sys_.MS_NOEXEC)
        _devices(root, self.shm_mib)
        hidden = [(None, path) for path in (*map(Path, _COVERED), *self.hidden)]
        binds = [(path, path) for path in (*self.read_only, *_resolver(), *map(Path, _RUN_FILES))]
        binds += self.files
        # What lies below another path comes after it.
        for source, target in sorted([*hidden, *binds, *self.own], key=lambda item: len(item[1].parts)):
            if source is None:
                _cover(root + str(target))
            else:
                _bind(source, root + str(target))
        for volume in sorted(self.volumes, key=lambda one: len(one.path.parts)):
            self._volume(volume, root, {*map(Path, _TAKEN), *(target for _, target in (*binds, *self.own))})

    def _volume(self, volume: Mounted, root: str, taken: set[Path]) -> None:
        """Nothing that the work needs of the node may disappear below a volume."""
        if any(path.is_relative_to(volume.path) or volume.path.is_relative_to(path) for path in taken):
            raise OSError(errno.EBUSY, f"{volume.path} is something else on this node")
        if not is_folder(volume.source):
            raise OSError(errno.ENOENT, f"the volume for {volume.path} is not to be found on this node")
        target = root + str(volume.path)
        os.makedirs(target, exist_ok=True)
        user = os.geteuid() if self.user is None else self.user
        sys_.mount_as(str(volume.source), target, user, root + "/proc")


def is_folder(path: Path) -> bool:
    """Whether it is one itself, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def interpreter_paths() -> tuple[Path, ...]:
    """What must be seen to run this interpreter with what is installed for it, wherever that is."""
    prefixes = {
        Path(prefix) for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    }
    found = prefixes | {prefix.resolve() for prefix in prefixes}
    hop = Path(sys.executable)
    while hop.is_symlink():
        hop = hop.parent / os.readlink(hop)
        if not any(hop.is_relative_to(prefix) for prefix in found):
            found.add(hop)
    return tuple(sorted(path for path in found if not _is_system(path)))


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(system) for system in _SYSTEM)


def _resolver() -> Iterator[Path]:
    """Where /etc/resolv.conf really lies, if that is not below /etc."""
    path = Path("/etc/resolv.conf").resolve()
    if not _is_system(path) and path.is_file():
        yield path


def _own_devices(target: str) -> bool:
    """Mount the kernel's folder of devices as the work's network has it; whether the kernel lets us, which it does not
    where something of it is hidden from this process."""
    os.makedirs(target, exist_ok=True)
    try:
        sys_.mount("sysfs", target, "sysfs", sys_.MS_NOSUID | sys_.MS_NODEV | sys_.MS_NOEXEC | sys_.MS_RDONLY)
    except OSError:
        return False
    return True


def _system(root: str, path: str) -> None:
    if os.path.islink(path):
        os.symlink(os.readlink(path), root + path)
    elif os.path.isdir(path):
        _bind(Path(path), root + path)


def _bind(source: Path, target: str) -> None:
    """Show a path of the node in the view; one that is not there is passed over."""
    if not source.exists():
        return
    if source.is_dir():
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    sys_.mount(str(source), target, flags=sys_.MS_BIND | sys_.MS_REC)


def _cover(target: str) -> None:
    """Nothing is seen of a folder that would be seen."""
    if os.path.isdir(target):
        sys_.mount("tmpfs", target, "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, "mode=755,size=1m")


def _devices(root: str, shm_mib: int) -> None:
    """The devices that any user may open, a terminal system and shared memory of the work's own."""
    for path in open_devices():
        _bind(path, root + str(path))
    for name, target in _LINKS_OF_DEV.items():
        os.symlink(target, f"{root}/dev/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{root}/dev/{name}")
    own = sys_.MS_NOSUID | sys_.MS_NOEXEC
    sys_.mount("devpts", root + "/dev/pts", "devpts", own, "newinstance,ptmxmode=0666,mode=620")
    # A size of 0 would be none at all.
    shm = f"mode=1777,size={max(shm_mib, 1) * _MIB}"
    sys_.mount("tmpfs", root + "/dev/shm", "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, shm)


def open_devices() -> Iterator[Path]:
    """The devices of this node that any user may open, such as cards."""
    yield from _open_devices(Path("/dev"), _DEVICE_DEPTH)


def _open_devices(folder: Path, depth: int) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name in _DEVICES_LEFT_OUT or entry.is_symlink():
            continue
        facts = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(facts.st_mode) and depth > 1:
            yield from _open_devices(Path(entry.path), depth - 1)
        elif stat.S_ISCHR(facts.st_mode) and facts.st_mode & 0o004:
            yield Path(entry.path)


def _lock(base: str, own: Iterable[str], root: str) -> None:
    """Read-only, without set-user-id programs and without devices, but what is the work's own or a device."""
    writable = {*own, root + "/dev/shm", root + "/dev/pts", root + "/proc"}
    for point, flags in _mounts(base):
        if point == base:
            continue
        more = sys_.MS_NOSUID
        if not point.startswith(root + "/dev/"):
            more |= sys_.MS_NODEV
            more |= 0 if point in writable else sys_.MS_RDONLY
        sys_.mount("none", point, flags=sys_.MS_REMOUNT | sys_.MS_BIND | flags | more)


def _mounts(base: str) -> list[tuple[str, int]]:
    """Where something is mounted below a path, and with which options; not what lies under another mount."""
    rows = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    points = {row[0]: _unescaped(row[4]) for row in rows}
    parents = {row[0]: row[1] for row in rows}

    def is_covered(mount: str) -> bool:
        beside = (other for other in points if parents[other] == parents[mount])
        is_under = any(points[mount].startswith(points[other] + "/") for other in beside)
        return is_under or (parents[mount] in points and is_covered(parents[mount]))

    return [
        (points[row[0]], sum(_OPTIONS[name] for name in row[5].split(",") if name in _OPTIONS))
        for row in rows
        if f"{points[row[0]]}/".startswith(base + "/") and not is_covered(row[0])
    ]


def _unescaped(text: str) -> str:
    """A path as the kernel writes it, where spaces and the like are octal numbers."""
    return text.encode().decode("unicode_escape").encode("latin-1").decode(errors="surrogateescape")
