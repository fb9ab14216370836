"""Volumes: whose they are, who sees and keeps them, what they hold of quotas."""

import os
from dataclasses import replace
from email.utils import format_datetime
from zoneinfo import ZoneInfo

import pytest

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, QuotaExceeded
from apps.kernel.planes import in_tenant
from apps.kernel.wiring import handlers_after
from apps.orgs.models import Member
from apps.orgs.selectors.organizations import organization_of
from apps.orgs.selectors.roles import reach_of
from apps.orgs.services.organizations import member_add, organization_create, organizations_delete
from apps.scheduling.models import QuotaHold
from apps.scheduling.services.quota.quotas import quota_set
from apps.storage import tasks
from apps.storage.drivers import directory
from apps.storage.drivers.deep_folders import files_below
from apps.storage.models import Volume
from apps.storage.selectors import volume_get, volume_list, volume_open
from apps.storage.services.volumes import volume_change, volume_delete, volume_follow
from apps.tenancy.events import TenantProvisioned
from apps.tenancy.models import Tenant
from apps.tenancy.states import TenantState
from node_agent.protocol.storage import STORAGE_MARK, VOLUME_SIZE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _acme(ann):
    with in_tenant("acme"):
        yield


def held(acme) -> int:
    rows = QuotaHold.plain.filter(tenant=acme, item="storage_mib").exclude(state="released")
    return sum(rows.values_list("amount", flat=True))


@pytest.mark.req("PLAT-ASSET-6")
def test_a_volume_holds_its_size_of_the_quota_until_it_is_deleted(acme, ann, made, files):
    volume = made(size_mib=100)
    assert (held(acme), files(volume).is_dir()) == (100, True)
    volume_change(actor=ann.actor, uid=volume.uid, size_mib=60, name="smaller")
    assert held(acme) == 60
    volume_delete(actor=ann.actor, uid=volume.uid)
    assert (held(acme), Volume.objects.count()) == (0, 0)
    volume_follow(actor=SYSTEM, uid=volume.uid)
    assert not files(volume).parent.exists()


def test_more_than_the_quota_is_refused_and_nothing_is_made(acme, ann, made, storage):
    quota_set(actor=SYSTEM, tenant=acme, item="storage_mib", total=150)
    first = made(size_mib=100)
    with pytest.raises(QuotaExceeded, match="50 MiB of 150 MiB left of storage"):
        made(name="more", size_mib=51)
    with pytest.raises(QuotaExceeded):
        volume_change(actor=ann.actor, uid=first.uid, size_mib=151)
    assert [row.name for row in Volume.objects.all()] == ["data"]
    assert held(acme) == 100


def test_names_and_sizes_that_no_volume_can_have_are_refused(made):
    for name in ("", "Data", "a/b", "..", "-a", "a" * 49, "a b", "数据", "a\n"):
        with pytest.raises(InvalidInput):
            made(name=name)
    for size in (0, -1, 2**41):
        with pytest.raises(InvalidInput):
            made(size_mib=size)
    made()
    with pytest.raises(Conflict, match="already"):
        made()


def test_a_volume_does_not_become_smaller_than_what_it_holds(ann, made):
    volume = made(size_mib=10)
    Volume.objects.filter(pk=volume.pk).update(used_bytes=5 * 2**20, upload_bytes=2**20)
    with pytest.raises(Conflict, match="6 MiB already"):
        volume_change(actor=ann.actor, uid=volume.uid, size_mib=5)


@pytest.mark.req("PLAT-SEC-4")
def test_a_persons_files_are_that_persons_alone(ann, member, keeper, made):
    volume = made()
    colleague = member("acme", "tenant_front_line")
    assert not volume_list(actor=colleague.actor).exists()
    for act in (volume_get, volume_open, volume_delete):
        with pytest.raises(NotFound):
            act(actor=colleague.actor, uid=volume.uid)
    # Who manages storage keeps it, and opens nothing of it.
    assert volume_get(actor=keeper.actor, uid=volume.uid) == volume
    with pytest.raises(Forbidden, match="alone"):
        volume_open(actor=keeper.actor, uid=volume.uid)
    volume_change(actor=keeper.actor, uid=volume.uid, size_mib=9)
    volume_delete(actor=keeper.actor, uid=volume.uid)


@pytest.mark.req("PLAT-SEC-4")
def test_an_organizations_volume_is_open_to_it_and_to_all_below(acme, member, keeper, made):
    upper = organization_create(actor=SYSTEM, name="Upper")
    lower = organization_create(actor=SYSTEM, name="Lower", parent=upper)
    aside = organization_create(actor=SYSTEM, name="Aside")
    volume = made(keeper, owner="organization", organization=upper.uid)
    seen = {}
    for organization in (upper, lower, aside):
        person = member("acme", "tenant_front_line")
        member_add(actor=SYSTEM, user=person.user, organization=organization)
        # What the next request of this person finds.
        again = acting(person)
        seen[organization.name] = volume_list(actor=again).exists()
        if seen[organization.name]:
            with pytest.raises(Forbidden):
                volume_change(actor=again, uid=volume.uid, size_mib=9)
    assert seen == {"Upper": True, "Lower": True, "Aside": False}
    with pytest.raises(Forbidden):
        made(owner="organization", organization=upper.uid)
    with pytest.raises(InvalidInput):
        made(keeper, name="none", owner="organization")
    Member.objects.all().delete()
    organizations_delete(actor=SYSTEM, organizations=[lower, upper])
    assert volume_get(actor=keeper.actor, uid=volume.uid).organization is None


def acting(person):
    organization = organization_of(person.user.pk)
    permission = person.actor.reach.permission
    return replace(person.actor, reach=reach_of(person.user.pk, permission, organization.uid))


def test_a_tenants_volume_is_open_to_all_and_kept_by_who_manages(ann, keeper, made):
    volume = made(keeper, name="shared", owner="tenant")
    assert volume_open(actor=ann.actor, uid=volume.uid) == volume
    with pytest.raises(Forbidden):
        volume_delete(actor=ann.actor, uid=volume.uid)
    with pytest.raises(Forbidden):
        made(name="mine", owner="tenant")


@pytest.mark.req("PLAT-TEN-2")
def test_another_tenants_volume_is_not_found(made, stranger):
    volume = made()
    with in_tenant("globex"):
        for act in (volume_get, volume_open, volume_delete):
            with pytest.raises(NotFound):
                act(actor=stranger.actor, uid=volume.uid)


def test_nodes_are_told_of_each_size_that_a_volume_has(ann, made, files):
    volume = made(size_mib=10)
    told = files(volume).parent / VOLUME_SIZE
    assert told.read_text() == "10\n"
    volume_change(actor=ann.actor, uid=volume.uid, size_mib=20)
    volume_follow(actor=SYSTEM, uid=volume.uid)
    assert told.read_text() == "20\n"
    # One that was made before nodes held volumes to it.
    told.unlink()
    volume_follow(actor=SYSTEM, uid=volume.uid)
    assert told.read_text() == "20\n"


def test_what_work_has_written_is_measured(ann, made, files):
    volume = made()
    (files(volume) / "out").mkdir()
    (files(volume) / "out" / "model.bin").write_bytes(os.urandom(70_000))
    (files(volume) / "away").symlink_to("/usr")
    volume_follow(actor=SYSTEM, uid=volume.uid)
    volume.refresh_from_db()
    assert volume.used_bytes == 70_000
    assert volume.measured_at is not None


def test_what_lies_deeper_than_any_path_is_measured_and_removed(ann, made, files):
    """Work that hides its files at the end of a long chain of folders has them counted all the same."""
    volume = made()
    here = os.open(files(volume), os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    hidden = os.open("hidden", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(hidden, b"x" * 70_000)
    os.close(hidden)
    os.symlink("/usr", "away", dir_fd=here)
    os.close(here)
    volume_follow(actor=SYSTEM, uid=volume.uid)
    volume.refresh_from_db()
    assert volume.used_bytes == 70_000
    Volume.objects.all().delete()
    volume_follow(actor=SYSTEM, uid=volume.uid)
    assert not files(volume).parent.exists()


def test_a_folder_that_is_moved_while_it_is_measured_leads_nowhere_else(tmp_path):
    """Its parent would be another folder, which may lie outside the volume: the rest is found from the top."""
    top, outside = tmp_path / "top", tmp_path / "outside"
    (top / "a" / "b" / "c").mkdir(parents=True)
    (top / "later").mkdir()
    outside.mkdir()
    for place, size in (("a/b/c/one", 1), ("a/two", 2), ("later/four", 4), ("a/b/eight", 8)):
        (top / place).write_bytes(b"x" * size)
    (outside / "secret").write_bytes(b"x" * 1000)
    fd = os.open(top, os.O_RDONLY)
    sizes = []
    for facts in files_below(fd):
        sizes.append(facts.st_size)
        if facts.st_size == 1:
            (top / "a" / "b").rename(outside / "b")
    os.close(fd)
    assert set(sizes) <= {1, 2, 4, 8}
    assert {1, 2, 4} <= set(sizes)


def test_a_file_with_a_date_beyond_the_calendar_is_shown_all_the_same(made, files):
    volume = made()
    (files(volume) / "later").touch()
    plain = os.lstat(files(volume) / "later")

    class Dated:
        st_mode, st_size, st_ctime_ns, st_nlink, st_blocks = plain.st_mode, 0, plain.st_ctime_ns, 1, 0
        st_mtime_ns = 0

    for mtime_ns in (2**62 * 1000, -(2**62) * 1000):
        Dated.st_mtime_ns = mtime_ns
        entry = directory._entry("later", Dated)
        # In any zone, and in the header of an answer.
        assert entry.modified_at.astimezone(ZoneInfo("Pacific/Kiritimati"))
        assert format_datetime(entry.modified_at, usegmt=True)


def test_a_measurement_that_a_change_has_overtaken_is_not_believed(made, monkeypatch):
    volume = made()

    def measure(_driver, _key):
        Volume.objects.filter(pk=volume.pk).update(used_bytes=500, change_no=7)
        return 1

    monkeypatch.setattr("apps.storage.drivers.directory.Directory.used_bytes", measure)
    volume_follow(actor=SYSTEM, uid=volume.uid)
    volume.refresh_from_db()
    assert (volume.used_bytes, volume.measured_at) == (500, None)


def test_the_files_of_a_deleted_tenant_go(acme, made, files, storage, monkeypatch):
    volume = made()
    os.utime(files(volume).parent, (1, 1))
    Volume.objects.all().delete()
    Tenant.objects.filter(pk=acme.pk).update(state=TenantState.DELETED)
    asked = []
    monkeypatch.setattr(tasks.storage_tidy_tenant, "delay", asked.append)
    tasks.storage_tidy()
    assert asked == ["acme"]
    tasks.storage_tidy_tenant("acme")
    assert list((storage / "acme").iterdir()) == []


def test_nodes_can_know_the_centres_folder_before_it_holds_a_volume(storage, monkeypatch):
    """A node looks every few seconds: who mounts the first volume right after it was made is not refused."""
    asked = []
    monkeypatch.setattr(tasks.own_folder_mark, "delay", lambda: asked.append("mark"))
    for late in handlers_after(TenantProvisioned):
        late(TenantProvisioned("acme"))
    assert asked == ["mark"]
    tasks.own_folder_mark()
    mark = (storage / STORAGE_MARK).read_text()
    tasks.own_folder_mark()
    tasks.storage_tidy()
    assert (storage / STORAGE_MARK).read_text() == mark
    (storage / STORAGE_MARK).unlink()
    tasks.storage_tidy()
    assert (storage / STORAGE_MARK).exists()
