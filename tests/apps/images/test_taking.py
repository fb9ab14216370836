"""Versions on their way: in one worker's hands at a time, tried a few times, stored only after every check."""

import shutil
import tarfile
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.images import room
from apps.images.models import ImageVersion
from apps.images.registry import Registry
from apps.images.services.imports import STUCK_S, TRIES_MAX, version_take, versions_waiting
from apps.kernel.actor import SYSTEM
from apps.scheduling.models import QuotaHold
from tests.factories.archive import layer

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-AICFG-14")]


@pytest.fixture
def pushed(monkeypatch):
    """The versions that came as far as the registry, which stores none; `during` is done meanwhile."""

    class Pushed(list):
        during = staticmethod(lambda: None)

        def push(self, _registry, _archive, _kind, _repository, tag):
            self.append(tag)
            self.during()
            raise RuntimeError("not to be foreseen")

    found = Pushed()
    monkeypatch.setattr(Registry, "push", lambda *args: found.push(*args))
    return found


def _later(row: ImageVersion, **more: timedelta) -> None:
    before = {name: timezone.now() - ago for name, ago in {"created_at": timedelta(hours=9), **more}.items()}
    ImageVersion.objects.filter(pk=row.pk).update(**before)


def test_one_at_which_workers_fail_is_refused_after_a_few_tries(archive, asked, pushed):
    archive()
    row = asked()
    for number in range(TRIES_MAX):
        row.refresh_from_db()
        assert (row.state, row.tries, row.is_taken) == ("checking", number, False)
        version_take(actor=SYSTEM, uid=row.uid)
    version_take(actor=SYSTEM, uid=row.uid)
    row.refresh_from_db()
    assert (row.state, len(pushed)) == ("refused", TRIES_MAX)
    assert f"in {TRIES_MAX} tries" in row.problem
    assert not QuotaHold.plain.exclude(state="released").filter(holder_uid=row.uid).exists()


def test_one_over_which_workers_die_is_refused_after_a_few_tries(archive, asked, pushed):
    def die():
        raise SystemExit

    pushed.during = die
    archive()
    row = asked()
    for _number in range(TRIES_MAX):
        with pytest.raises(SystemExit):
            version_take(actor=SYSTEM, uid=row.uid)
        version_take(actor=SYSTEM, uid=row.uid)
        assert versions_waiting() == []
        _later(row, taken_at=timedelta(seconds=STUCK_S + 1))
        assert versions_waiting() == [row.uid]
    version_take(actor=SYSTEM, uid=row.uid)
    row.refresh_from_db()
    assert (row.state, len(pushed)) == ("refused", TRIES_MAX)


def test_one_worker_at_a_time_has_a_version(archive, asked, pushed):
    archive()
    row = asked()
    _later(row)

    def again():
        assert versions_waiting() == []
        version_take(actor=SYSTEM, uid=row.uid)

    pushed.during = again
    version_take(actor=SYSTEM, uid=row.uid)
    assert len(pushed) == 1
    assert versions_waiting() == [row.uid]


def test_many_that_never_end_keep_nobody_out(archive, asked, pushed):
    archive()
    bad = [asked(tag=f"bad{number}") for number in range(21)]
    for row in bad:
        _later(row, taken_at=timedelta(hours=1))
    good = asked(tag="good")
    _later(good)
    assert versions_waiting()[0] == good.uid
    version_take(actor=SYSTEM, uid=bad[0].uid)
    assert bad[0].uid not in versions_waiting()


def test_a_full_disk_is_left_alone_and_the_archive_taken_later(archive, asked, pushed, places, monkeypatch):
    path = archive()
    row = asked()
    free = room.RESERVE_BYTES + path.stat().st_size - 1
    usage = shutil.disk_usage(places)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    for _number in range(TRIES_MAX + 1):
        version_take(actor=SYSTEM, uid=row.uid)
    row.refresh_from_db()
    assert (row.state, row.tries, row.is_taken, len(pushed)) == ("checking", 0, False, 0)
    usage = usage._replace(free=free + 1)
    version_take(actor=SYSTEM, uid=row.uid)
    assert len(pushed) == 1
    assert list((places / "images").iterdir()) == []


def test_nothing_is_stored_of_what_a_check_refuses(archive, taken, pushed):
    hostile = layer({"srv/x": b"x" * 600})
    head = tarfile.TarInfo("pax")
    head.type, content = tarfile.XHDTYPE, b"30 GNU.sparse.size=-9999999999\n"
    head.size = len(content)
    archive(head.tobuf() + content + bytes(-len(content) % 512) + hostile)
    row = taken()
    assert (row.state, pushed) == ("refused", [])
    assert "holes" in row.problem
