"""Volumes held to their sizes while work writes into them: by quotas of their file system, else by measuring."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from node_agent.protocol.storage import STORAGE_MARK, VOLUME_SIZE
from node_agent.runtime.volumes import project_quota
from node_agent.runtime.volumes.folders import Volumes
from node_agent.runtime.volumes.sizes import VolumeSizes

pytestmark = pytest.mark.req("PLAT-ASSET-6")
MIB = 2**20
FULL = (errno.ENOSPC, errno.EDQUOT)
_FS_SET = 0x401C5820


def volume_made(storage: Path, size_mib: int, name: str = "7") -> Path:
    """As the portal makes it."""
    volume = storage / "acme" / f"00000000-0000-4000-8000-00000000000{name}"
    for room in ("files", "uploads", "trash"):
        (volume / room).mkdir(parents=True)
    size_tell(volume, size_mib)
    return volume


def size_tell(volume: Path, size_mib: int) -> None:
    draft = volume / "draft"
    draft.write_text(f"{size_mib}\n")
    draft.rename(volume / VOLUME_SIZE)


def mounted(*volumes: Path, is_read_only: bool = False) -> list[dict[str, object]]:
    return [
        {"source": str(one / "files"), "path": f"/volumes/{n}", "read_only": is_read_only, "is_sold": True}
        for n, one in enumerate(volumes)
    ]


def until(what: Callable[[], object], *, within_s: float = 40.0) -> None:
    end = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)


def fill(path: Path, most: int, *, piece: int = MIB) -> int:
    """How many pieces were taken until the file system refused more: of a process without powers, as work is, since
    ext4 holds none to a quota that has them all."""
    try:
        file = path.open("wb", buffering=0)
    except OSError as error:
        # xfs makes no file where nothing is left.
        if error.errno not in FULL:
            raise
        return 0
    with file:
        child = os.fork()
        if child == 0:
            os._exit(_filled(file.fileno(), most, piece))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code != _OTHERWISE
    return code


_OTHERWISE = 255


def _filled(fd: int, most: int, piece: int) -> int:
    taken = 0
    try:
        if os.geteuid() == 0:
            os.setresuid(65_000, 65_000, 65_000)
        for _ in range(most):
            if os.write(fd, os.urandom(piece)) < piece:
                return taken
            os.fsync(fd)
            taken += 1
    except OSError as error:
        return taken if error.errno in FULL else _OTHERWISE
    return taken


# ---- measured ----


def test_what_grows_beyond_its_size_is_told_and_no_more_once_it_was_enlarged(tmp_path: Path) -> None:
    small, roomy = volume_made(tmp_path, 4), volume_made(tmp_path, 100, "8")
    held = VolumeSizes(mounted(small, roomy))
    try:
        assert held.over() is None
        fill(small / "files" / "model", 9)
        fill(roomy / "files" / "model", 9)
        until(held.over)
        path, used_mib, size_mib = held.over() or ("", 0, 0)
        assert (path, size_mib) == ("/volumes/0", 4)
        assert 9 <= used_mib <= 10
        size_tell(small, 20)
        until(lambda: held.over() is None)
        (small / "files" / "model").unlink()
        size_tell(small, 1)
        time.sleep(3)
        assert held.over() is None, "a size is held against what is there, not what there was"
    finally:
        held.close()


def test_many_small_files_and_files_with_holes_are_what_they_hold(tmp_path: Path) -> None:
    volume = volume_made(tmp_path, 2)
    for number in range(1500):
        (volume / "files" / str(number)).write_bytes(b"x")
    with (volume / "files" / "holes").open("wb") as file:
        file.truncate(50 * MIB)
    held = VolumeSizes(mounted(volume))
    try:
        time.sleep(2)
        assert held.over() is None
        fill(volume / "files" / "model", 4)
        until(held.over)
    finally:
        held.close()


def test_what_is_read_only_or_without_a_size_is_held_by_nobody(tmp_path: Path) -> None:
    volume = volume_made(tmp_path, 1)
    fill(volume / "files" / "model", 3)
    held = VolumeSizes(mounted(volume, is_read_only=True))
    assert (held.pids, held.over()) == ([], None)
    (volume / VOLUME_SIZE).write_text("none\n")
    held = VolumeSizes(mounted(volume))
    try:
        time.sleep(1)
        assert held.over() is None
    finally:
        held.close()


def test_who_holds_them_ends_with_whom_it_tells(tmp_path: Path) -> None:
    volume = volume_made(tmp_path, 1)
    code = (
        "import sys, time\n"
        "from node_agent.runtime.volumes.sizes import VolumeSizes\n"
        f"held = VolumeSizes({mounted(volume)!r})\n"
        "print(held.pids[0], flush=True)\ntime.sleep(60)\n"
    )
    shim = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert shim.stdout is not None
    pid = int(shim.stdout.readline())
    shim.kill()
    shim.wait()
    shim.stdout.close()
    until(
        lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]
    )


# ---- by the file system ----


@pytest.fixture(params=["ext4", "xfs"])
def projects(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A storage folder of a file system that has quotas of projects."""
    if os.geteuid() != 0:
        pytest.skip("root alone mounts")
    make = shutil.which(f"mkfs.{request.param}", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if make is None:
        pytest.skip(f"there is no mkfs.{request.param} here")
    image, place = tmp_path / "image", tmp_path / "storage"
    place.mkdir()
    with image.open("wb") as file:
        file.truncate(400 * MIB)
    features = ["-O", "quota,project", "-E", "quotatype=prjquota"] if request.param == "ext4" else []
    subprocess.run([make, "-q", *features, str(image)], check=True)
    done = subprocess.run(
        ["mount", "-o", "loop,prjquota", str(image), str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"this kernel mounts no {request.param} with quotas of projects")
    (place / STORAGE_MARK).write_text("a" * 32)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_the_file_system_takes_what_was_sold_and_no_more_and_grows_while_it_is_used(projects: Path) -> None:
    volume, other = volume_made(projects, 16), volume_made(projects, 16, "8")
    held = VolumeSizes(mounted(volume, other))
    try:
        assert fill(volume / "files" / "model", 40) == 16
        assert fill(volume / "files" / "more", 64, piece=4096) < 32
        assert fill(other / "files" / "model", 10) == 10, "each volume has its own"
        assert held.over() is None, "who is held by the file system is not ended"
        size_tell(volume, 32)
        until(lambda: project_quota.held_mib(volume)[1] == 32)
        assert fill(volume / "files" / "more", 40) in (15, 16)
        (volume / "files" / "model").unlink()
        assert fill(volume / "files" / "again", 40) in (15, 16), "what is deleted is free again"
        # A file comes from the portal as it did: by a name within the volume, in one step.
        (volume / "files" / "again").unlink()
        (volume / "uploads" / "u").write_bytes(b"x" * MIB)
        (volume / "uploads" / "u").rename(volume / "files" / "sent")
        os.link(volume / "files" / "sent", volume / "files" / "second name")
        (volume / "files" / "sent").rename(volume / "trash" / "gone")
    finally:
        held.close()


def test_what_was_there_before_counts_and_a_smaller_size_takes_nothing_away(projects: Path) -> None:
    volume = volume_made(projects, 16)
    deep = volume / "files" / "a" / "b"
    deep.mkdir(parents=True)
    assert fill(deep / "old", 12) == 12
    (volume / "files" / "link").symlink_to("/usr")
    os.mkfifo(volume / "files" / "pipe")
    project_quota.hold(volume, 16)
    assert project_quota.held_mib(volume)[0] == 12
    assert fill(deep / "new", 40) in (3, 4)
    project_quota.hold(volume, 8)
    assert (deep / "old").stat().st_size == 12 * MIB
    assert fill(volume / "files" / "c", 2) == 0


def test_what_was_broken_off_is_gone_on_with(projects: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    volume = volume_made(projects, 16)
    assert fill(volume / "files" / "old", 12) == 12
    mark, marked = project_quota._mark, []

    def broken(fd: int, number: int) -> None:
        if len(marked) == 3:
            raise KeyboardInterrupt
        marked.append(number)
        mark(fd, number)

    monkeypatch.setattr(project_quota, "_mark", broken)
    with pytest.raises(KeyboardInterrupt):
        project_quota.hold(volume, 16)
    monkeypatch.undo()
    project_quota.hold(volume, 16)
    assert project_quota.held_mib(volume)[0] == 12
    assert len(set(marked)) == 1
    assert fill(volume / "files" / "new", 40) in (3, 4)


def test_the_agent_says_that_the_file_system_holds_them(projects: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / STORAGE_MARK).write_text("b" * 32)
    node = Volumes([projects, plain])
    assert node.mark() == f"{'a' * 32} {'b' * 32}"
    assert node.held_by() == "quota watched"


def test_who_owns_a_file_could_leave_and_the_filter_of_work_refuses_it(projects: Path) -> None:
    """Why the filter refuses those requests: the owner of a file gives it the number of no volume."""
    volume = volume_made(projects, 4)
    project_quota.hold(volume, 4)
    file = volume / "files" / "mine"
    file.write_bytes(b"x")
    os.chown(file, 65_000, 65_000)
    for folder in (projects, projects / "acme", volume, volume / "files"):
        folder.chmod(0o755)
    code = (
        "import ctypes, fcntl, os, sys\n"
        "from node_agent.runtime.isolation import seccomp\n"
        "ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)\n"
        "filter_ = seccomp.program() if sys.argv[2] == 'filtered' else b''\n"
        "os.setresuid(65000, 65000, 65000)\n"
        "seccomp.install(filter_)\n"
        "try:\n"
        f"    fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), {_FS_SET}, bytes(28))\n"
        "    print('left')\n"
        "except PermissionError: print('refused')\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code, str(file), way], capture_output=True, text=True, check=True
        ).stdout.strip()
        for way in ("filtered", "open")
    ]
    assert said == ["refused", "left"]
    assert struct.unpack("=5I8x", _asked(file))[3] == 0


def _asked(file: Path) -> bytes:
    fd = os.open(file, os.O_RDONLY)
    try:
        return fcntl.ioctl(fd, 0x801C581F, bytes(28))
    finally:
        os.close(fd)
