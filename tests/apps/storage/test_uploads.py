"""Uploads that resume, by tus 1.0: nothing that was acknowledged is lost, nothing is taken that has no room."""

import base64
import errno
import hashlib
import os
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.storage.drivers.directory import Directory
from apps.storage.errors import StorageFull
from apps.storage.models import Upload, Volume
from apps.storage.services.files import file_remove
from apps.storage.services.uploads import upload_take, uploads_tidy
from apps.storage.services.volumes import volume_follow

pytestmark = pytest.mark.django_db
PIECE = "application/offset+octet-stream"


class Tus:
    """A sender, by the words of the protocol."""

    def __init__(self, person, volume) -> None:
        self.api, self.volume, self.actor = person.api(), volume, person.actor

    def begin(self, path: str, size: int, body: bytes = b"", **told: str):
        pairs = {"path": path, **told}
        metadata = ",".join(f"{k} {base64.b64encode(v.encode()).decode()}" for k, v in pairs.items())
        return self.api.generic(
            "POST",
            f"/api/v1/volumes/{self.volume.uid}/uploads",
            body,
            content_type=PIECE,
            headers={
                "tus-resumable": "1.0.0",
                "upload-length": str(size),
                "upload-metadata": metadata,
            },
        )

    def send(self, at: str, offset: int, body: bytes, **headers: str):
        told = {"tus-resumable": "1.0.0", "upload-offset": str(offset)} | headers
        return self.api.generic("PATCH", at, body, content_type=PIECE, headers=told)

    def offset(self, at: str) -> int:
        answer = self.api.head(at, headers={"tus-resumable": "1.0.0"})
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "no-store"
        return int(answer.headers["Upload-Offset"])

    def end(self, at: str):
        return self.api.delete(at, headers={"tus-resumable": "1.0.0"})


@pytest.fixture
def volume(made):
    return made(size_mib=1)


@pytest.fixture
def tus(ann, volume):
    return Tus(ann, volume)


def refused(answer) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.req("PLAT-ASSET-7")
def test_a_file_comes_in_pieces_and_stands_there_when_whole(tus, volume, files):
    body = os.urandom(1000)
    begun = tus.begin("in/a.bin", len(body), body[:400])
    assert (begun.status_code, begun.headers["Upload-Offset"]) == (201, "400")
    at = begun.headers["Location"]
    assert tus.offset(at) == 400
    assert begun.headers["Upload-Expires"].endswith("GMT")
    # Half of a file is nowhere to be seen.
    assert not (files(volume) / "in").exists()
    assert tus.send(at, 400, body[400:900]).headers["Upload-Offset"] == "900"
    done = tus.send(at, 900, body[900:])
    assert (done.status_code, done.headers["Upload-Offset"]) == (204, "1000")
    assert (files(volume) / "in" / "a.bin").read_bytes() == body
    with in_tenant("acme"):
        volume.refresh_from_db()
        assert (volume.used_bytes, volume.upload_bytes) == (1000, 0)
    # Whoever lost the last answer asks, and hears that all is there.
    assert tus.offset(at) == 1000
    assert tus.send(at, 1000, b"").status_code == 204


def test_an_empty_file_and_one_sent_whole_need_one_request(tus, volume, files):
    assert tus.begin("empty", 0).status_code == 201
    assert tus.begin("one", 3, b"abc").status_code == 201
    assert {path.name: path.read_bytes() for path in files(volume).iterdir()} == {"empty": b"", "one": b"abc"}


def test_the_protocol_says_what_it_can(tus, volume):
    answer = tus.api.options(f"/api/v1/volumes/{volume.uid}/uploads")
    assert answer.status_code == 204
    assert answer.headers["Tus-Version"] == "1.0.0"
    assert "checksum" in answer.headers["Tus-Extension"]
    begun = tus.begin("a", 5)
    assert refused(tus.send(begun.headers["Location"], 0, b"hello", **{"tus-resumable": "0.2"})) == (
        412,
        "tus_version",
    )


def test_pieces_that_do_not_fit_are_refused_and_change_nothing(tus, volume, files):
    at = tus.begin("a", 10).headers["Location"]
    tus.send(at, 0, b"hello")
    for offset in (0, 4, 6, 10):
        assert refused(tus.send(at, offset, b"x")) == (409, "offset_mismatch")
    assert refused(tus.send(at, 5, b"too much of it")) == (413, "too_large")
    for header in ("-5", "x", "", "5.0", "9" * 19):
        assert tus.send(at, 5, b"there", **{"upload-offset": header}).status_code == 400
    bad = f"sha256 {base64.b64encode(hashlib.sha256(b'other').digest()).decode()}"
    assert refused(tus.send(at, 5, b"there", **{"upload-checksum": bad})) == (460, "checksum_mismatch")
    for given in ("md5 AAAA", "sha256", "sha256 ???"):
        assert tus.send(at, 5, b"there", **{"upload-checksum": given}).status_code == 400
    assert tus.offset(at) == 5
    good = f"sha256 {base64.b64encode(hashlib.sha256(b'there').digest()).decode()}"
    assert tus.send(at, 5, b"there", **{"upload-checksum": good}).status_code == 204
    assert (files(volume) / "a").read_bytes() == b"hellothere"


@pytest.mark.req("PLAT-TEN-12")
def test_what_has_no_room_is_refused_before_anything_is_taken(tus, volume, files, monkeypatch):
    most = 2**20
    answer = tus.begin("large", most + 1, b"x")
    assert refused(answer) == (409, "volume_full")
    assert "room for 1 of its 1 MiB" in answer.json()["error"]["message"]
    # Room is kept from the beginning on: two that fit alone do not fit together.
    first = tus.begin("first", most - 10)
    assert refused(tus.begin("second", 11)) == (409, "volume_full")
    assert tus.end(first.headers["Location"]).status_code == 204
    assert tus.begin("second", 11).status_code == 201
    monkeypatch.setattr(Directory, "free_bytes", lambda _self: 5)
    assert refused(tus.begin("third", 6)) == (507, "storage_full")
    with in_tenant("acme"):
        assert Upload.objects.count() == 1


def test_a_file_that_is_there_is_replaced_only_when_asked(tus, volume, files):
    tus.begin("a", 3, b"old")
    assert refused(tus.begin("a", 4)) == (409, "already_there")
    # Replacing may need the room of what it replaces.
    with in_tenant("acme"):
        Volume.objects.filter(pk=volume.pk).update(used_bytes=2**20)
    assert tus.begin("a", 3, b"new", replace="yes").status_code == 201
    assert (files(volume) / "a").read_bytes() == b"new"
    (files(volume) / "folder").mkdir()
    assert refused(tus.begin("folder", 0, replace="yes")) == (409, "already_there")


def follow(volume) -> None:
    with in_tenant("acme"):
        volume_follow(actor=SYSTEM, uid=volume.uid)


def remove(tus, path: str) -> None:
    with in_tenant("acme"):
        file_remove(actor=tus.actor, volume_uid=tus.volume.uid, path=path)


def test_what_is_to_be_replaced_makes_room_once(tus, volume, files):
    """However many are on their way to one place, each of them lies on the disk."""
    full = volume.size_bytes
    (files(volume) / "full").write_bytes(b"x" * full)
    follow(volume)
    first = tus.begin("full", full, replace="yes")
    assert first.status_code == 201
    for _ in range(3):
        assert refused(tus.begin("full", full, replace="yes"))[1] == "volume_full"
    volume.refresh_from_db()
    assert volume.upload_bytes == full
    assert tus.end(first.headers["Location"]).status_code == 204
    assert tus.begin("full", full, replace="yes").status_code == 201


def test_a_file_with_holes_makes_no_room_for_what_it_does_not_hold(tus, volume, files):
    (files(volume) / "data").write_bytes(b"x" * 2**19)
    with (files(volume) / "holes").open("wb") as file:
        file.truncate(2**40)
    follow(volume)
    assert refused(tus.begin("holes", volume.size_bytes, replace="yes"))[1] == "volume_full"
    assert tus.begin("holes", 3, b"new", replace="yes").status_code == 201
    volume.refresh_from_db()
    assert volume.used_bytes == 2**19 + 3
    with (files(volume) / "others").open("wb") as file:
        file.truncate(2**40)
    remove(tus, "others")
    volume.refresh_from_db()
    assert volume.used_bytes == 2**19 + 3


def test_a_file_with_two_names_gives_no_room_back_while_one_is_left(tus, volume, files):
    (files(volume) / "one").write_bytes(b"x" * 2**20)
    follow(volume)
    os.link(files(volume) / "one", files(volume) / "two")
    remove(tus, "one")
    volume.refresh_from_db()
    assert volume.used_bytes == 2**20
    remove(tus, "two")
    volume.refresh_from_db()
    assert volume.used_bytes == 0


def test_paths_that_lead_out_are_refused_at_the_beginning_and_at_the_end(tus, volume, files, tmp_path):
    for path in ("", "../a", "/a", "a/../../b", "a//b", "a/"):
        assert refused(tus.begin(path, 1)) == (400, "path_refused"), path
    (files(volume) / "out").symlink_to(tmp_path)
    assert refused(tus.begin("out/a", 1)) == (400, "path_refused")
    at = tus.begin("later/a", 1).headers["Location"]
    (files(volume) / "later").symlink_to(tmp_path)
    assert refused(tus.send(at, 0, b"x")) == (400, "path_refused")
    assert not (tmp_path / "a").exists()
    # It was received, and can be put in its place once the way there is clear.
    (files(volume) / "later").unlink()
    assert tus.offset(at) == 1
    assert (files(volume) / "later" / "a").read_bytes() == b"x"


def test_a_full_disk_loses_nothing_that_was_acknowledged(tus, volume, files, monkeypatch):
    at = tus.begin("a", 10, b"hello").headers["Location"]

    write = os.pwrite

    def full(fd, piece, offset):
        write(fd, bytes(piece)[:2], offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert refused(tus.send(at, 5, b"there")) == (507, "storage_full")
    monkeypatch.undo()
    assert tus.offset(at) == 5
    assert tus.send(at, 5, b"there").status_code == 204


def test_what_was_written_and_not_acknowledged_is_written_over(tus, volume, files, storage):
    at = tus.begin("a", 10, b"hello").headers["Location"]
    # The portal was killed between the disk and the row.
    part = storage / "acme" / str(volume.uid) / "uploads" / at.rpartition("/")[2]
    part.write_bytes(b"hello" + b"garbage, and more than the file")
    assert tus.offset(at) == 5
    tus.send(at, 5, b"there")
    assert (files(volume) / "a").read_bytes() == b"hellothere"


@pytest.mark.parametrize("replace", ["yes", "no"])
def test_a_portal_killed_behind_the_rename_puts_a_file_in_its_place_once(
    tus, volume, files, monkeypatch, replace
):
    at = tus.begin("a", 5, replace=replace).headers["Location"]
    place = Directory.upload_place

    def killed(*args, **kwargs):
        place(*args, **kwargs)
        raise RuntimeError("killed")

    monkeypatch.setattr(Directory, "upload_place", killed)
    with pytest.raises(RuntimeError):
        tus.send(at, 0, b"hello")
    monkeypatch.undo()
    # The row was undone, the file stands there already; asking brings the row after it.
    assert tus.offset(at) == 5
    assert tus.api.get(at).json()["finished_at"]
    assert (files(volume) / "a").read_bytes() == b"hello"


def test_a_portal_killed_between_the_names_of_a_file_leaves_one(tus, volume, files, storage):
    at = tus.begin("a", 5).headers["Location"]
    uid = at.rpartition("/")[2]
    part = storage / "acme" / str(volume.uid) / "uploads" / uid
    part.write_bytes(b"hello")
    os.link(part, files(volume) / "a")
    with in_tenant("acme"):
        Upload.objects.filter(uid=uid).update(received_bytes=5)
    assert tus.offset(at) == 5
    assert (files(volume) / "a").read_bytes() == b"hello"
    assert not part.exists()


@pytest.mark.req("PLAT-TEN-2")
def test_an_upload_is_its_senders_alone(tus, ann, keeper, member, stranger, made, storage):
    at = tus.begin("a", 5).headers["Location"]
    for person in (keeper, member("acme", "tenant_front_line"), stranger):
        other = Tus(person, tus.volume)
        for answer in (other.send(at, 0, b"hello"), other.end(at), other.api.get(at)):
            assert answer.status_code == 404
        assert other.begin("b", 1).status_code in (403, 404)
    assert tus.offset(at) == 0


def test_resuming_finds_ones_unfinished_uploads(tus, volume):
    tus.begin("a", 5, b"he", fingerprint="5-1234")
    tus.begin("b", 2, b"ok")
    (found,) = tus.api.get(f"/api/v1/volumes/{volume.uid}/uploads").json()["results"]
    assert (found["path"], found["received_bytes"], found["fingerprint"]) == ("a", 2, "5-1234")


def test_uploads_left_alone_expire_and_whole_ones_are_settled(ann, tus, volume, files, storage):
    idle = tus.begin("idle", 5, b"he").headers["Location"].rpartition("/")[2]
    whole = tus.begin("whole", 2).headers["Location"].rpartition("/")[2]
    parts = storage / "acme" / str(volume.uid) / "uploads"
    (parts / whole).write_bytes(b"ok")
    lost = parts / "00000000-0000-4000-8000-000000000000"
    lost.write_bytes(b"x")
    os.utime(lost, (1, 1))
    with in_tenant("acme"):
        now = timezone.now()
        Upload.objects.filter(uid=idle).update(moved_at=now - timedelta(days=8))
        Upload.objects.filter(uid=whole).update(received_bytes=2, moved_at=now - timedelta(minutes=2))
        uploads_tidy(actor=SYSTEM)
        assert [str(row.uid) for row in Upload.objects.all()] == [whole]
        volume.refresh_from_db()
        assert (volume.used_bytes, volume.upload_bytes) == (2, 0)
        assert (files(volume) / "whole").read_bytes() == b"ok"
        assert list(parts.iterdir()) == []
        Upload.objects.update(finished_at=now - timedelta(days=2))
        uploads_tidy(actor=SYSTEM)
        assert not Upload.objects.exists()


def test_a_deleted_volume_takes_its_uploads_along(tus, ann, volume, storage):
    at = tus.begin("a", 5, b"he").headers["Location"]
    assert tus.api.delete(f"/api/v1/volumes/{volume.uid}").status_code == 204
    assert tus.send(at, 2, b"llo").status_code == 404
    with in_tenant("acme"):
        volume_follow(actor=SYSTEM, uid=volume.uid)
    assert not (storage / "acme" / str(volume.uid)).exists()


def test_a_nearly_full_disk_keeps_its_reserve(volume, ann, tus, monkeypatch):
    at = tus.begin("a", 10).headers["Location"]
    monkeypatch.setattr(Directory, "free_bytes", lambda _self: 3)
    with in_tenant("acme"), pytest.raises(StorageFull):
        upload_take(actor=ann.actor, uid=at.rpartition("/")[2], offset=0, piece=b"hello")


def test_a_file_is_downloaded_whole_or_from_a_byte_on(tus, volume, files):
    (files(volume) / "数据.txt").write_bytes(b"0123456789")
    at = f"/api/v1/volumes/{volume.uid}/content"
    whole = tus.api.get(at, {"path": "数据.txt"})
    assert b"".join(whole.streaming_content) == b"0123456789"
    assert whole.headers["Content-Disposition"].startswith("attachment; filename*=utf-8''")
    assert whole.headers["Content-Type"] == "application/octet-stream"
    parts = {"bytes=4-": b"456789", "bytes=2-4": b"234", "bytes=-3": b"789", "bytes=8-99": b"89"}
    for asked, body in parts.items():
        part = tus.api.get(at, {"path": "数据.txt"}, headers={"range": asked})
        assert (part.status_code, b"".join(part.streaming_content)) == (206, body), asked
    assert tus.api.get(at, {"path": "数据.txt"}, headers={"range": "bytes=10-"}).status_code == 416
    # The file is another one since: from its beginning, not from the middle.
    told = {"range": "bytes=4-", "if-range": '"other"'}
    assert tus.api.get(at, {"path": "数据.txt"}, headers=told).status_code == 200
    for path in ("none", "", "../x"):
        assert tus.api.get(at, {"path": path}).status_code in (400, 404)
