"""What the way through the portal costs a file on its way to a volume and back, beside `cp` on the same disk."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from weir.volume_copying import bring, fetch, place_of

from portal.devstack.demo_order import Journey
from portal.devstack.stack import Stack

LARGE_MIB, SMALL_FILES, ROUNDS = 512, 100, 3
MIB = 2**20
# Both ways write to one disk; ours computes a checksum at each end and copies each byte some times in Python.
LEAST_OF_CP = 0.02


@pytest.fixture
def alice(stack: Stack, journey: Journey) -> Iterator[object]:
    client = journey.person("alice")
    volume = client.volume_make("bench", 4 * LARGE_MIB)
    yield client
    client.volume_delete(volume["uid"])


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


def test_a_large_file_up_and_down_beside_cp(alice, tmp_path: Path):
    source, back = tmp_path / "large", tmp_path / "back"
    block = os.urandom(MIB)
    with source.open("wb") as file:
        for _ in range(LARGE_MIB):
            file.write(block)
    place = place_of(alice, "vol://bench/large")
    times = {
        "cp": best_s(lambda: copied(source, tmp_path / "copy")),
        "weir cp to a volume": best_s(lambda: bring(alice, source, place, recursive=False, progress=silent)),
        "weir cp from a volume": best_s(lambda: fetch(alice, place, back, recursive=False, progress=silent)),
    }
    for name, seconds in times.items():
        print(f"{name}: {LARGE_MIB / seconds:.0f} MiB/s, {times['cp'] / seconds:.2f} of cp")
    assert back.stat().st_size == LARGE_MIB * MIB
    assert all(times["cp"] / seconds > LEAST_OF_CP for seconds in times.values())


def test_many_small_files(alice, tmp_path: Path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(SMALL_FILES):
        (tree / f"f{number}").write_bytes(os.urandom(1000))
    began_s = time.perf_counter()
    done = bring(alice, tree, place_of(alice, "vol://bench/tree"), recursive=True, progress=silent)
    up_s = time.perf_counter() - began_s
    began_s = time.perf_counter()
    fetch(alice, place_of(alice, "vol://bench/tree"), tmp_path / "down", recursive=True, progress=silent)
    down_s = time.perf_counter() - began_s
    print(
        f"{SMALL_FILES} files of 1 kB: {SMALL_FILES / up_s:.0f} a second up, {SMALL_FILES / down_s:.0f} down"
    )
    assert done.files == SMALL_FILES
