"""Images in a browser: an archive in a volume becomes a version, and operators offer it to everybody."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import expect
from weir.files.copying import bring, place_of

from portal.devstack.demo_order import Journey
from portal.devstack.servers.registry_server import registry_is_here
from tests.browser.visitor import NARROW, Visitor
from tests.factories.archive import docker_archive, layer

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("portal"),
    pytest.mark.req("PLAT-ASSET-4", "PLAT-AICFG-14"),
    pytest.mark.skipif(not registry_is_here(), reason="docker-registry and skopeo are not installed"),
]


def test_an_archive_becomes_a_version_that_operators_offer_to_everybody(
    visit: Callable[[str], Visitor], journey: Journey, tmp_path: Path
) -> None:
    name, client = f"tools-{uuid4().hex[:6]}", journey.person("alice")
    volume = client.volume_make(name, 8)
    source = docker_archive(tmp_path / f"{name}.tar", layer({"bin/hello": b"#!/bin/sh\n"}))
    place = place_of(client, f"vol://{name}/")
    bring(client, source, place, recursive=False, progress=lambda _path, _done, _size: None)
    alice = visit("alice")
    alice.page.goto(f"/files/{volume['uid']}/file/?path={name}.tar")
    alice.press("file-image")
    expect(alice.at("image-new-name")).to_have_value(name)
    alice.fill("image-new-tag", "1")
    alice.fill("image-new-introduction", "What we compute with.")
    alice.shoot("image-new")
    alice.press("image-make")
    alice.page.wait_for_url("**/images/*-*/")
    row = alice.part("version-row", "1")
    with alice.staying():
        expect(row.locator("[data-test=version-files]")).to_be_attached(timeout=20_000)
    expect(row.locator("[data-test=version-state]")).to_have_count(0)
    row.locator("[data-test=version-files] summary").click()
    expect(row).to_contain_text("/bin/hello")
    alice.shoot("image")
    alice.go("images-images")
    expect(alice.part("image-row", name)).to_contain_text("What we compute with.")
    alice.shoot("images")
    admin = visit("admin")
    admin.go("images_admin-images")
    expect(admin.part("image-row", name)).to_contain_text("Acme Research")
    admin.shoot("images-all")
    admin.page.set_viewport_size(NARROW)
    admin.part("image-row", name).locator("a").first.click()
    admin.shoot("image-any")
    admin.press("version-publish")
    expect(admin.at("image-facts")).to_contain_text("Centre")
    width = admin.page.evaluate("document.documentElement.scrollWidth")
    assert width <= NARROW["width"], "nothing reaches beyond a narrow screen"
    admin.page.locator("[data-test=image-change] summary").click()
    admin.press("image-delete")
    admin.confirm()
    admin.page.wait_for_url("**/images/")
    client.image_delete(next(image["uid"] for image in client.images() if image["name"] == name))
