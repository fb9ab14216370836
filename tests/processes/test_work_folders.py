"""Work folders on a node: what travels, what stays behind, and that nothing reaches out of one."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from node_agent.folder_transfers import FolderFailed, FolderTransfers
from node_agent.instructions import Discard, Send, Start
from node_agent.machine import Observed
from node_agent.protocol.folders import DesiredFolder, FolderArchive, FolderSend, FolderSent
from node_agent.protocol.slices import DesiredSlice
from node_agent.runtime.archive import TooLarge, pack, unpack
from node_agent.runtime.shim.checkpoint import FILE, CheckpointControl
from node_agent.transport import NetworkTrouble
from node_agent.work_folders import WorkFolders
from tests.unit.node_agent.test_machine import held, machine, replied, report, wanted

pytestmark = pytest.mark.req("ELA-810")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def full(tmp_path: Path) -> Path:
    folder = tmp_path / "full"
    (folder / "run" / "deep").mkdir(parents=True)
    (folder / "model.pt").write_bytes(os.urandom(100_000))
    (folder / "run" / "log").write_text("loss")
    (folder / "run" / "tool.sh").write_text("#!/bin/sh")
    (folder / "run" / "tool.sh").chmod(0o700)
    (folder / "latest").symlink_to("run/log")
    os.link(folder / "model.pt", folder / "best.pt")
    return folder


def test_files_folders_modes_and_links_inside_travel(full: Path, tmp_path: Path) -> None:
    data, target = io.BytesIO(), tmp_path / "target"
    target.mkdir()
    assert pack(full, 2**30, data) == 0
    data.seek(0)
    unpack(target, data)
    assert (target / "model.pt").read_bytes() == (full / "model.pt").read_bytes()
    assert (target / "latest").readlink() == Path("run/log")
    assert (target / "run" / "tool.sh").stat().st_mode & 0o100
    assert (target / "run" / "deep").is_dir()
    assert (target / "best.pt").samefile(target / "model.pt")


def test_what_leads_out_and_what_is_no_file_stays_behind(full: Path) -> None:
    (full / "passwd").symlink_to("/etc/passwd")
    (full / "up").symlink_to("../../secret")
    os.mkfifo(full / "pipe")
    (full / FILE).touch()
    data = io.BytesIO()
    assert pack(full, 2**30, data) == 3
    data.seek(0)
    with tarfile.open(fileobj=data) as tar:
        assert not {"passwd", "up", "pipe", FILE} & set(tar.getnames())


def test_a_folder_beyond_its_limit_is_refused(full: Path) -> None:
    with pytest.raises(TooLarge, match="more than the 0 MiB"):
        pack(full, 50_000, io.BytesIO())


def entry(name: str, **facts: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    for key, value in facts.items():
        setattr(made, key, value)
    return made


@pytest.mark.parametrize(
    "bad",
    [
        entry("../out"),
        entry("link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        entry("link", type=tarfile.SYMTYPE, linkname="../../out"),
        entry("link", type=tarfile.LNKTYPE, linkname="../out"),
        entry("null", type=tarfile.CHRTYPE),
    ],
)
def test_an_archive_that_reaches_out_is_refused(bad: tarfile.TarInfo, tmp_path: Path) -> None:
    target, data = tmp_path / "a" / "target", io.BytesIO()
    target.mkdir(parents=True)
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.addfile(bad)
    data.seek(0)
    with pytest.raises(tarfile.TarError):
        unpack(target, data)
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]
    assert list(target.iterdir()) == []


def test_an_absolute_path_lands_inside(tmp_path: Path) -> None:
    target, data = tmp_path / "target", io.BytesIO()
    target.mkdir()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.addfile(entry("/weir-test-absolute"))
    data.seek(0)
    unpack(target, data)
    assert [path.name for path in target.iterdir()] == ["weir-test-absolute"]


class Shelf:
    """Keeps pieces as the portal does; `fails` is how often it cannot be reached."""

    def __init__(self) -> None:
        self.pieces: dict[int, bytes] = {}
        self.sent: FolderSent | None = None
        self.fails = 0

    def piece_put(self, key: str, transfer: str, number: int, piece: bytes) -> None:
        self.fails -= 1
        if self.fails >= 0:
            raise NetworkTrouble("away")
        self.pieces[number] = piece

    def piece_get(self, key: str, transfer: str, number: int) -> bytes:
        return self.pieces[number]

    def folder_sent(self, key: str, message: FolderSent) -> None:
        self.sent = message

    def archive(self) -> FolderArchive:
        assert self.sent is not None
        assert self.sent.sha256 is not None
        fields = self.sent.model_dump(exclude={"protocol", "problem"})
        return FolderArchive.model_validate(fields)


def transfers(place: Path, shelf: Shelf) -> FolderTransfers:
    return FolderTransfers(shelf, WorkFolders(place), lambda key: None, ROOT)


def waiting(archive: FolderArchive) -> DesiredSlice:
    return wanted().model_copy(update={"folder": DesiredFolder(key="w.0", archive=archive)})


def send(full: Path, tmp_path: Path, *, fails: int = 0) -> Shelf:
    """A folder sent to a shelf that cannot be reached so often."""
    shelf = Shelf()
    here = transfers(tmp_path / "here", shelf)
    home = here._folders.make("w.0", None)
    full.rename(home / "full")
    (home / "big").write_bytes(os.urandom(4_000_000))
    shelf.fails = fails
    here._send(FolderSend(key="w.0", transfer="t", limit_bytes=2**30))
    return shelf


@pytest.fixture
def sent(full: Path, tmp_path: Path) -> Shelf:
    return send(full, tmp_path)


def test_it_comes_across_in_pieces_and_through_trouble_on_the_way(full: Path, tmp_path: Path) -> None:
    sent = send(full, tmp_path, fails=2)
    assert len(sent.pieces) == 4
    there = transfers(tmp_path / "there", sent)
    there.fetch(waiting(sent.archive()))
    told: list[tuple[DesiredSlice, str]] = []
    while not told:
        told += there.fetched()
    assert [problem for _wanted, problem in told] == [""]
    assert (there._folders.home("w.0") / "full" / "run" / "log").read_text() == "loss"
    assert there._folders.home("w.0").stat().st_mode & 0o777 == 0o700
    assert there.is_fetched(DesiredFolder(key="w.0", archive=sent.archive()))


@pytest.mark.parametrize("harm", ["changed", "short", "gone", "stopped"])
def test_what_did_not_come_whole_is_never_run_in(sent: Shelf, tmp_path: Path, harm: str) -> None:
    archive, there = sent.archive(), transfers(tmp_path / "there", sent)
    if harm == "changed":
        sent.pieces[1] = bytes(len(sent.pieces[1]))
    elif harm == "short":
        archive = archive.model_copy(update={"pieces": 2})
    elif harm == "gone":
        del sent.pieces[2]
    else:
        there.unwant(frozenset({"a"}))
    with pytest.raises((FolderFailed, KeyError)):
        there._fetch(waiting(archive))
    assert there._folders.names() == ()
    assert list((tmp_path / "there").iterdir()) == []


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    shelf = Shelf()
    here = transfers(tmp_path / "here", shelf)
    here._send(FolderSend(key="w.0", transfer="t", limit_bytes=2**30))
    assert shelf.sent is not None
    assert shelf.sent.problem == "it is not on its node any more"


def test_a_folder_is_replaced_in_one_step_and_half_ones_are_swept(tmp_path: Path) -> None:
    folders = WorkFolders(tmp_path / "works")
    (folders.make("w.0", None) / "old").touch()
    draft = folders.draft("w.0", None)
    (draft / "new").touch()
    assert (folders.home("w.0") / "old").exists()
    folders.put("w.0", draft, "t")
    assert [path.name for path in folders.home("w.0").iterdir()] == ["new"]
    assert folders.transfer("w.0") == "t"
    folders.draft("w.1", None)
    folders.removals.settle()
    later = WorkFolders(tmp_path / "works")
    assert later.names() == ("w.0",)
    later.removals.settle()
    assert sorted(path.name for path in (tmp_path / "works").iterdir()) == ["w.0"]


def test_nobody_waits_for_a_folder_of_millions_of_files_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes minutes, in which the node would be lost; its user is nobody else's until all is gone."""
    goes_on, freed = threading.Event(), list[str]()

    def slowly(path: Path) -> None:
        assert goes_on.wait(30)
        shutil.rmtree(path)

    monkeypatch.setattr("node_agent.removals.tree_remove", slowly)
    folders = WorkFolders(tmp_path / "works")
    (folders.make("one", None) / "file").touch()
    folders.remove("one", lambda: freed.append("one"))
    assert (folders.names(), freed) == ((), [])
    assert list(folders.make("one", None).iterdir()) == []
    goes_on.set()
    folders.removals.settle()
    assert freed == ["one"]
    assert folders.names() == ("one",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_folder_of_before_there_were_users_is_handed_over(tmp_path: Path) -> None:
    folders, secret = WorkFolders(tmp_path / "works"), tmp_path / "secret"
    secret.touch()
    home = folders.make("w.0", None)
    (home / "run").mkdir()
    (home / "run" / "log").touch()
    (home / "out").symlink_to(secret)
    folders.make("w.0", 60_123)
    assert {path.lstat().st_uid for path in (home, *home.rglob("*"))} == {60_123}
    assert secret.stat().st_uid == 0


@pytest.mark.parametrize("key", ["", "..", "a/b", ".hidden", "-x"])
def test_a_name_never_climbs_out(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match="no name of a work folder"):
        WorkFolders(tmp_path / "works").home(key)


# ---- the machine ----


def in_folder(uid: str, key: str = "w.0", **more: object) -> DesiredSlice:
    return wanted(uid, **more).model_copy(update={"folder": DesiredFolder(key=key)})  # type: ignore[arg-type]


def holding(uid: str, state: str = "running") -> Observed:
    return Observed((replace(held(uid, state=state), folder="w.0"),))


def test_nothing_starts_in_a_folder_that_a_work_still_runs_in() -> None:
    made = machine(holding("old"))
    made.handle(replied(wanted("old"), in_folder("new")))
    told = report(made, "new")
    assert told is not None
    assert (told.state, told.reason) == ("starting", "waiting for the work that is ending in its folder")
    assert made.handle(holding("old", "exited")) == (Start(in_folder("new")),)


def test_a_folder_in_use_is_neither_deleted_nor_sent() -> None:
    send = FolderSend(key="w.0", transfer="t", limit_bytes=1)
    orders = {"folders_over": ("w.0", "w.1"), "folders_send": (send,)}
    made = machine(holding("old"))
    assert made.handle(replied(wanted("old"), **orders)) == (Discard("w.1"),)
    assert made.folders_idle(("w.0", "w.1")) == ("w.1",)
    free = machine()
    assert free.handle(replied(**orders)) == (Discard("w.0"), Discard("w.1"), Send(send))


def test_a_checkpoint_of_an_earlier_attempt_is_none_of_this_one(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    control = CheckpointControl(tmp_path, None, print)
    assert not control.look()
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).write_text("again")
    os.utime(tmp_path / FILE, (1, 1))
    assert control.look()


def deep(folder: Path, levels: int = 1500) -> None:
    """A chain of folders beyond what a recursion, or a path, reaches."""
    folder.mkdir(parents=True, exist_ok=True)
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def test_a_folder_of_any_depth_goes_and_a_restarted_agent_goes_on(tmp_path: Path) -> None:
    """Work makes it with three lines of shell: it must not end the agent, nor keep it from starting."""
    folders = WorkFolders(tmp_path / "works")
    deep(folders.make("one", None))
    folders.remove("one")
    assert folders.names() == ()
    folders.removals.settle()
    assert list((tmp_path / "works").iterdir()) == []
    # What an agent before this one left behind.
    deep(tmp_path / "works" / ".one.gone" / "work")
    later = WorkFolders(tmp_path / "works")
    assert later.names() == ()
    later.removals.settle()
    assert list((tmp_path / "works").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_any_depth_changes_hands(tmp_path: Path) -> None:
    folders = WorkFolders(tmp_path / "works")
    home = folders.make("one", 60_001)
    deep(home)
    (home / "away").symlink_to("/etc")
    folders.make("one", 60_002)
    assert {os.lstat(path).st_uid for path in (home, home / "d", home / "away")} == {60_002}
    assert os.stat("/etc").st_uid == 0
    folders.remove("one")
