"""What lies around one work on the node: its folder, its temporary files, and what it may see of the rest."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node_agent.files import tree_remove
from node_agent.runtime.isolation.image_root import ImageRoot
from node_agent.runtime.isolation.users import SHARED_FOLDERS
from node_agent.runtime.isolation.view import Mounted, View, interpreter_paths
from node_agent.web.work_socket import SOCKET, WorkSocket

_TEMPORARY = {"tmp": Path("/tmp"), "tmp-var": Path("/var/tmp")}
_BASE, _CHANGES, _CONTAINER, _NAMES = "root", "image", "container", "resolv.conf"
# While they are installed.
PACKAGES = "packages"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`folder` is the slice's, `work` where its program runs, `owner` the work's user (None: the agent's), `library`
    what it may import of ours, `hidden` the agent's own folder, `paths` what else of the node it may read; `volumes`
    are mounted for it. `has_network`: it stands in a network of its own, where names are looked up as `names` says."""

    folder: Path
    work: Path
    owner: int | None
    library: Path
    hidden: Path
    paths: tuple[Path, ...] = ()
    volumes: tuple[Mounted, ...] = ()
    has_network: bool = False

    @property
    def temporary(self) -> Path:
        """Temporary files of work that shares the node's own folders for them."""
        return self.folder / "tmp"

    @property
    def web_socket(self) -> WorkSocket:
        """Where the work's web pages are served, as the agent reaches it."""
        return WorkSocket(self.temporary, self.owner)

    def web_socket_clear(self) -> None:
        """Take away what an earlier program listened on: the next one could not take its name."""
        with suppress(OSError):
            (self.temporary / SOCKET).unlink()

    def web_socket_seen(self, *, is_walled: bool) -> Path:
        """The path of that socket as the work sees it: in namespaces of its own a short one, as sockets need."""
        return (_TEMPORARY["tmp"] if is_walled else self.temporary) / SOCKET

    @property
    def names(self) -> Path:
        """How the work looks up names, where it has a network of its own."""
        return self.folder / _NAMES

    @property
    def _files(self) -> tuple[tuple[Path, Path], ...]:
        """Files of its own in place of the node's."""
        resolver = Path("/etc/resolv.conf")
        return ((self.names, resolver.resolve()),) if self.has_network and resolver.is_file() else ()

    @property
    def kept(self) -> tuple[Path, ...]:
        """Where the work's files lie on the node's disk, its own folder first."""
        made = (self.folder / name for name in (_CHANGES, PACKAGES))
        return (
            self.work,
            *(self.folder / name for name in _TEMPORARY),
            *(one for one in made if one.exists()),
        )

    @property
    def container(self) -> Path:
        """What the container runtime keeps of it."""
        return self.folder / _CONTAINER

    def make(self) -> None:
        """Make the folders for temporary files. Raises OSError."""
        (self.folder / _BASE).mkdir(mode=0o700, exist_ok=True)
        for name in _TEMPORARY:
            path = self.folder / name
            path.mkdir(mode=0o700, exist_ok=True)
            if self.owner is not None:
                os.chown(path, self.owner, self.owner)

    def view(self, *, shm_mib: int) -> View:
        """What walled work sees."""
        packages = [link.resolve() for link in self.library.iterdir()] if self.library.is_dir() else []
        return View(
            base=self.folder / _BASE,
            own=((self.work, self.work), *((self.folder / name, seen) for name, seen in _TEMPORARY.items())),
            shm_mib=shm_mib,
            read_only=(*interpreter_paths(), self.library, *packages, *self.paths),
            hidden=(self.hidden,),
            volumes=self.volumes,
            user=self.owner,
            files=self._files,
            has_network=self.has_network,
        )

    def image_root(self, image: dict[str, Any]) -> ImageRoot:
        """What work in a container of an image sees, which is what a slice's record says of it."""
        assert self.owner is not None, "work in a container is a user of its own"
        return ImageRoot(
            image=Path(image["root"]),
            changes=self.folder / _CHANGES,
            own=((self.work, self.work), *((self.folder / name, seen) for name, seen in _TEMPORARY.items())),
            files=(
                (Path("/etc/hosts").resolve(), Path("/etc/hosts")),
                (
                    self.names if self.has_network else Path("/etc/resolv.conf").resolve(),
                    Path("/etc/resolv.conf"),
                ),
            ),
            volumes=self.volumes,
            user=self.owner,
            called=str(image.get("user") or ""),
        )

    def bare_view(self) -> View:
        """What the first process of a container's namespaces sees, which runs nothing."""
        return View(
            base=self.folder / _BASE,
            own=(),
            shm_mib=1,
            hidden=(self.hidden,),
            user=self.owner,
            has_network=self.has_network,
        )

    def remove(self, *, makes_room: bool = False) -> None:
        """Delete what the work has left behind beside its folder; its processes have ended. `makes_room`: its folder
        too, if that lies in the slice's."""
        for name in (_BASE, _CHANGES, _CONTAINER, *_TEMPORARY):
            tree_remove(self.folder / name)
        if makes_room and self.work.is_relative_to(self.folder):
            tree_remove(self.work)
        if self.owner is not None:
            for path in _left_by(self.owner):
                with suppress(OSError):
                    if path.is_dir() and not path.is_symlink():
                        tree_remove(path)
                    else:
                        path.unlink()


def _left_by(uid: int) -> Iterable[Path]:
    """What belongs to a user in the folders that everybody may write to."""
    found = []
    for folder in SHARED_FOLDERS:
        with suppress(OSError), os.scandir(folder) as entries:
            found += [
                Path(entry.path) for entry in entries if entry.stat(follow_symlinks=False).st_uid == uid
            ]
    return found


def user_become(uid: int) -> None:
    """Of a process: be this user and no other from here on."""
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
