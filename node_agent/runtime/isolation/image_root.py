"""What work in a container sees: its image, with changes of its own over it, and the folders that are its own.

Built in a mount namespace of its own, from which the container runtime begins; it goes with the last process in there.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path

from node_agent.runtime.isolation import syscalls as sys_
from node_agent.runtime.isolation.untrusted_files import file_look
from node_agent.runtime.isolation.view import Mounted, is_folder

# Where no volume may be, and nothing else of ours: programs need what an image has there.
_NAMES = ("bin", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "tmp", "usr", "var")
_TAKEN = tuple(Path(f"/{name}") for name in _NAMES)
_OF_THE_KERNEL = (Path("/dev"), Path("/proc"), Path("/sys"))
# What runs now, and is gone with it.
_PASSING = (Path("/run"), Path("/var/run"))
_PASSWD, _USERS_BYTES = "etc/passwd", 2**20
_ID_MAX = 2**31 - 1
_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_PLAIN = sys_.MS_NOSUID | sys_.MS_NODEV


@dataclass(frozen=True, slots=True)
class ImageRoot:
    """`image`: the folder of an unpacked image, which nobody writes to. `changes`: a folder for what is written over
    it, with `files`, `work` and `root` in it, and `passwd`, by which the `user` of the work has the name `called`.
    Where the node can, the files of the image that belong to the user whom it names (of none: root) are the work's own.
    `own`: folders that are the work's, as (where it lies, where the work sees it). `files`: files of the node that it
    reads, in the same way. `volumes` are mounted for `user`."""

    image: Path
    changes: Path
    own: tuple[tuple[Path, Path], ...]
    files: tuple[tuple[Path, Path], ...]
    volumes: tuple[Mounted, ...]
    user: int
    called: str = ""

    @property
    def root(self) -> Path:
        """What becomes the root of the container."""
        return self.changes / "root"

    def has_folder(self, path: Path) -> bool:
        """Whether this is a folder of the image itself, to which no link leads and over which nothing is mounted: a
        program can begin there, and the container runtime has neither to follow anything nor to make it."""
        over = (*_OF_THE_KERNEL, *(seen for _source, seen in self.own), *(one.path for one in self.volumes))
        if path.anchor != "/" or ".." in path.parts or any(path.is_relative_to(one) for one in over):
            return False
        place, written = self.image, self.files_changed
        for name in path.parts[1:]:
            place, written = place / name, written / name
            # An earlier program of the work may have put something else there.
            if not is_folder(place) or (os.path.lexists(written) and not is_folder(written)):
                return False
        return True

    @property
    def files_changed(self) -> Path:
        """What the work has written over its image, as an overlay keeps it."""
        return self.changes / "files"

    @property
    def not_of_image(self) -> frozenset[Path]:
        """Where it sees something else than its image: whatever lies there is not the image's."""
        mounted = (seen for _source, seen in (*self.own, *self.files))
        return frozenset(
            (*_OF_THE_KERNEL, *_PASSING, *mounted, Path("/", _PASSWD), *(one.path for one in self.volumes))
        )

    def make(self) -> None:
        """Make the folders that it is built of. Raises OSError."""
        for name in ("files", "work", "root"):
            (self.changes / name).mkdir(parents=True, exist_ok=True, mode=0o755)
        (self.changes / "lower").mkdir(exist_ok=True, mode=0o755)
        (self.changes / "passwd").write_bytes(self._users())
        (self.changes / "passwd").chmod(0o644)

    @property
    def owner(self) -> tuple[int, int]:
        """Whom the image names as its user: his number and his group's; root's where it names nobody whom it knows."""
        for line in self._known():
            name, _password, uid, gid, *_rest = (*line.decode(errors="replace").split(":"), "", "", "", "")
            if self.called and self.called in (name, uid) and uid.isdecimal() and gid.isdecimal():
                return min(int(uid), _ID_MAX), min(int(gid), _ID_MAX)
        return (min(int(self.called), _ID_MAX) if self.called.isdecimal() else 0), 0

    @property
    def is_owned(self) -> bool:
        """Whether the files of the image's own user are the work's here, as it was built last."""
        return (self.changes / "owned").exists()

    def _known(self) -> list[bytes]:
        """The users whom the image knows."""
        if (self.image / "etc").is_symlink():
            return []
        found = file_look(self.image / _PASSWD, None, _USERS_BYTES)
        return found[0].splitlines() if found is not None else []

    def _users(self) -> bytes:
        """The users whom the image knows, and first the work's own: whoever the image names, it is nobody but this."""
        name = self.called if _NAME.fullmatch(self.called) and self.called != "root" else "work"
        _source, home = self.own[0]
        others = [line for line in self._known() if not line.startswith(f"{name}:".encode())]
        own = f"{name}:x:{self.user}:{self.user}::{home}:/bin/sh".encode()
        return b"\n".join([own, *others, b""])

    def build(self) -> None:
        """In a process that is to become the container runtime: mount it. Raises OSError."""
        sys_.unshare(sys_.CLONE_NEWNS)
        sys_.mount("none", "/", flags=sys_.MS_REC | sys_.MS_PRIVATE)
        # What is written is written whole: else it could not be told from the image by itself, to be saved.
        whole = "redirect_dir=off,metacopy=off"
        layers = f"lowerdir={self._lower()},upperdir={self.files_changed},workdir={self.changes}/work,{whole}"
        sys_.mount("overlay", str(self.root), "overlay", _PLAIN, layers)
        # What is mounted later covers what lies deeper.
        for source, seen in sorted(self.own, key=lambda item: len(item[1].parts)):
            target = self._place(seen, is_file=False)
            sys_.mount(str(source), target, flags=sys_.MS_BIND)
            sys_.mount("none", target, flags=sys_.MS_REMOUNT | sys_.MS_BIND | _PLAIN)
        for source, seen in (*self.files, (self.changes / "passwd", Path("/", _PASSWD))):
            if source.is_file():
                target = self._place(seen, is_file=True)
                sys_.mount(str(source), target, flags=sys_.MS_BIND)
                sys_.mount("none", target, flags=sys_.MS_REMOUNT | sys_.MS_BIND | sys_.MS_RDONLY | _PLAIN)
        for volume in sorted(self.volumes, key=lambda one: len(one.path.parts)):
            self._volume(volume)

    def _lower(self) -> Path:
        """The image as the work is to see it: as its own where the kernel and the file system can, else as it is."""
        lower, mark = self.changes / "lower", self.changes / "owned"
        try:
            sys_.mount_owned(str(self.image), str(lower), self.owner, self.user, "/proc")
        except OSError:
            mark.unlink(missing_ok=True)
            return self.image
        mark.touch()
        # Of the top of an overlay it is the one above that counts.
        if os.stat(self.image).st_uid == self.owner[0]:
            os.chown(self.files_changed, self.user, self.user)
        return lower

    def _volume(self, volume: Mounted) -> None:
        taken = {*_TAKEN, *(seen for _source, seen in self.own)}
        if any(path.is_relative_to(volume.path) or volume.path.is_relative_to(path) for path in taken):
            raise OSError(errno.EBUSY, f"{volume.path} is something else in this container")
        if not is_folder(volume.source):
            raise OSError(errno.ENOENT, f"the volume for {volume.path} is not to be found on this node")
        target = self._place(volume.path, is_file=False)
        sys_.mount_as(str(volume.source), target, self.user, "/proc")
        read_only = sys_.MS_RDONLY if volume.is_read_only else 0
        sys_.mount("none", target, flags=sys_.MS_REMOUNT | sys_.MS_BIND | _PLAIN | read_only)

    def _place(self, seen: Path, *, is_file: bool) -> str:
        """Where something is to be mounted, made where the image has nothing there. Raises OSError where the image has
        a link on the way: it could lead out of the container."""
        place = self.root
        parts = seen.parts[1:]
        for depth, name in enumerate(parts):
            place = place / name
            is_last_file = is_file and depth == len(parts) - 1
            if place.is_symlink():
                if not is_last_file:
                    raise OSError(errno.ELOOP, f"{seen}: the image has a link there")
                # Of the work's own copy: the image itself stays as it is.
                place.unlink()
            if not place.exists():
                if is_last_file:
                    place.touch(0o644)
                else:
                    place.mkdir(mode=0o755)
        return str(place)
