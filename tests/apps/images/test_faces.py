"""Images by page, by API and by `weir image`."""

import json

import httpx
import pytest
from typer.testing import CliRunner
from weir.api import Client
from weir.cli.main import app

from apps.identity.services.tokens import api_token_make
from apps.images.models import Image, ImageVersion
from apps.images.services.imports import version_take
from apps.kernel.actor import SYSTEM
from apps.tenancy.models import Tenant
from tests.apps.storage.test_client import Line

pytestmark = [pytest.mark.django_db, pytest.mark.req("PLAT-ASSET-4")]


def _text(answer) -> str:
    assert answer.status_code == 200, answer.content[:500]
    return answer.content.decode()


def test_a_file_of_a_volume_becomes_an_image_and_its_page_shows_text_files_and_versions(
    registry, archive, volume, ann
):
    archive()
    page = ann.page()
    assert f"/images/new/?volume={volume.uid}&amp;path=mine.tar" in _text(
        page.get(f"/files/{volume.uid}/file/?path=mine.tar")
    )
    assert 'value="mine"' in _text(page.get(f"/images/new/?volume={volume.uid}&path=mine.tar"))
    for tag in ("1", "2"):
        given = {"volume": volume.uid, "path": "mine.tar", "name": "mine", "tag": tag, "owner": "person",
                 "introduction": "My <b>tools</b>"}  # fmt: skip
        made = page.post("/images/new/", given)
        row = ImageVersion.objects.get(tag=tag)
        assert made["Location"] == f"/images/{row.image.uid}/"
    moving = _text(page.get(f"/images/{row.image.uid}/"))
    assert 'hx-trigger="every 2s"' in moving
    for version in ImageVersion.objects.all():
        version_take(actor=SYSTEM, uid=version.uid)
    shown = _text(page.get(f"/images/{row.image.uid}/"))
    assert "My &lt;b&gt;tools&lt;/b&gt;" in shown
    assert shown.count('data-test="version-row"') == 2
    row.refresh_from_db()
    assert all(file["digest"] in shown for file in row.layers)
    assert 'data-name="mine"' in _text(page.get("/images/?search=min&owner=person"))
    assert 'data-name="mine"' not in _text(page.get("/images/?owner=tenant"))
    page.post(f"/images/{row.image.uid}/change/", {"name": "tools", "introduction": ""})
    page.post(f"/images/versions/{row.uid}/remove/")
    assert ImageVersion.objects.get().tag == "1"
    assert page.post(f"/images/{row.image.uid}/delete/")["Location"] == "/images/"
    assert not Image.objects.exists()


def test_operators_offer_a_version_to_everybody_on_their_page(registry, archive, taken, operator, stranger):
    archive()
    row = taken()
    page = operator("system_administrator").page()
    assert 'data-name="mine"' in _text(page.get("/images/"))
    assert 'data-test="version-publish"' in _text(page.get(f"/images/{row.image.uid}/"))
    page.post(f"/images/versions/{row.uid}/publish/")
    assert 'data-name="mine"' in _text(stranger.page().get("/images/"))
    centre = Image.objects.get(owner="centre")
    assert 'data-test="image-change"' not in _text(stranger.page().get(f"/images/{centre.uid}/"))
    assert stranger.page().get(f"/images/{row.image.uid}/").status_code == 404
    page.post(f"/images/versions/{centre.versions.get().uid}/remove/")
    page.post(f"/images/{centre.uid}/delete/")
    assert Image.objects.get() == row.image


@pytest.fixture
def weir(ann, monkeypatch):
    """`weir …` as ann."""
    tenant = Tenant.objects.get(schema_name="acme")
    _token, secret = api_token_make(actor=SYSTEM, user=ann.user, name="cli", tenant=tenant)
    client = Client("http://localhost", secret)
    client._http = httpx.Client(
        transport=Line(), base_url=client._http.base_url, headers=client._http.headers
    )
    monkeypatch.setattr(Client, "from_config", classmethod(lambda cls, **_more: client))
    monkeypatch.setattr(Client, "__exit__", lambda *_how: None)

    def run(*words: str):
        return CliRunner().invoke(app, words, catch_exceptions=True)

    return run


def test_the_command_takes_a_file_by_a_volume_and_says_why_one_is_refused(
    registry, archive, volume, weir, monkeypatch, tmp_path
):
    def settled(_client, version: str, timeout_s: float = 0):
        version_take(actor=SYSTEM, uid=version)
        return _client.get(f"image-versions/{version}")

    monkeypatch.setattr("weir.images.Images.image_settled", settled)
    source = archive().rename(tmp_path / "tools.tar")
    done = weir(
        "image", "import", str(source), "tools:1", "--via", "vol://data/in", "--introduction", "Tools"
    )
    assert done.exit_code == 0, done.output
    assert "tools:1 is ready" in done.output
    (found,) = json.loads(weir("--json", "image", "list").output)
    assert (found["name"], found["introduction"], found["versions"][0]["tag"]) == ("tools", "Tools", "1")
    assert weir("image", "import", str(source), "tools:2").exit_code != 0, "a file goes by a volume"
    archive(architecture="s390x", name="other.tar")
    refused = weir("image", "import", "vol://data/other.tar", "tools:2")
    assert refused.exit_code == 1
    assert "s390x" in refused.output
    assert weir("image", "describe", "tools", "More tools").exit_code == 0
    assert weir("image", "delete", "-y", "tools:1").exit_code == 0
    assert weir("image", "delete", "-y", "tools").exit_code == 0
    assert not Image.objects.exists()
