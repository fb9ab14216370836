"""Files in parts: broken off anywhere they are gone on with, by whoever asks again or by the clock."""

import fcntl
import hashlib
import shutil
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.kernel.planes import in_tenant
from apps.storage.drivers.chosen import driver
from apps.storage.drivers.directory import Directory
from apps.storage.errors import AlreadyThere, NoSuchParts, PartsRefused, UploadBusy
from apps.storage.models import Multipart, Upload, Volume
from apps.storage.selectors import key_of
from apps.storage.services.parts import (
    multipart_finish,
    multipart_make,
    multipart_remove,
    part_finish,
    parts_tidy,
)
from apps.storage.services.uploads import BROKEN_S, upload_make, upload_take, uploads_tidy

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-7")]


@pytest.fixture
def volume(made):
    return made()


@pytest.fixture
def acme():
    with in_tenant("acme"):
        yield


@pytest.fixture
def begun(acme, ann, volume):
    return multipart_make(actor=ann.actor, volume_uid=volume.uid, path="in/x.bin")


def send(ann, row: Multipart, number: int, body: bytes) -> tuple[int, str]:
    part = upload_make(
        actor=ann.actor, volume_uid=row.volume.uid, path=row.path, size_bytes=len(body), replaces=True,
        resumed=False, part=(row, number),
    )  # fmt: skip
    upload_take(actor=ann.actor, uid=part.uid, offset=0, piece=body)
    digest = hashlib.md5(body).hexdigest()
    part_finish(actor=ann.actor, uid=row.uid, part=part.uid, digest=digest)
    return number, digest


def room(volume: Volume) -> tuple[int, int]:
    volume.refresh_from_db()
    return volume.used_bytes, volume.upload_bytes


def test_parts_become_one_file_and_their_room_its_own(ann, begun, volume, files):
    parts = [send(ann, begun, n, bytes([n]) * (n + 1) * 1000) for n in (1, 2, 3)]
    send(ann, begun, 7, b"left out")
    assert room(volume) == (0, 9008)
    multipart_finish(actor=ann.actor, uid=begun.uid, chosen=parts)
    multipart_finish(actor=ann.actor, uid=begun.uid, chosen=parts)
    assert (files(volume) / "in" / "x.bin").read_bytes() == b"\x01" * 2000 + b"\x02" * 3000 + b"\x03" * 4000
    assert room(volume) == (9000, 0)
    assert not Upload.objects.exists()
    assert list((files(volume).parent / "uploads").iterdir()) == []


@pytest.mark.parametrize("parts_copied", [0, 1, 2])
def test_a_join_that_is_broken_off_goes_on(ann, begun, volume, files, monkeypatch, parts_copied):
    """Also where half of a part was copied before its process died."""
    parts = [send(ann, begun, n, bytes([n]) * 5000) for n in (1, 2)]
    real, copied = shutil.copyfileobj, []

    def broken(source, target, size):
        if len(copied) == parts_copied:
            target.write(source.read(1234))
            target.flush()
            raise KeyboardInterrupt
        copied.append(real(source, target, size))

    monkeypatch.setattr("apps.storage.drivers.directory.shutil.copyfileobj", broken)
    if parts_copied == 2:
        # Between the rename and the commit.
        monkeypatch.undo()
        place = Directory.upload_place

        def placed(*args, **kwargs):
            place(*args, **kwargs)
            raise KeyboardInterrupt

        monkeypatch.setattr(Directory, "upload_place", placed)
    with pytest.raises(KeyboardInterrupt):
        multipart_finish(actor=ann.actor, uid=begun.uid, chosen=parts)
    monkeypatch.undo()
    Multipart.objects.update(closed_at=timezone.now() - timedelta(minutes=2))
    parts_tidy(actor=SYSTEM)
    assert (files(volume) / "in" / "x.bin").read_bytes() == b"\x01" * 5000 + b"\x02" * 5000
    begun.refresh_from_db()
    assert begun.finished_at is not None
    assert room(volume)[1] == 0


def test_two_who_join_at_once_do_not_disturb_each_other(ann, begun, volume):
    number, digest = send(ann, begun, 1, b"x" * 100)
    key = key_of(volume.uid)
    part = Upload.objects.get(part_no=number).uid
    path = driver()._part(key, begun.uid)
    with path.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UploadBusy):
            driver().upload_join(key, begun.uid, [(part, 100)])
    multipart_finish(actor=ann.actor, uid=begun.uid, chosen=[(number, digest)])


def test_what_was_placed_is_not_replaced_by_nothing(ann, begun, volume, files):
    """Whoever joins once more after the rename finds neither parts nor a whole, and makes none."""
    parts = [send(ann, begun, 1, b"x" * 100)]
    part = Upload.objects.get().uid
    multipart_finish(actor=ann.actor, uid=begun.uid, chosen=parts)
    driver().upload_join(key_of(volume.uid), begun.uid, [(part, 100)])
    assert driver().upload_place(key_of(volume.uid), begun.uid, ("in", "x.bin"), replaces=True) == 0
    assert (files(volume) / "in" / "x.bin").read_bytes() == b"x" * 100


def test_other_parts_than_were_sent_are_refused_and_change_nothing(ann, begun, volume):
    one, two = send(ann, begun, 1, b"a"), send(ann, begun, 2, b"b")
    for wrong in ([], [two, one], [one, one], [(1, "0" * 32)], [one, (3, one[1])]):
        with pytest.raises(PartsRefused):
            multipart_finish(actor=ann.actor, uid=begun.uid, chosen=wrong)
    assert room(volume) == (0, 2)
    multipart_finish(actor=ann.actor, uid=begun.uid, chosen=[one, two])
    with pytest.raises(PartsRefused):
        multipart_finish(actor=ann.actor, uid=begun.uid, chosen=[one])


def test_a_folder_that_came_to_stand_there_stays(ann, begun, volume, files):
    parts = [send(ann, begun, 1, b"a")]
    (files(volume) / "in" / "x.bin").mkdir(parents=True)
    with pytest.raises(AlreadyThere):
        multipart_finish(actor=ann.actor, uid=begun.uid, chosen=parts)
    (files(volume) / "in" / "x.bin").rmdir()
    multipart_finish(actor=ann.actor, uid=begun.uid, chosen=parts)
    assert room(volume) == (1, 0)


def test_it_is_its_senders_alone(ann, keeper, begun):
    send(ann, begun, 1, b"a")
    with pytest.raises(NoSuchParts):
        multipart_remove(actor=keeper.actor, uid=begun.uid)


def test_ended_or_left_alone_it_gives_its_room_back(ann, begun, volume, files):
    send(ann, begun, 1, b"a" * 1000)
    multipart_remove(actor=ann.actor, uid=begun.uid)
    again = multipart_make(actor=ann.actor, volume_uid=volume.uid, path="y")
    send(ann, again, 1, b"a" * 1000)
    Multipart.objects.update(moved_at=timezone.now() - timedelta(days=8))
    parts_tidy(actor=SYSTEM)
    assert room(volume) == (0, 0)
    assert not Multipart.objects.exists()
    assert list((files(volume).parent / "uploads").iterdir()) == []


def test_the_clock_leaves_whole_parts_and_forgets_broken_ones(ann, begun, volume):
    send(ann, begun, 1, b"a" * 10)
    told = {"actor": ann.actor, "volume_uid": volume.uid, "resumed": False}
    upload_make(**told, path="in/x.bin", size_bytes=20, replaces=True, part=(begun, 2))
    upload_make(**told, path="single", size_bytes=30)
    uploads_tidy(actor=SYSTEM)
    assert Upload.objects.count() == 3
    Upload.objects.update(moved_at=timezone.now() - timedelta(seconds=BROKEN_S + 1))
    uploads_tidy(actor=SYSTEM)
    assert [row.part_no for row in Upload.objects.all()] == [1]
    assert room(volume) == (0, 10)
