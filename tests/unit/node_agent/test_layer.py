"""What an overlay keeps of changes, as a layer of an image."""

import io
import os
import stat
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from node_agent.runtime.containers.layer import LayerFailed, LayerWriter
from node_agent.work_container import Changes

pytestmark = pytest.mark.req("PLAT-ASSET-4")


def written(
    folder: Path, *, hidden: tuple[str, ...] = (), is_owned: bool = False
) -> dict[str, tarfile.TarInfo]:
    changes = Changes(str(folder), frozenset(map(PurePosixPath, hidden)), os.getuid(), (7, 8), is_owned)
    out = io.BytesIO()
    LayerWriter(changes, out, lambda _at: None).write()
    out.seek(0)
    return {one.name: one for one in tarfile.open(fileobj=out)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "srv").mkdir(mode=0o700)
    (tmp_path / "srv/file").write_text("x")
    (tmp_path / "srv/file").chmod(0o4640)
    return tmp_path


def test_the_works_own_is_the_users_of_its_image(folder: Path) -> None:
    found = written(folder, is_owned=True)
    assert (found["srv/file"].uid, found["srv/file"].gid, found["srv/file"].mode) == (7, 8, 0o640)
    assert found["srv"].mode == 0o700


def test_where_it_was_one_of_all_others_all_others_may_as_much(folder: Path) -> None:
    found = written(folder)
    assert (found["srv/file"].mode, found["srv"].mode) == (0o666, 0o777)


def test_the_way_to_what_is_none_of_the_images_is_left_out_where_nothing_else_lies_on_it(
    folder: Path,
) -> None:
    (folder / "var/lib/place/work").mkdir(parents=True)
    (folder / "var/lib/place/work/secret").write_text("x")
    assert set(written(folder, hidden=("/var/lib/place/work",))) == {"srv", "srv/file"}
    (folder / "var/lib/beside").write_text("x")
    found = list(written(folder, hidden=("/var/lib/place/work",)))
    assert found == ["srv", "srv/file", "var", "var/lib", "var/lib/beside"]
    (folder / "var/lib/place/mine").write_text("x")
    found = list(written(folder, hidden=("/var/lib/place/work",)))
    assert found == [
        "srv", "srv/file", "var", "var/lib", "var/lib/beside", "var/lib/place", "var/lib/place/mine",
    ]  # fmt: skip


def test_names_are_bytes_and_folders_are_as_deep_as_they_are(folder: Path) -> None:
    name = os.fsencode(folder / "srv") + b"/\xff\xfe" + b"n" * 200
    os.close(os.open(name, os.O_CREAT))
    deep = folder
    for _turn in range(80):
        deep /= "d" * 20
        deep.mkdir()
    found = written(folder)
    assert sum(one.startswith("srv/\udcff\udcfe") for one in found) == 1
    assert deep.relative_to(folder).as_posix() in found


def test_what_would_delete_by_its_name_and_what_no_image_holds_is_left_out_and_counted(folder: Path) -> None:
    (folder / ".wh.srv").write_text("")
    os.mkfifo(folder / "pipe")
    out = io.BytesIO()
    writer = LayerWriter(Changes(str(folder), frozenset(), 1, (0, 0), True), out, lambda _at: None)
    writer.write()
    assert writer.left_out == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="such files and marks are made by root alone")
def test_what_an_overlay_says_by_marks_is_said_by_names(folder: Path) -> None:
    os.mknod(folder / "srv/gone", stat.S_IFCHR, os.makedev(0, 0))
    try:
        os.setxattr(folder / "srv", "trusted.overlay.opaque", b"y")
    except OSError:
        pytest.skip("this file system keeps no such marks")
    assert {"srv/.wh.gone", "srv/.wh..wh..opq"} <= written(folder).keys()
    os.setxattr(folder / "srv/file", "trusted.overlay.metacopy", b"y")
    with pytest.raises(LayerFailed, match="not whole"):
        written(folder)


def test_who_watches_may_break_it_off(folder: Path) -> None:
    def stop(at: int) -> None:
        raise LayerFailed(f"enough at {at}")

    with pytest.raises(LayerFailed, match="enough"):
        LayerWriter(Changes(str(folder), frozenset(), 1, (0, 0), True), io.BytesIO(), stop).write()
