"""A work folder as an archive, written and read by a process of its own that runs as the folder's user.

`python -P -m node_agent.runtime.archive pack FOLDER OWNER LIMIT` writes a plain tar to its output, `outputs FOLDER
OWNER LIMIT` one of its outputs alone, `unpack FOLDER OWNER` reads one from its input. It enters the folder and becomes
its user before it looks at anything in it: that user need not reach the interpreter, nor the folders above.

Plain files, folders, and links that stay inside travel, with their modes and times; what leads out of the folder,
sockets, pipes and devices stay behind, as do the files by which the node and its work speak. Outputs are plain files
and folders: of them every link stays behind, and a file that has two names is two. The last line of its errors says
what went wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from node_agent.files import OUTPUTS
from node_agent.runtime.shim import checkpoint, elastic_size

_SPOKEN = frozenset({checkpoint.FILE, elastic_size.FILE, elastic_size.CONFIRMED})
_MIB = 1024 * 1024


class TooLarge(Exception):
    """The folder holds more than may travel."""


def pack(folder: Path, limit_bytes: int, out: IO[bytes], *, are_outputs: bool = False) -> int:
    """Write a folder as an archive; how many things stayed behind. Raises OSError, TooLarge."""
    left_behind, total_bytes = 0, 0
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for path, name in _walk(folder):
            if are_outputs:
                tar.inodes.clear()  # type: ignore[attr-defined]
            entry = tar.gettarinfo(path, name)
            if entry is None or not _travels(entry, name) or (are_outputs and entry.issym()):
                left_behind += 1
                continue
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            total_bytes += entry.size
            if total_bytes > limit_bytes:
                raise TooLarge(f"it holds more than the {limit_bytes // _MIB} MiB that may travel")
            if entry.isreg():
                with path.open("rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    return left_behind


def _walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """All that is in it, each folder before what it holds; what cannot be listed is an error."""

    def refuse(error: OSError) -> None:
        raise error

    for parent, folders, files in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(parent, name)
            relative = path.relative_to(folder).as_posix()
            if relative not in _SPOKEN:
                yield path, relative


def _travels(entry: tarfile.TarInfo, name: str) -> bool:
    if entry.issym():
        target = os.path.normpath(os.path.join(os.path.dirname(name), entry.linkname))
        return not os.path.isabs(target) and target.split("/")[0] != ".."
    return entry.isreg() or entry.isdir() or entry.islnk()


def unpack(folder: Path, archive: IO[bytes]) -> None:
    """Fill an empty folder from an archive; nothing in it can reach out of the folder. Raises OSError, TarError."""
    with tarfile.open(fileobj=archive, mode="r|") as tar:
        tar.extractall(folder, filter="data")
    # The end of a tar is padded: who sends it is heard to the end.
    while archive.read(_MIB):
        pass


def process(verb: str, folder: Path, *more: str, owner: int | None, library: Path) -> subprocess.Popen[bytes]:
    """This module as a process of the folder's user; `library` is what that user may import. Raises OSError."""
    return subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-m",
            "node_agent.runtime.archive",
            verb,
            os.fspath(folder),
            str(owner or ""),
            *more,
        ],
        stdin=subprocess.PIPE if verb == "unpack" else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if verb == "unpack" else subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        env={"PYTHONPATH": os.fspath(library), "LANG": "C.UTF-8"},
        umask=0o077,
        start_new_session=True,
    )


def _enter(folder: str, owner: int | None) -> None:
    os.chdir(folder)
    if owner is not None:
        os.setgroups([])
        os.setgid(owner)
        os.setuid(owner)


def _outputs_enter() -> bool:
    """Go into the folder of outputs; whether there is one. Raises NotADirectoryError where something else stands there,
    a link among them."""
    try:
        folder = os.open(OUTPUTS, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise NotADirectoryError(f"{OUTPUTS} is no folder: {error.strerror}") from error
    os.fchdir(folder)
    os.close(folder)
    return True


def main(arguments: list[str]) -> int:
    """Exit codes: 0 done, 1 it went wrong, 3 the folder is too large."""
    verb, place, owner = arguments[:3]
    try:
        _enter(place, int(owner) if owner else None)
        folder = Path()
        if verb == "outputs" and not _outputs_enter():
            tarfile.open(fileobj=sys.stdout.buffer, mode="w|").close()
        elif verb == "outputs":
            print(pack(folder, int(arguments[3]), sys.stdout.buffer, are_outputs=True), file=sys.stderr)
        elif verb == "pack":
            left_behind = pack(folder, int(arguments[3]), sys.stdout.buffer)
            print(left_behind, file=sys.stderr)
        else:
            unpack(folder, sys.stdin.buffer)
    except TooLarge as error:
        print(error, file=sys.stderr)
        return 3
    except (OSError, tarfile.TarError) as error:
        print(str(error).replace("\n", " "), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
