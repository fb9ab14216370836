"""`weir cp`: files between this machine and running work, or volumes."""

import io
import posixpath
import re
import tarfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import typer

from weir.api import Client
from weir.cli.context import caller, uid_of
from weir.cli.show import said, tell
from weir.cli.stored.volumes import volume_cp
from weir.errors import WeirClientError
from weir.execution import Execution
from weir.files.copying import is_place
from weir.unpacking import unpack
from weir_wire.execution import Channel

# As scp: a name before a colon, and no slash before it.
_PLACE = re.compile(r"(?P<work>[A-Za-z0-9][A-Za-z0-9-]*):(?P<path>.*)", re.DOTALL)
_SAID_BYTES, _BLOCK_BYTES = 4096, 256 * 1024


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """A path where running work is; relative to its folder where it does not begin with a slash."""

    work: str
    path: str


def cp(
    ctx: typer.Context,
    source: str = typer.Argument(..., help="A file or folder: here, WORK:PATH, or vol://NAME/PATH."),
    target: str = typer.Argument(..., help="Where to: here, WORK:PATH, or vol://NAME/PATH."),
    share: int = typer.Option(0, "--share", help="Which of its shares, counted from 0."),
    recursive: bool = typer.Option(
        False, "--recursive", "-r", help="Folders to and from volumes, with all in them."
    ),
    is_all: bool = typer.Option(
        False, "--all", help="Of a volume's folder those too that are there with the same size and time."
    ),
) -> None:
    """Copy files between this machine and your running work, or your volumes.

    `weir cp data.csv W-1:`, `weir cp W-1:results ./results`, `weir cp -r data vol://shared/`. Into a folder that is
    there, else under the name given. To and from volumes what broke off goes on where it stopped, and of a folder what
    is there with the same size and time of change is passed over.
    """
    if is_place(source) or is_place(target):
        volume_cp(ctx, source, target, recursive=recursive, is_all=is_all)
        return
    from_work, to_work = place_of(source), place_of(target)
    if (from_work is None) == (to_work is None):
        raise WeirClientError(
            "One of the two is to be WORK:PATH.", "Write a path with a colon in it as ./a:b."
        )
    with caller(ctx) as client:
        if from_work is not None:
            told = _fetch(_Work(client, from_work.work, share), from_work.path, Path(target))
        elif to_work is not None:
            told = _bring(_Work(client, to_work.work, share), Path(source), to_work.path)
    for line in told["left_out"]:
        tell(f"Left out: {line}.")
    said(ctx, told, f"{told['files']} files, {told['bytes']} bytes.")


def place_of(text: str) -> WorkPlace | None:
    """What is meant by WORK:PATH; None: a path of this machine."""
    found = _PLACE.fullmatch(text)
    return WorkPlace(found["work"], found["path"]) if found is not None else None


class _Work:
    """Commands beside the work."""

    def __init__(self, client: Client, name: str, share: int) -> None:
        self._client, self._share = client, share
        self._uid = uid_of(name, client.workloads, "no")

    def run(self, *argv: str) -> "_Command":
        return _Command(
            Execution(self._client, self._client.workload_exec(self._uid, argv, share=self._share))
        )

    def is_folder(self, path: str) -> bool:
        with self.run("test", "-d", path) as asked:
            asked.running.close_input()
            return asked.finish() == 0


class _Command(io.RawIOBase):
    """A command beside the work, whose output is read as a file and whose input is written as one."""

    def __init__(self, running: Execution) -> None:
        self.running = running
        self._pieces = self._output()
        self._left = b""
        self._said = b""

    def _output(self) -> Iterator[bytes]:
        for channel, data in self.running.output():
            if channel == Channel.STDOUT:
                yield data
            else:
                self._said = (self._said + data)[-_SAID_BYTES:]

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = next(self._pieces, b"")
        piece, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def write(self, data: Any) -> int:
        self.running.send(bytes(data))
        return len(data)

    def finish(self) -> int:
        """Its exit status, once it has ended. Raises WeirClientError where it did not end by itself."""
        for _piece in self._pieces:
            pass
        ended = self.running.ended
        assert ended is not None
        ended.check()
        return ended.status or 0

    def check(self) -> None:
        """Raise WeirClientError where it has not done what it was to do."""
        if self.finish():
            lines = self._said.decode(errors="replace").strip().splitlines()
            raise WeirClientError(f"{lines[0]}." if lines else "It failed there.", "Look at the path.")

    def close(self) -> None:
        self.running.close()
        super().close()


def _fetch(work: _Work, path: str, target: Path) -> dict[str, Any]:
    place = posixpath.normpath(path or ".")
    folder, name = posixpath.split(place)
    if name in ("", ".", ".."):
        folder, name = place, "."
    if name == ".":
        raise WeirClientError(
            "That has no name of its own.", "Name a file or a folder in it, such as WORK:results."
        )
    if target.is_dir():
        target = target / name
    target = target.absolute()
    if not target.parent.is_dir():
        raise WeirClientError(f"There is no folder {target.parent}.", "Make it first.")
    with work.run("tar", "-cf", "-", "-C", folder or ".", "--", name) as packing:
        packing.running.close_input()
        try:
            done = unpack(cast(IO[bytes], io.BufferedReader(packing)), name, target)
        except WeirClientError:
            # Where the other end has said what is wrong, that is it.
            packing.check()
            raise
        packing.check()
    return {"files": done.files, "bytes": done.size, "left_out": done.left_out}


def _bring(work: _Work, source: Path, path: str) -> dict[str, Any]:
    if not source.exists():
        raise WeirClientError(f"There is no {source}.", "Look at the path.")
    place = posixpath.normpath(path or ".")
    folder, name = (place, source.absolute().name) if work.is_folder(place) else posixpath.split(place)
    told: dict[str, Any] = {"files": 0, "bytes": 0, "left_out": []}

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        """Without whose it is here: there it is the work's."""
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            told["left_out"].append(f"{member.name}: neither a file nor a folder")
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        told["files"] += not member.isdir()
        told["bytes"] += member.size
        return member

    with work.run("tar", "-xf", "-", "-C", folder or ".") as unpacking:
        # What it says meanwhile is heard: it may have no room, and read no more.
        hearing = threading.Thread(target=_hear, args=(unpacking,), daemon=True)
        hearing.start()
        with suppress(OSError):
            with tarfile.open(fileobj=cast(IO[bytes], unpacking), mode="w|", bufsize=_BLOCK_BYTES) as archive:
                archive.add(source.resolve(), arcname=name, filter=plain)
            unpacking.running.close_input()
        hearing.join()
        unpacking.check()
    return told


def _hear(command: _Command) -> None:
    with suppress(WeirClientError):
        command.finish()


COMMANDS = (cp,)
