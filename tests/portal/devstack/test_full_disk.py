"""A full disk: the supervisor says so, lives on, and starts again what died of it once there is room (S3)."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from portal.devstack.options import Options
from portal.devstack.servers.managed_process import Child
from portal.devstack.servers.processes import identity_read, text_write, wait_until
from portal.devstack.stack import Stack


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB with few files, in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=16", "weir-test", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a file system of a given size can be mounted by root only")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Take all room, of bytes and of files."""
    filler = disk / "filler"
    filler.mkdir()
    with pytest.raises(OSError, match="No space left"):  # noqa: PT012
        for number in range(1000):
            (filler / str(number)).write_bytes(b"1" * 65536)
    with (filler / "0").open("ab", buffering=0) as file, suppress(OSError):
        while file.write(b"1" * 512):
            pass
    return filler


def _kill(child: Child) -> int:
    """Kill it and take its record away, whose room it would leave; its process id."""
    pid = child.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert wait_until(child._is_over, timeout_s=60)
    child.pid_path.unlink()
    return pid


def empty(filler: Path) -> None:
    for file in filler.iterdir():
        file.unlink()


def test_the_supervisor_lives_through_a_full_disk(small_disk: Path) -> None:
    """S3: `make run` ended with a traceback when an identity could not be written, and nothing came back."""
    told: list[str] = []
    stack = Stack(Options(var_dir=small_disk), say=told.append)
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = stack.children["worker"] = Child("worker", sleeper, os.environ, small_disk)
    child.start()
    try:
        before = _kill(child)
        filler = fill(small_disk)
        assert wait_until(lambda: stack.tend() or child.pid not in (None, before), timeout_s=60)
        assert child.is_recorded is False
        assert identity_read(child.pid_path) is None
        empty(filler)
        assert wait_until(lambda: stack.tend() or child.is_recorded, timeout_s=60)
        assert identity_read(child.pid_path).pid == child.pid
    finally:
        child.stop()


def test_what_cannot_be_started_is_said_once_and_tried_until_it_can(small_disk: Path) -> None:
    """S3: a new child has no room for its log; five failures in a row ended everything."""
    told: list[str] = []
    stack = Stack(Options(var_dir=small_disk), say=told.append)
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = stack.children["web"] = Child("web", sleeper, os.environ, small_disk)
    child.start()
    try:
        _kill(child)
        child.log_path.unlink()
        filler = fill(small_disk)
        assert wait_until(lambda: stack.tend() or stack._troubles["web"].deaths >= 3, timeout_s=60)
        assert child.pid is None
        assert [line for line in told if "No space left" in line] == [told[-1]]
        assert "web cannot be started" in told[-1]
        empty(filler)
        assert wait_until(lambda: stack.tend() or child.pid is not None, timeout_s=90)
        assert told[-1] == "web started again"
    finally:
        child.stop()


def test_one_that_dies_again_and_again_is_started_again_and_again(tmp_path: Path) -> None:
    """S3: nothing ends the supervisor by itself; the pauses grow to half a minute."""
    stack = Stack(Options(var_dir=tmp_path))
    pauses = [stack._put_off("web") for _ in range(8)]
    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_no_draft(small_disk: Path) -> None:
    """S3: half a draft stayed, and took the last room."""
    text_write(small_disk / "a.pid", "old")
    fill(small_disk)
    with pytest.raises(OSError, match="No space left"):
        text_write(small_disk / "a.pid", "new" * 100_000)
    assert (small_disk / "a.pid").read_text() == "old"
    assert sorted(path.name for path in small_disk.iterdir()) == ["a.pid", "filler"]
