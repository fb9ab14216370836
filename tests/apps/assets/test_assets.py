"""Models, datasets and algorithms: versions that never change, shared, mounted by name and version; what an attacker
names, links to or fills leaves no harm."""

import hashlib
import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.assets import tasks
from apps.assets.models import Asset, AssetVersion
from apps.assets.services import versions as service
from apps.assets.services.assets import asset_change, asset_delete, asset_make
from apps.assets.services.versions import version_delete, version_publish
from apps.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, QuotaExceeded
from apps.kernel.planes import in_tenant
from apps.scheduling.models import Workload
from apps.storage.errors import PathRefused
from apps.storage.models import Volume
from apps.storage.services.volumes import volume_delete, volume_make
from tests.apps.scheduling.test_submit import alice, api, pool, submit  # noqa: F401
from tests.apps.scheduling.test_volumes import seeing

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-1")]


@pytest.fixture(autouse=True)
def storage(settings, tmp_path):
    settings.WEIR_STORAGE_DIR = tmp_path / "storage"
    return tmp_path / "storage"


@pytest.fixture
def volume(alice):  # noqa: F811
    with in_tenant("acme"):
        return volume_make(actor=alice.actor, name="data", size_mib=8)


@pytest.fixture
def files(storage, volume):
    top = storage / "acme" / str(volume.uid) / "files"
    (top / "digits" / "deep").mkdir(parents=True)
    (top / "digits" / "a.csv").write_text("1,2")
    (top / "digits" / "deep" / "b.csv").write_text("3,4")
    return top


@pytest.fixture
def asset(alice, files):  # noqa: F811
    with in_tenant("acme"):
        return asset_make(actor=alice.actor, kind="dataset", name="digits", tags=["vision", "vision", " "])


@pytest.fixture
def publish(alice, asset, volume):  # noqa: F811
    def act(path="digits", person=alice, copies=True, **more):
        with in_tenant("acme"):
            row = version_publish(
                actor=person.actor, asset_uid=asset.uid, volume_uid=volume.uid, path=path, **more
            )
        if copies:
            tasks.version_copy("acme", str(row.uid))
        with in_tenant("acme"):
            return AssetVersion.objects.select_related("volume").get(pk=row.pk)

    return act


@pytest.mark.req("PLAT-ASSET-2", "PLAT-ASSET-3", "PLAT-ASSET-5")
def test_a_version_keeps_what_its_folder_held_whatever_becomes_of_that(api, asset, publish, files):  # noqa: F811
    first = publish(note="first")
    assert first.state == "ready"
    (files / "digits" / "a.csv").write_text("changed since")
    second = publish()
    assert (first.number, second.number) == (1, 2)
    at = f"/api/v1/assets/{asset.uid}"
    digest = hashlib.sha256(b"1,2").hexdigest()
    told = api.get(f"{at}/versions/1/files").json()
    assert told[0] == {"path": "a.csv", "size_bytes": 3, "sha256": digest}
    assert [row["path"] for row in told] == ["a.csv", "deep/b.csv"]
    lines = "".join(f"{row['sha256']}  {row['path']}\n" for row in told)
    assert first.sha256 == hashlib.sha256(lines.encode()).hexdigest() != second.sha256
    got = api.get(f"{at}/versions/1/content", {"path": "a.csv"})
    assert b"".join(got.streaming_content) == b"1,2"
    assert api.get(at).json()["newest"] == 2
    assert api.get(at).json()["tags"] == ["vision"]
    assert [row["number"] for row in api.get(f"{at}/versions").json()["results"]] == [2, 1]


@pytest.mark.parametrize("path", ["../x", "digits/../../x", "/etc", "digits/..", "out", "out/passwd", "none"])
@pytest.mark.req("PLAT-SEC-4")
def test_a_path_that_leads_out_is_refused(publish, files, tmp_path, path):
    (files / "out").symlink_to("/etc")
    with pytest.raises((PathRefused, NotFound)):
        publish(path)
    with in_tenant("acme"):
        assert not AssetVersion.objects.exists()
        assert Volume.objects.count() == 1


def test_a_link_within_refuses_the_folder_and_one_that_comes_later_is_not_followed(publish, files, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("1,2")
    (files / "digits" / "deep" / "way").symlink_to(secret)
    with pytest.raises(PathRefused, match="deep/way"):
        publish()
    (files / "digits" / "deep" / "way").unlink()
    row = publish(copies=False)
    (files / "digits" / "a.csv").unlink()
    (files / "digits" / "a.csv").symlink_to(secret)
    tasks.version_copy("acme", str(row.uid))
    with in_tenant("acme"):
        row.refresh_from_db()
    assert (row.state, row.problem_code) == ("failed", "changed")


def test_an_empty_folder_and_too_little_quota_are_refused(publish, files, monkeypatch):
    (files / "empty").mkdir()
    with pytest.raises(InvalidInput):
        publish("empty")
    with (files / "digits" / "huge").open("wb") as file:
        file.truncate(2**43)
    with pytest.raises(QuotaExceeded):
        publish()
    with in_tenant("acme"):
        assert not AssetVersion.objects.exists()
        assert Volume.objects.count() == 1


def test_a_copy_that_broke_off_is_gone_on_with(publish, monkeypatch):
    row = publish(copies=False)
    real, copied = service.file_copy, []

    def dies(source, one, target, gets_on):
        if copied:
            raise SystemExit
        copied.append(one.path)
        return real(source, one, target, gets_on)

    monkeypatch.setattr(service, "file_copy", dies)
    with pytest.raises(SystemExit):
        tasks.version_copy("acme", str(row.uid))
    monkeypatch.setattr(service, "file_copy", real)
    tasks.assets_tidy_tenant("acme")
    with in_tenant("acme"):
        row.refresh_from_db()
        assert row.state == "copying", "somebody may be at it still"
        AssetVersion.objects.update(moved_at=timezone.now() - service.IDLE - timedelta(seconds=1))
    tasks.assets_tidy_tenant("acme")
    with in_tenant("acme"):
        row.refresh_from_db()
        assert (row.state, row.files) == ("ready", 2)


@pytest.mark.req("PLAT-TEN-2", "PLAT-SEC-4")
def test_who_it_is_not_shared_with_finds_it_nowhere(alice, api, asset, publish, member):  # noqa: F811
    version = publish()
    colleague, strange = member("acme", "tenant_front_line"), member("globex", "tenant_operations_manager")
    keeper = member("acme", "tenant_operations_manager")
    for person in (colleague, strange, keeper):
        browser = person.page()
        assert browser.get(f"/assets/{asset.uid}/").status_code == 404
        assert browser.get(f"/assets/{asset.uid}/versions/1/download/?path=a.csv").status_code == 404
        assert browser.post(f"/assets/{asset.uid}/delete/").status_code == 404
    # Nor by the volume that its files lie in, not even its owner and who manages storage.
    for person in (alice, keeper):
        assert person.page().get(f"/files/{version.volume.uid}/").status_code == 404
    with in_tenant("acme"):
        asset_change(actor=alice.actor, uid=asset.uid, reach="tenant")
    shown = colleague.page().get(f"/assets/{asset.uid}/")
    assert shown.status_code == 200
    assert 'data-test="asset-publish"' not in shown.content.decode()
    with in_tenant("acme"):
        for act in (
            lambda: asset_change(actor=colleague.actor, uid=asset.uid, reach="person"),
            lambda: asset_delete(actor=colleague.actor, uid=asset.uid),
            lambda: version_delete(actor=colleague.actor, asset_uid=asset.uid, number=1),
        ):
            with pytest.raises(Forbidden):
                act()
        with pytest.raises(NotFound):
            volume_delete(actor=keeper.actor, uid=version.volume.uid)
        asset_change(actor=keeper.actor, uid=asset.uid, introduction="kept by who manages storage")
    assert strange.page().get(f"/assets/{asset.uid}/").status_code == 404


@pytest.mark.req("ELA-501")
def test_work_mounts_a_version_by_name_read_only(api, alice, asset, publish, volume):  # noqa: F811
    first, second = publish(), publish()
    seeing("n1")
    mounts = {
        "digits:1": (first, "/datasets/digits"),
        "dataset/digits": (second, "/datasets/digits"),
        "digits:latest:/data/x": (second, "/data/x"),
        f"{asset.uid}:2": (second, "/datasets/digits"),
    }
    for word, (version, path) in mounts.items():
        row = Workload.objects.across().get(uid=submit(api, assets=[word], volumes=["data"])["uid"])
        told = {"key": f"acme/{version.volume.uid}", "path": path, "read_only": True}
        assert row.work["volumes"][1] == told, word
    for word in ("digits:3", "model/digits", "none", "../digits", "digits:1:/etc", "digits:0", "digits:1:rw"):
        assert "assets" in submit(api, assets=[word], expect=400)["fields"], word
    refused = submit(api, assets=["digits:1"], volumes=["data:/datasets/digits/in"], expect=400)
    assert "assets" in refused["fields"]
    # The frozen files are no volume that could be mounted to be written.
    submit(api, volumes=[str(first.volume.uid)], expect=400)
    with in_tenant("acme"), pytest.raises(Conflict):
        version_delete(actor=alice.actor, asset_uid=asset.uid, number=1)


def test_a_version_that_is_copied_still_is_not_mounted(api, publish):  # noqa: F811
    publish(copies=False)
    seeing("n1")
    assert "not ready" in str(submit(api, assets=["digits:1"], expect=400))


def test_deleted_versions_give_back_their_quota_and_their_numbers_stay(alice, asset, publish, storage):  # noqa: F811
    first = publish()
    publish()
    with in_tenant("acme"):
        version_delete(actor=alice.actor, asset_uid=asset.uid, number=1)
        assert Volume.objects.filter(is_asset=True).count() == 1
    assert publish().number == 3
    with in_tenant("acme"):
        asset_delete(actor=alice.actor, uid=asset.uid)
        assert not Asset.objects.exists()
        assert Volume.objects.count() == 1
    assert first.volume.uid


@pytest.mark.req("PLAT-ASSET-2", "PLAT-ASSET-3", "PLAT-ASSET-5", "PLAT-ASSET-8")
def test_assets_on_pages(alice, files, volume):  # noqa: F811
    page = alice.page()
    page.cookies["django_language"] = "en"
    assert 'data-test="empty"' in page.get("/assets/").content.decode()
    made = page.post(
        "/assets/new/",
        {
            "kind": "model", "name": "digits", "introduction": "<b>of digits</b>", "tags": "vision，small",
            "reach": "tenant",
        },
    )  # fmt: skip
    at = made["Location"]
    page.post(f"{at}publish/", {"volume": str(volume.uid), "path": "digits", "note": "n1"})
    with in_tenant("acme"):
        tasks.version_copy("acme", str(AssetVersion.objects.get().uid))
    page.post(f"{at}publish/", {"volume": str(volume.uid), "path": "digits", "note": "n2"})
    shown = page.get(at).content.decode()
    assert "&lt;b&gt;of digits" in shown
    assert 'data-name="a.csv"' in shown
    assert 'data-number="2" data-state="copying"' in shown
    assert "model/digits:1" in shown
    assert "Weir" in shown
    assert 'data-name="b.csv"' in page.get(f"{at}?version=1&path=deep").content.decode()
    for query, is_there in (
        ("kind=model", True), ("kind=dataset", False), ("search=DIGITS", True), ("tag=small", True),
        ("tag=other", False), ("reach=person", False),
    ):  # fmt: skip
        assert ('data-name="digits"' in page.get(f"/assets/?{query}").content.decode()) is is_there, query
    links = [html.unescape(link) for link in re.findall(r'href="(/assets/[^"]+)"', shown)]
    assert any("/download/" in link for link in links)
    assert {page.get(link).status_code for link in links} == {200}
    page.post(f"{at}versions/2/delete/")
    page.post(f"{at}delete/")
    with in_tenant("acme"):
        assert not Asset.objects.exists()


@pytest.mark.req("ELA-501")
def test_a_form_offers_the_newest_version_that_is_ready_and_takes_assets_over_again(
    api,  # noqa: F811
    alice,  # noqa: F811
    asset,
    publish,
    member,
):
    publish()
    publish()
    publish(copies=False)
    with in_tenant("acme"):
        asset_make(actor=alice.actor, kind="model", name="no-version-yet", tags=[])
    offered = alice.page().get("/assets/picks/", {"q": "DIG"}).content.decode()
    assert re.findall(r'data-value="([^"]*)"', offered) == ["digits:2"]
    everything = alice.page().get("/assets/picks/").content.decode()
    assert "no-version-yet" not in everything
    stranger = member("acme", "tenant_front_line")
    assert "data-value" not in stranger.page().get("/assets/picks/").content.decode()
    seeing("n1")
    found = submit(api, assets=["digits:1:/data/one", "digits:2"])
    page = alice.page().get("/resources/submit/", {"again": found["uid"]}).content.decode()
    first, second = f"{asset.uid}:1:/data/one", f"{asset.uid}:2:/datasets/digits"
    assert f"{first}, {second}</textarea>" in page.replace("\n", "")
    with in_tenant("acme"):
        asset_make(actor=alice.actor, kind="model", name="digits", tags=[])
    offered = alice.page().get("/assets/picks/", {"q": "digits"}).content.decode()
    assert re.findall(r'data-value="([^"]*)"', offered) == [f"{asset.uid}:2"], "two of a name are told apart"
