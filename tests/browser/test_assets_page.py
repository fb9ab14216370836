"""My assets in a browser: a folder of a volume becomes a version, whose files are listed and come down."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("portal"),
    pytest.mark.req("PLAT-ASSET-1", "PLAT-ASSET-2", "PLAT-ASSET-3", "PLAT-ASSET-5"),
]


def test_a_folder_becomes_a_version_of_a_dataset(visit, tmp_path: Path):
    (tmp_path / "digits" / "deep").mkdir(parents=True)
    (tmp_path / "digits" / "train.csv").write_text("1,2\n" * 1000)
    (tmp_path / "digits" / "deep" / "labels.csv").write_text("3\n")
    alice = visit("alice")
    alice.go("files-volumes")
    alice.fill("volume-name", "browser-sets")
    alice.fill_amount("volume-size", "64", "MiB")
    alice.press("volume-make")
    alice.page.wait_for_url("**/files/*-*/")
    with alice.staying():
        alice.page.locator('[data-test="upload-folder"]').set_input_files(tmp_path / "digits")
        expect(alice.part("entry", "digits")).to_be_visible()
    alice.go("assets-assets")
    alice.shoot("assets-empty")
    alice.page.locator('[data-test="asset-kind"]').select_option("dataset")
    alice.fill("asset-name", "browser-digits")
    alice.fill("asset-introduction", "Digits, written by hand.")
    alice.fill("asset-tags", "vision, small")
    alice.press("asset-make")
    alice.page.wait_for_url("**/assets/*-*/")
    alice.fill("publish-path", "digits")
    alice.fill("publish-note", "The first thousand.")
    alice.press("publish")
    expect(alice.page.locator('[data-test="asset-version"][data-state="ready"]')).to_be_visible(
        timeout=20_000
    )
    alice.press("asset-version-open")
    expect(alice.part("asset-entry", "train.csv")).to_be_visible()
    alice.shoot("asset")
    alice.go("assets-assets")
    expect(alice.part("asset-row", "browser-digits")).to_be_visible()
    alice.shoot("assets")
    # What others look at stays as it was.
    alice.part("asset-row", "browser-digits").locator("a").first.click()
    alice.page.locator('[data-test="asset-change"] summary').click()
    alice.press("asset-delete")
    alice.confirm()
    alice.page.wait_for_url("**/assets/")
