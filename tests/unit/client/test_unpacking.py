"""An archive from elsewhere, taken apart: whatever it says, nothing lands outside the folder that was named."""

import io
import tarfile
from pathlib import Path

import pytest
from weir.errors import WeirClientError
from weir.unpacking import is_inside, unpack

pytestmark = pytest.mark.req("PLAT-CMP-10")


def archive(*members: tuple[str, object]) -> io.BytesIO:
    """Members by name and what they are: bytes, a folder (None), a link (str), or a type of tarfile's with its link."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as made:
        for name, what in members:
            member = tarfile.TarInfo(name)
            member.mode = 0o777
            content = None
            if isinstance(what, bytes):
                member.size, content = len(what), io.BytesIO(what)
            elif isinstance(what, str):
                member.type, member.linkname = tarfile.SYMTYPE, what
            elif isinstance(what, tuple):
                member.type, member.linkname = what
            else:
                member.type = tarfile.DIRTYPE
            made.addfile(member, content)
    whole.seek(0)
    return whole


def test_files_folders_and_links_within_come_as_they_are(tmp_path: Path) -> None:
    members = [
        ("in", None), ("in/a", b"one"), ("in/sub", None), ("in/sub/b", b"two"), ("in/sub/up", "../a"),
        ("in/hard", (tarfile.LNKTYPE, "in/a")), ("in/no/folder/c", b"three"),
    ]  # fmt: skip
    done = unpack(archive(*members), "in", tmp_path / "out")
    assert (done.files, done.size, done.left_out) == (5, 11, [])
    assert (tmp_path / "out/sub/up").read_text() == "one"
    assert (tmp_path / "out/hard").read_text() == "one"
    assert (tmp_path / "out/no/folder/c").read_text() == "three"
    assert (tmp_path / "out/a").stat().st_mode & 0o7000 == 0


@pytest.mark.parametrize("name", ["../evil", "in/../../evil", "/tmp/evil", "other", "in/sub/../x", ".."])
def test_what_was_not_asked_for_ends_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(WeirClientError, match="not asked for"):
        unpack(archive((name, b"x")), "in", tmp_path / "here" / "out")
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


@pytest.mark.parametrize("leads_to", ["/etc/passwd", "..", "../..", "../../evil", "sub/../../evil", "sub/.."])
def test_a_link_that_may_lead_out_is_left_out(tmp_path: Path, leads_to: str) -> None:
    done = unpack(archive(("in", None), ("in/link", leads_to)), "in", tmp_path / "out")
    assert done.left_out == ["out/link: a link that leads out of the folder"]
    assert not (tmp_path / "out/link").is_symlink()


def test_a_way_up_by_two_links_is_none() -> None:
    """`deep/x` may lead up to the top; what goes through it and up again would be out."""
    assert is_inside(1, "..")
    assert not is_inside(0, "deep/x/..")
    assert not is_inside(0, "..")


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """Of the archive's own, which come last, or one that lies there from before."""
    outside = tmp_path / "outside"
    outside.mkdir()
    members = [("in", None), ("in/way", str(outside)), ("in/way/evil", b"x")]
    done = unpack(archive(*members), "in", tmp_path / "out")
    assert done.left_out
    assert list(outside.iterdir()) == []
    (tmp_path / "second").mkdir()
    (tmp_path / "second/way").symlink_to(outside)
    with pytest.raises(OSError, match="way"):
        unpack(archive(("in", None), ("in/way/evil", b"x")), "in", tmp_path / "second")
    assert list(outside.iterdir()) == []


def test_a_file_takes_a_links_place_and_does_not_write_where_it_leads(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("mine")
    (tmp_path / "out").symlink_to(kept)
    unpack(archive(("in", b"theirs")), "in", tmp_path / "out")
    assert kept.read_text() == "mine"
    assert (tmp_path / "out").read_text() == "theirs"


def test_devices_pipes_and_hard_links_to_elsewhere_are_not_made(tmp_path: Path) -> None:
    done = unpack(
        archive(("in", None), ("in/pipe", (tarfile.FIFOTYPE, "")), ("in/disk", (tarfile.BLKTYPE, ""))),
        "in",
        tmp_path / "out",
    )
    assert len(done.left_out) == 2
    with pytest.raises(WeirClientError):
        unpack(archive(("in/hard", (tarfile.LNKTYPE, "/etc/passwd"))), "in", tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_what_is_no_archive_says_so(tmp_path: Path) -> None:
    with pytest.raises(WeirClientError, match="no archive"):
        unpack(io.BytesIO(b"tar: not found" * 100), "in", tmp_path / "out")
