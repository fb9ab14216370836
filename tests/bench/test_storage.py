"""What the way through the portal costs files on their way to a volume and back, beside `cp` and `rsync`.

All of it in one run, on one disk, and on disk when it returns. rsync goes as it would to another machine: to a daemon,
over a connection.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from weir.files.copying import bring, fetch, place_of

from portal.devstack.demo_order import Journey
from portal.devstack.servers.ports import any_free, is_free
from portal.devstack.stack import Stack

LARGE_MIB, SMALL_FILES, ROUNDS = 512, 100, 3
MIB = 2**20
# All ways write to one disk; ours computes a checksum at each end and copies each byte some times in Python.
LEAST_OF_CP = 0.02
START_S = 10.0


@pytest.fixture
def alice(stack: Stack, journey: Journey) -> Iterator[object]:
    client = journey.person("alice")
    volume = client.volume_make("bench", 4 * LARGE_MIB)
    yield client
    client.volume_delete(volume["uid"])


@pytest.fixture
def rsync(tmp_path: Path) -> Iterator[Callable[[str, str], None]]:
    """`rsync("/a/file", "there::file")`: with `there` for a folder that a daemon keeps."""
    if shutil.which("rsync") is None:
        pytest.skip("rsync is not installed")
    there = tmp_path / "there"
    there.mkdir()
    settings = tmp_path / "rsyncd.conf"
    whose = f"uid = {os.getuid()}\ngid = {os.getgid()}\n"
    settings.write_text(f"use chroot = no\n{whose}[there]\npath = {there}\nread only = no\n")
    port = any_free()
    daemon = subprocess.Popen(
        [
            "rsync",
            "--daemon",
            "--no-detach",
            "--address",
            "127.0.0.1",
            "--port",
            str(port),
            "--config",
            settings,
        ]
    )

    def copy(source: str, target: str) -> None:
        ends = [end.replace("there::", f"rsync://127.0.0.1:{port}/there/") for end in (source, target)]
        # All of it each time, as the others do.
        subprocess.run(
            ["rsync", "--recursive", "--whole-file", "--ignore-times", "--fsync", *ends], check=True
        )

    end_s = time.monotonic() + START_S
    while is_free(port):
        assert time.monotonic() < end_s, "the rsync daemon did not begin to listen"
        time.sleep(0.05)
    yield copy
    daemon.terminate()
    daemon.wait()


def silent(_path: str, _done: int, _size: int) -> None:
    pass


def best_s(act: Callable[[], object]) -> float:
    found = []
    for _round in range(ROUNDS):
        began_s = time.perf_counter()
        act()
        found.append(time.perf_counter() - began_s)
    return min(found)


def copied(source: Path, target: Path) -> None:
    """As `cp`, and on disk when it returns, as an upload is."""
    shutil.copyfile(source, target)
    with target.open("rb+") as file:
        os.fsync(file.fileno())


def tree_copied(source: Path, target: Path) -> None:
    """As `cp -r`, and each file on disk when it returns."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, copy_function=lambda one, other: copied(Path(one), Path(other)))


def test_a_large_file_up_and_down_beside_cp_and_rsync(
    alice, rsync: Callable[[str, str], None], tmp_path: Path
) -> None:
    source, back = tmp_path / "large", tmp_path / "back"
    block = os.urandom(MIB)
    with source.open("wb") as file:
        for _ in range(LARGE_MIB):
            file.write(block)
    place = place_of(alice, "vol://bench/large")
    times = {
        "cp": best_s(lambda: copied(source, tmp_path / "copy")),
        "rsync to a daemon": best_s(lambda: rsync(str(source), "there::large")),
        "rsync from a daemon": best_s(lambda: rsync("there::large", str(tmp_path / "again"))),
        "weir cp to a volume": best_s(lambda: bring(alice, source, place, recursive=False, progress=silent)),
        "weir cp from a volume": best_s(lambda: fetch(alice, place, back, recursive=False, progress=silent)),
    }
    for name, seconds in times.items():
        print(f"{name}: {LARGE_MIB / seconds:.0f} MiB/s, {times['cp'] / seconds:.2f} of cp")
    for copy in (back, tmp_path / "again", tmp_path / "there" / "large"):
        assert copy.stat().st_size == LARGE_MIB * MIB
    assert all(times["cp"] / seconds > LEAST_OF_CP for seconds in times.values())


def test_many_small_files_beside_cp_and_rsync(
    alice, rsync: Callable[[str, str], None], tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(SMALL_FILES):
        (tree / f"f{number}").write_bytes(os.urandom(1000))
    place = place_of(alice, "vol://bench/tree")
    times = {
        "cp -r": best_s(lambda: tree_copied(tree, tmp_path / "copies")),
        "rsync to a daemon": best_s(lambda: rsync(f"{tree}/", "there::tree/")),
        "rsync from a daemon": best_s(lambda: rsync("there::tree/", str(tmp_path / "again"))),
    }
    began_s = time.perf_counter()
    done = bring(alice, tree, place, recursive=True, progress=silent)
    times["weir cp -r to a volume"] = time.perf_counter() - began_s
    began_s = time.perf_counter()
    fetch(alice, place, tmp_path / "down", recursive=True, progress=silent)
    times["weir cp -r from a volume"] = time.perf_counter() - began_s
    for name, seconds in times.items():
        print(f"{name}: {SMALL_FILES / seconds:.0f} files of 1 kB a second")
    assert done.files == SMALL_FILES
    for copies in (tmp_path / "down", tmp_path / "again", tmp_path / "there" / "tree"):
        assert sum(path.is_file() for path in copies.rglob("*")) == SMALL_FILES
