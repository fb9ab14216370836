"""Storage classes: tried before they are kept, chosen for volumes, told to nodes, and what stays when they go."""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from apps.centre.models import StorageClass
from apps.centre.storage_services import (
    StorageGiven,
    storage_class_change,
    storage_class_remove,
    storage_class_switch,
)
from apps.console.centre.storage_classes import storage_class_add, storage_class_check
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput
from apps.kernel.planes import in_tenant
from apps.storage.drivers.chosen import class_driver, driver
from apps.storage.drivers.directory import Directory
from apps.storage.drivers.s3_client import Bucket
from apps.storage.models import Volume
from apps.storage.mounts import volumes_mounted
from apps.storage.selectors import key_of
from apps.storage.services.volumes import volume_delete, volume_follow, volume_make
from tests.apps.storage.buckets import KEY, SECRET, bucket_served
from tests.apps.storage.test_uploads import Tus

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-6")]
NAMES = {"name_zh": "对象存储", "name_en": "Object storage"}


@pytest.fixture(autouse=True)
def places(settings, tmp_path: Path) -> None:
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"
    settings.WEIR_FOLDERS_DIR = tmp_path / "folders"
    settings.WEIR_STORAGE_LOCAL_S3 = True


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    with bucket_served(tmp_path_factory.mktemp("s3")) as served:
        yield served


def given(served: Bucket, **more: str) -> StorageGiven:
    said = {
        "code": "objects", "kind": "s3", "endpoint": served.endpoint, "bucket": served.name,
        "prefix": os.urandom(4).hex(), "access_key": KEY, "secret": SECRET, **NAMES,
    }  # fmt: skip
    return StorageGiven(**(said | more))


@pytest.fixture
def kept(bucket: Bucket, acme) -> StorageClass:
    return storage_class_add(actor=SYSTEM, given=given(bucket))


def test_a_bucket_that_works_is_kept_with_its_secret_sealed(kept: StorageClass) -> None:
    assert kept.check_ms
    assert kept.check_problem == ""
    assert SECRET not in kept.secret_sealed
    assert len(kept.mark) == 32


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"code": "No Code"}, "code"),
        ({"bucket": "../other"}, "bucket"),
        ({"prefix": "../up"}, "prefix"),
        ({"secret": ""}, "secret"),
        ({"kind": "mounted", "path": "relative"}, "path"),
        ({"kind": "mounted", "path": "/mnt/../etc"}, "path"),
        ({"kind": "floppy"}, "kind"),
    ],
)
def test_what_is_no_storage_is_refused_by_name(bucket: Bucket, wrong: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        storage_class_add(actor=SYSTEM, given=given(bucket, **wrong))
    assert named in caught.value.fields
    assert not StorageClass.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"secret": "another"}, "refuses the centre's key"),
        ({"endpoint": "http://127.0.0.1:9"}, "does not answer"),
        ({"bucket": "nobody-made-it"}, ""),
        ({"kind": "mounted", "path": "/tmp"}, ""),
    ],
)
def test_what_does_not_work_is_not_kept(bucket: Bucket, wrong: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        storage_class_add(actor=SYSTEM, given=given(bucket, **wrong))
    assert told in f"{caught.value.message} {caught.value.cure}"
    assert not StorageClass.objects.exists()


def test_an_address_of_this_machine_is_refused_unless_the_setting_allows_it(bucket: Bucket, settings) -> None:
    settings.WEIR_STORAGE_LOCAL_S3 = False
    with pytest.raises(InvalidInput) as caught:
        storage_class_add(actor=SYSTEM, given=given(bucket))
    assert caught.value.code == "address_refused"


def test_one_storage_is_one_class(kept: StorageClass, bucket: Bucket) -> None:
    with pytest.raises(Conflict):
        storage_class_add(actor=SYSTEM, given=given(bucket, prefix=kept.prefix, code="again"))
    with pytest.raises(Conflict):
        storage_class_add(actor=SYSTEM, given=given(bucket))


def test_a_check_tells_what_is_wrong_now_and_a_renewed_key_mends_it(kept: StorageClass) -> None:
    StorageClass.objects.filter(pk=kept.pk).update(access_key="AKIDWITHDRAWN")
    row = storage_class_check(actor=SYSTEM, code=kept.code)
    assert "refuses the centre's key" in row.check_problem
    storage_class_change(actor=SYSTEM, code=kept.code, name_zh="", name_en="", access_key=KEY, secret=SECRET)
    assert storage_class_check(actor=SYSTEM, code=kept.code).check_problem == ""
    with pytest.raises(InvalidInput):
        storage_class_change(actor=SYSTEM, code=kept.code, name_zh="", name_en="", access_key=KEY)


# --- volumes on it -----------------------------------------------------------------------------------------------


@pytest.fixture
def inside(kept: StorageClass) -> Iterator[StorageClass]:
    """The class, seen from within a tenant."""
    with in_tenant("acme"):
        yield kept


def test_a_volume_lies_where_its_class_says_and_goes_with_its_files(ann, inside: StorageClass) -> None:
    kept = inside
    row = volume_make(actor=ann.actor, name="data", size_mib=100, storage_class=kept.code)
    key = key_of(row.uid)
    driver(row).folder_make(key, ("in",))
    assert driver(row.uid).entry(key, ("in",)) is not None
    assert driver().entry(key, ("in",)) is None
    (mount,) = volumes_mounted(actor=ann.actor, asked=["data"])
    assert mount["storage"] == kept.mark
    with pytest.raises(Conflict):
        storage_class_remove(actor=SYSTEM, code=kept.code)
    volume_delete(actor=ann.actor, uid=row.uid)
    volume_follow(actor=SYSTEM, uid=row.uid)
    assert class_driver(kept).entry(key, ("in",)) is None


def test_the_default_class_takes_volumes_of_which_nobody_says_more(ann, inside: StorageClass) -> None:
    kept = inside
    assert volume_make(actor=ann.actor, name="own", size_mib=10).storage_class is None
    storage_class_switch(actor=SYSTEM, code=kept.code, is_default=True)
    row = volume_make(actor=ann.actor, name="classed", size_mib=10)
    assert row.storage_class == kept
    storage_class_switch(actor=SYSTEM, code=kept.code, is_enabled=False)
    assert volume_make(actor=ann.actor, name="after", size_mib=10).storage_class is None
    for code in (kept.code, "nothing"):
        with pytest.raises(InvalidInput):
            volume_make(actor=ann.actor, name="x", size_mib=10, storage_class=code)
    with pytest.raises(Conflict):
        storage_class_switch(actor=SYSTEM, code=kept.code, is_default=True)


@pytest.mark.req("PLAT-ASSET-7")
def test_files_go_in_and_out_by_the_api_as_on_any_other(ann, kept: StorageClass) -> None:
    api = ann.api()
    made = api.post(
        "/api/v1/volumes", {"name": "far", "size_mib": 64, "storage_class": kept.code}, format="json"
    )
    assert made.status_code == 201, made.json()
    uid = made.json()["uid"]
    assert made.json()["storage_class"] == kept.code
    with in_tenant("acme"):
        volume = Volume.objects.get(uid=UUID(uid))
    tus = Tus(ann, volume)
    begun = tus.begin("in/x.txt", 11)
    assert begun.status_code == 201, begun.content
    at = begun.headers["Location"]
    assert tus.send(at, 0, b"hello ").status_code == 204
    assert tus.offset(at) == 6, "it goes on where it was acknowledged"
    assert tus.send(at, 6, b"world").status_code == 204
    listed = api.get(f"/api/v1/volumes/{uid}/files?path=in").json()
    assert [one["name"] for one in listed["entries"]] == ["x.txt"]
    read = api.get(f"/api/v1/volumes/{uid}/content?path=in/x.txt")
    assert b"".join(read.streaming_content) == b"hello world"
    with in_tenant("acme"):
        assert Volume.objects.get(uid=UUID(uid)).used_bytes == 11


# --- pages -------------------------------------------------------------------------------------------------------


def test_operators_see_try_and_switch_classes_by_page_and_api(bucket: Bucket, acme, operator) -> None:
    person = operator("system_administrator")
    page, api = person.page(), person.api()
    said = {
        "code": "paged", "kind": "s3", "endpoint": bucket.endpoint, "bucket": bucket.name, "folder": "paged",
        "access_key": KEY, "secret": "mistyped", **NAMES,
    }  # fmt: skip
    refused = page.post("/storage/", said)
    assert refused.status_code == 400
    assert "refuses the centre" in refused.content.decode()
    assert "mistyped" not in refused.content.decode(), "a secret is not sent back"
    page.post("/storage/", said | {"secret": SECRET})
    shown = page.get("/storage/").content.decode()
    assert "Write, read, delete worked" in shown
    assert SECRET not in shown
    page.post("/storage/paged/check/")
    page.post("/storage/paged/do/default/")
    told = api.get("/api/v1/storage-classes/paged").json()
    assert (told["is_default"], told["check_problem"], "secret" in told) == (True, "", False)
    assert api.post("/api/v1/storage-classes/paged/check").json()["check_ms"] > 0
    assert (
        api.patch("/api/v1/storage-classes/paged", {"name_en": "Far"}, format="json").json()["name_en"]
        == "Far"
    )
    assert api.delete("/api/v1/storage-classes/paged").status_code == 204
    front = operator("front_line")
    assert front.page().get("/storage/").status_code == 403
    assert front.api().get("/api/v1/storage-classes").status_code == 403


def test_a_volumes_page_offers_classes_by_name(ann, kept: StorageClass) -> None:
    page = ann.page().get("/files/").content.decode()
    assert f'<option value="{kept.code}">' in page
    assert "Object storage" in page


def test_what_is_mounted_is_tried_where_it_is_a_mount(acme, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("apps.storage.class_checks.mount_check", lambda _root: None)
    said = StorageGiven(code="nfs", kind="mounted", path=str(tmp_path / "nfs"), **NAMES)
    row = storage_class_add(actor=SYSTEM, given=said)
    assert row.mark == Directory(tmp_path / "nfs").mark()
    (tmp_path / "nfs" / ".weir-storage").unlink()
    assert "not mounted" in storage_class_check(actor=SYSTEM, code="nfs").check_problem
