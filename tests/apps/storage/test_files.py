"""Folders and files: the wall around a volume, and what may be done within it."""

import os

import pytest

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, NotFound
from apps.kernel.planes import in_tenant
from apps.storage.errors import AlreadyThere, NoSuchFile, PathRefused
from apps.storage.paths import names_of
from apps.storage.selectors import entry_get, file_open, folder_list
from apps.storage.services.copying import folder_survey
from apps.storage.services.files import file_move, file_remove, folder_make
from apps.storage.services.objects import objects_list
from apps.storage.services.volumes import volume_follow

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _acme(ann):
    with in_tenant("acme"):
        yield


@pytest.fixture
def volume(made):
    return made()


def names(person, volume, path=""):
    return [row.name for row in folder_list(actor=person.actor, volume=volume, path=path).entries]


def read(person, volume, path) -> bytes:
    file = file_open(actor=person.actor, volume=volume, path=path)
    try:
        return os.read(file.fd, 100)
    finally:
        os.close(file.fd)


WRONG = ("/etc/passwd", "../other", "a/../../b", "a//b", "./a", "a/.", "..", "a\x00b", "a\nb", "a\u202eb", "\ud800",
         "x" * 256, "a/" * 65 + "b", "é" * 1025)  # fmt: skip


@pytest.mark.parametrize("path", WRONG)
def test_a_path_that_leaves_the_volume_or_is_none_is_refused(ann, volume, path):
    with pytest.raises(PathRefused):
        names_of(path)
    for act in (folder_make, file_remove):
        with pytest.raises(PathRefused):
            act(actor=ann.actor, volume_uid=volume.uid, path=path)
    with pytest.raises(PathRefused):
        file_move(actor=ann.actor, volume_uid=volume.uid, path="a", to=path)
    with pytest.raises(PathRefused):
        folder_list(actor=ann.actor, volume=volume, path=path)
    with pytest.raises(PathRefused):
        read(ann, volume, path)


@pytest.mark.req("PLAT-SEC-4")
def test_no_link_that_work_has_made_leads_out_of_a_volume(ann, volume, files, tmp_path):
    outside = tmp_path / "secret"
    outside.mkdir()
    (outside / "key").write_text("the centre's")
    top = files(volume)
    (top / "folder").symlink_to(outside)
    (top / "file").symlink_to(outside / "key")
    (top / "up").symlink_to("..")
    (top / "abs").symlink_to("/")
    os.mkfifo(top / "pipe")
    for path in ("folder/key", "file", "up/uploads", "abs/etc/passwd", "pipe", "folder"):
        with pytest.raises(PathRefused):
            read(ann, volume, path)
    for path in ("folder", "up", "abs"):
        with pytest.raises(PathRefused):
            folder_list(actor=ann.actor, volume=volume, path=path)
        with pytest.raises(PathRefused):
            folder_make(actor=ann.actor, volume_uid=volume.uid, path=f"{path}/new")
    with pytest.raises(PathRefused):
        file_remove(actor=ann.actor, volume_uid=volume.uid, path="folder/key")
    with pytest.raises(PathRefused):
        file_move(actor=ann.actor, volume_uid=volume.uid, path="folder/key", to="key")
    # A link itself may be removed and moved; what it leads to stays.
    file_move(actor=ann.actor, volume_uid=volume.uid, path="folder", to="moved")
    file_remove(actor=ann.actor, volume_uid=volume.uid, path="moved")
    assert (outside / "key").read_text() == "the centre's"
    assert sorted(os.listdir(outside)) == ["key"]
    kinds = {row.name: row.kind for row in folder_list(actor=ann.actor, volume=volume).entries}
    assert kinds == {"file": "link", "up": "link", "abs": "link", "pipe": "other"}


@pytest.mark.req("PLAT-ASSET-6", "PLAT-ASSET-7")
def test_folders_are_made_listed_moved_and_removed(ann, volume, files):
    for path in ("b/deep/er", "a"):
        folder_make(actor=ann.actor, volume_uid=volume.uid, path=path)
    (files(volume) / "z.txt").write_text("hello")
    (files(volume) / "A.txt").write_text("x" * 9)
    found = folder_list(actor=ann.actor, volume=volume).entries
    assert [(row.name, row.kind, row.size_bytes) for row in found] == [
        ("a", "folder", 0),
        ("b", "folder", 0),
        ("A.txt", "file", 9),
        ("z.txt", "file", 5),
    ]
    assert all(row.modified_at.year > 2000 for row in found)
    assert read(ann, volume, "z.txt") == b"hello"
    with pytest.raises(AlreadyThere):
        folder_make(actor=ann.actor, volume_uid=volume.uid, path="b/deep")
    file_move(actor=ann.actor, volume_uid=volume.uid, path="z.txt", to="b/deep/y.txt")
    assert names(ann, volume, "b/deep") == ["er", "y.txt"]
    for path, to in (("A.txt", "b/deep/y.txt"), ("a", "b"), ("A.txt", "b")):
        with pytest.raises(AlreadyThere):
            file_move(actor=ann.actor, volume_uid=volume.uid, path=path, to=to)
    with pytest.raises(PathRefused, match="lies within"):
        file_move(actor=ann.actor, volume_uid=volume.uid, path="b", to="b/deep/b")
    file_move(actor=ann.actor, volume_uid=volume.uid, path="b", to="a/b")
    assert names(ann, volume) == ["a", "A.txt"]
    file_remove(actor=ann.actor, volume_uid=volume.uid, path="A.txt")
    file_remove(actor=ann.actor, volume_uid=volume.uid, path="a")
    assert names(ann, volume) == []
    for path in ("a", "A.txt", "none/of/it"):
        with pytest.raises(NoSuchFile):
            file_remove(actor=ann.actor, volume_uid=volume.uid, path=path)
        with pytest.raises(NoSuchFile):
            entry_get(actor=ann.actor, volume=volume, path=path)
    # The room of a folder comes back when it was walked through.
    trash = files(volume).parent / "trash"
    assert len(list(trash.iterdir())) == 1
    volume_follow(actor=SYSTEM, uid=volume.uid)
    assert list(trash.iterdir()) == []


def test_a_long_folder_comes_in_parts(ann, volume, files):
    for number in range(7):
        (files(volume) / f"f{number}").touch()
    seen, after = [], ""
    while True:
        part = folder_list(actor=ann.actor, volume=volume, after=after, most=3)
        seen += [row.name for row in part.entries]
        if not (after := part.next_name):
            break
    assert seen == [f"f{number}" for number in range(7)]


def test_a_folder_that_work_has_filled_beyond_measure_is_refused_in_words(ann, volume, files, monkeypatch):
    for number in range(4):
        (files(volume) / f"f{number}").touch()
    monkeypatch.setattr("apps.storage.selectors.ENTRIES_MAX", 3)
    with pytest.raises(Conflict, match="more than 3 entries"):
        names(ann, volume)


def test_folders_deeper_than_a_path_are_not_looked_through(volume, files):
    """Step by step from the top each further one takes longer: nobody's worker goes down a chain of thousands."""
    files(volume).joinpath(*["d"] * 70).mkdir(parents=True)
    files(volume).joinpath("e", "f").mkdir(parents=True)
    with pytest.raises(PathRefused, match="deeper than 64"):
        folder_survey(volume, "d")
    assert folder_survey(volume, "e") == []


def test_a_list_of_keys_does_not_go_through_folders_without_end(ann, volume, files, monkeypatch):
    """Work makes millions of folders that hold a link alone; eight such lists kept all tenants from the S3 address."""
    for number in range(12):
        folder = files(volume) / f"{number:02}"
        folder.mkdir()
        (folder / "away").symlink_to("/etc")
    asked = {"actor": ann.actor, "volume": volume, "prefix": "", "after": "", "most": 10}
    assert objects_list(**asked, is_grouped=False) == ([], False)
    monkeypatch.setattr("apps.storage.services.objects._FOLDERS_MOST", 10)
    with pytest.raises(Conflict, match="folders hold none"):
        objects_list(**asked, is_grouped=False)
    assert len(objects_list(**asked, is_grouped=True)[0]) == 10


def test_who_only_looks_changes_nothing(member, made, keeper):
    shared = made(keeper, name="shared", owner="tenant")
    decider = member("acme", "tenant_decision_maker")
    assert names(decider, shared) == []
    with pytest.raises(Forbidden):
        folder_make(actor=decider.actor, volume_uid=shared.uid, path="a")
    with pytest.raises(Forbidden):
        file_remove(actor=decider.actor, volume_uid=shared.uid, path="a")


@pytest.mark.req("PLAT-TEN-2")
def test_another_tenant_reaches_no_file(volume, stranger, files):
    (files(volume) / "a").write_text("x")
    with in_tenant("globex"):
        for act in (folder_make, file_remove):
            with pytest.raises(NotFound):
                act(actor=stranger.actor, volume_uid=volume.uid, path="a")
    api = stranger.api()
    for part in ("", "/files", "/content?path=a", "/uploads"):
        assert api.get(f"/api/v1/volumes/{volume.uid}{part}").status_code == 404
