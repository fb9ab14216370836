"""My files in a browser: files and folders go up, come down, and are deleted after a question."""

import os
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("portal"),
    pytest.mark.req("PLAT-ASSET-6", "PLAT-ASSET-7"),
]


def test_files_and_folders_go_up_and_come_down(visit, tmp_path: Path):
    body = os.urandom(20 * 2**20)
    (tmp_path / "large.bin").write_bytes(body)
    (tmp_path / "notes.txt").write_text("hello from here\n")
    (tmp_path / "set" / "deep").mkdir(parents=True)
    (tmp_path / "set" / "deep" / "one.csv").write_text("a,b\n1,2\n")
    alice = visit("alice")
    alice.go("files-volumes")
    alice.shoot("volumes-empty")
    alice.fill("volume-name", "browser-files")
    alice.fill_amount("volume-size", "64", "MiB")
    alice.press("volume-make")
    alice.page.wait_for_url("**/files/*-*/")
    files = alice.page.locator('[data-test="upload-files"]')
    with alice.staying():
        files.set_input_files([tmp_path / "large.bin", tmp_path / "notes.txt"])
        expect(alice.part("entry", "large.bin")).to_be_visible()
        expect(alice.part("entry", "notes.txt")).to_be_visible()
        alice.page.locator('[data-test="upload-folder"]').set_input_files(tmp_path / "set")
        expect(alice.part("entry", "set")).to_be_visible()
        # What is there is replaced only after a question.
        (tmp_path / "notes.txt").write_text("another text\n")
        files.set_input_files(tmp_path / "notes.txt")
        alice.confirm()
        expect(alice.page.locator('[data-test="upload-row"][data-state="done"]')).to_have_count(4)
    alice.shoot("volume")
    # The whole of it, and a part, as the browser's session gets them.
    session = {one["name"]: one["value"] for one in alice.context.cookies()}
    place = urlsplit(alice.page.url)
    address = f"http://127.0.0.1:{place.port}{place.path}download/?path=large.bin"
    with httpx.Client(cookies=session, headers={"Host": place.netloc}) as client:
        assert client.get(address).content == body
        part = client.get(address, headers={"Range": "bytes=20971510-"})
        assert (part.status_code, part.content) == (206, body[-10:])
        assert client.head(address).headers["Content-Length"] == str(len(body))
    alice.part("entry", "notes.txt").get_by_role("link", name="notes.txt").click()
    expect(alice.at("preview")).to_contain_text("another text")
    alice.shoot("file")
    alice.press("remove")
    alice.confirm()
    expect(alice.part("entry", "large.bin")).to_be_visible()
    expect(alice.part("entry", "notes.txt")).to_have_count(0)
    alice.go("files-volumes")
    alice.shoot("volumes")
