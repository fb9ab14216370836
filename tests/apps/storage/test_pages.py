"""My files, as people use it."""

import pytest

from apps.kernel.planes import in_tenant
from apps.storage.models import Volume

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-6", "PLAT-ASSET-7")]
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20


@pytest.fixture
def page(ann):
    browser = ann.page()
    browser.cookies["django_language"] = "en"
    return browser


@pytest.fixture
def volume(made):
    return made()


def text(answer) -> str:
    assert answer.status_code == 200, answer
    return answer.content.decode()


def test_a_volume_is_made_changed_and_deleted(page, keeper):
    assert 'data-test="empty"' in text(page.get("/files/"))
    made = page.post("/files/new/", {"name": "data", "size_mib": 64, "owner": "person"})
    with in_tenant("acme"):
        volume = Volume.objects.get()
    assert made["Location"] == f"/files/{volume.uid}/"
    listed = text(page.get("/files/?search=dat&owner=person"))
    assert 'data-name="data"' in listed
    assert "64.0" in listed
    assert 'data-name="data"' not in text(page.get("/files/?search=none"))
    page.post(f"/files/{volume.uid}/change/", {"name": "sets", "size_mib": 32})
    assert "sets" in text(page.get(f"/files/{volume.uid}/"))
    seen = text(keeper.page().get(f"/files/{volume.uid}/"))
    assert 'data-test="files"' not in seen
    assert 'data-test="volume-delete"' in seen
    assert page.post(f"/files/{volume.uid}/delete/")["Location"] == "/files/"
    with in_tenant("acme"):
        assert not Volume.objects.exists()


def test_folders_open_and_files_list_with_size_and_time(page, volume, files):
    at = f"/files/{volume.uid}/"
    page.post(f"{at}new-folder/", {"folder": "", "name": "in"})
    answer = page.post(f"{at}new-folder/", {"folder": "in", "name": "a & b"})
    assert answer["Location"] == f"{at}?path=in"
    (files(volume) / "in" / "x <b>.txt").write_text("hello")
    (files(volume) / "in" / "link").symlink_to("/etc")
    shown = text(page.get(f"{at}?path=in"))
    assert 'data-name="a &amp; b"' in shown
    assert "?path=in%2Fa%20%26%20b" in shown
    assert "x &lt;b&gt;.txt" in shown
    assert "5 bytes" in shown.replace("\xa0", " ")
    assert 'data-kind="link"' not in shown
    assert "?path=in%2Flink" not in shown
    # The same as a part of the page, after an upload.
    part = text(page.get(f"{at}?path=in", headers={"HX-Request": "true"}))
    assert "<html" not in part
    assert 'data-name="link"' in part


def test_a_file_is_looked_at_moved_downloaded_and_deleted(page, volume, files):
    at = f"/files/{volume.uid}/"
    (files(volume) / "说明.txt").write_text("<script>alert(1)</script>")
    (files(volume) / "a.png").write_bytes(PNG)
    (files(volume) / "a.svg").write_text("<svg onload='x()'/>")
    (files(volume) / "a.bin").write_bytes(b"\x00\x01")
    assert "&lt;script&gt;alert(1)" in text(page.get(f"{at}file/", {"path": "说明.txt"}))
    assert "/image/?path=a.png" in text(page.get(f"{at}file/", {"path": "a.png"}))
    assert 'data-kind="none"' in text(page.get(f"{at}file/", {"path": "a.bin"}))
    # Shown are images that hold no program; anything else is a download, whatever its address.
    assert page.get(f"{at}image/", {"path": "a.png"})["Content-Type"] == "image/png"
    for name in ("a.svg", "说明.txt"):
        answer = page.get(f"{at}image/", {"path": name})
        assert answer["Content-Type"] == "application/octet-stream"
        assert answer["Content-Disposition"].startswith("attachment")
        assert answer["X-Content-Type-Options"] == "nosniff"
    got = page.get(f"{at}download/", {"path": "a.bin"})
    assert b"".join(got.streaming_content) == b"\x00\x01"
    page.post(f"{at}rename/", {"path": "a.bin", "to": "b.bin"})
    assert (files(volume) / "b.bin").exists()
    page.post(f"{at}remove/", {"path": "b.bin"})
    assert not (files(volume) / "b.bin").exists()


def test_a_long_text_is_shown_from_its_beginning(page, volume, files):
    (files(volume) / "log.txt").write_text("数" * 100_000)
    shown = text(page.get(f"/files/{volume.uid}/file/", {"path": "log.txt"}))
    assert "This is the beginning of the file" in shown


def test_bad_paths_are_refused_on_pages_too(page, volume, files, tmp_path):
    at = f"/files/{volume.uid}/"
    (files(volume) / "out").symlink_to(tmp_path)
    for path in ("../x", "/etc/passwd", "out/x"):
        assert page.get(at, {"path": path}).status_code in (400, 404)
        assert page.get(f"{at}file/", {"path": path}).status_code in (400, 404)
        assert page.get(f"{at}download/", {"path": path}).status_code in (400, 404)
        assert page.post(f"{at}remove/", {"path": path}).status_code in (400, 404)
        assert page.post(f"{at}new-folder/", {"folder": path, "name": "x"}).status_code in (400, 404)


def test_who_only_looks_finds_nothing_to_change_with(made, keeper, member):
    volume = made(keeper, name="all", owner="tenant")
    decider = member("acme", "tenant_decision_maker").page()
    shown = text(decider.get(f"/files/{volume.uid}/"))
    assert "data-uploads" not in shown
    assert 'data-test="volume-change"' not in shown
    assert 'data-test="volume-new"' not in text(decider.get("/files/"))
    assert decider.post(f"/files/{volume.uid}/new-folder/", {"name": "x"}).status_code == 403
