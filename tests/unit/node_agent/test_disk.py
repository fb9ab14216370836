"""Who may keep how much on a node's disk, and who makes room on a full one."""

from pathlib import Path

import pytest

from node_agent.files import write_json
from node_agent.runtime.scratch_disk import scratch_disk_mib
from node_agent.runtime.shim.measures.disk import DiskWatch

pytestmark = pytest.mark.req("PLAT-OPS-22")


@pytest.fixture
def others(tmp_path: Path) -> Path:
    return tmp_path / "slices"


def running(others: Path, name: str, used_mib: int, *, has_scratch_disk: bool = False) -> None:
    folder = others / name
    folder.mkdir(parents=True)
    told = {"state": "running", "disk_used_mib": used_mib, "has_scratch_disk": has_scratch_disk}
    write_json(folder / "state.json", told)


def watch(tmp_path: Path, others: Path, limit_mib: int, *, is_reserved: bool) -> DiskWatch:
    return DiskWatch((tmp_path,), limit_mib, others, is_reserved=is_reserved)


def test_what_is_reserved_is_all_its_own_and_else_half_of_what_is_free(tmp_path: Path, others: Path) -> None:
    assert watch(tmp_path, others, 2**30, is_reserved=True).limit_mib == 2**30
    assert watch(tmp_path, others, 2**30, is_reserved=False).limit_mib < 2**30


@pytest.mark.parametrize(
    ("is_reserved", "used_mib", "gives_way"),
    [(False, 10, True), (False, 4, False), (True, 900, False)],
)
def test_on_a_full_disk_work_without_a_reservation_makes_room_first(
    tmp_path: Path,
    others: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_reserved: bool,
    used_mib: int,
    gives_way: bool,
) -> None:
    running(others, "loose", 5)
    running(others, "kept", 1000, has_scratch_disk=True)
    one = watch(tmp_path, others, 2000, is_reserved=is_reserved)
    one.used_mib, one._floor_bytes = used_mib, 1
    monkeypatch.setattr(one, "_space", lambda: (100, 0))
    end = one.look(())
    assert (end is not None) == gives_way


def test_where_all_that_is_kept_is_reserved_the_largest_makes_room(
    tmp_path: Path, others: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then somebody else than work fills the disk, and the node goes before its work does."""
    running(others, "kept", 10, has_scratch_disk=True)
    one = watch(tmp_path, others, 2000, is_reserved=True)
    one.used_mib, one._floor_bytes = 11, 1
    monkeypatch.setattr(one, "_space", lambda: (100, 0))
    assert one.look(()) is not None


def test_a_node_offers_what_its_operator_says_or_half_of_what_is_free(tmp_path: Path) -> None:
    said = scratch_disk_mib(tmp_path / "not" / "yet", 7)
    assert said == 7
    half = scratch_disk_mib(tmp_path, None)
    assert half > 0
    assert half % 1024 == 0
    assert scratch_disk_mib(tmp_path, 2**40) < 2**40, "no more than there is"
    running(tmp_path / "slices", "kept", 8 * 1024)
    assert scratch_disk_mib(tmp_path, None) - half in range(3 * 1024, 5 * 1024 + 1), (
        "what work keeps is its own"
    )
