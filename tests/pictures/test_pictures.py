"""Pictures of the main pages of a demo that has been lived in, in both languages and themes, for documents.

    make pictures    # WEIR_PICTURES names another folder than docs/pictures/pages, WEIR_PICTURE one page alone

Each page becomes `NAME-en-light.png`, `NAME-en-dark.png`, `NAME-zh-light.png` and `NAME-zh-dark.png`.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from portal.devstack.bootstrap import ROOT
from portal.devstack.demo_order import AMOUNTS, Journey
from portal.devstack.stack import Stack
from tests.browser.conftest import ARGUMENTS, address_of
from tests.harness.chromium import MISSING, PATH
from tests.harness.main_pages import MAIN_PAGES, MainPage
from tests.harness.portal import own_environment, password_of
from tests.harness.prepared import folder_prepare

FOLDER = ROOT / "docs" / "pictures" / "pages"
LANGUAGES = {"en": "en-US", "zh": "zh-CN"}
THEMES = ("light", "dark")
SIZE = {"width": 1280, "height": 900}
LIVED_S = 10
_FIRST_ROW = """() => document.querySelector("main [data-test$=-row] a[href^='/'], main [data-test=apply]")
  ?.getAttribute("href")"""


@pytest.mark.skipif(PATH is None, reason=MISSING)
def test_the_main_pages_have_their_pictures(tmp_path: Path) -> None:
    folder, only = Path(os.environ.get("WEIR_PICTURES", FOLDER)), os.environ.get("WEIR_PICTURE", "")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [page for page in MAIN_PAGES if only in ("", page.name)]
    tmp_path.chmod(0o755)
    with own_environment():
        _with_portal(tmp_path / "var", folder, wanted)
    assert len(list(folder.glob("*.png"))) >= len(wanted) * len(LANGUAGES) * len(THEMES)


def _with_portal(var_dir: Path, folder: Path, wanted: Iterable[MainPage]) -> None:
    folder_prepare(var_dir, is_demo=True)
    stack = Stack.in_folder(var_dir)
    stack.start()
    try:
        journey = Journey(f"http://127.0.0.1:{stack.options.port}", password_of(stack), duration_s=LIVED_S)
        journey.settle(journey.order_made("alice", "dan", AMOUNTS, "train a speech model"))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=PATH, args=list(ARGUMENTS))
            for language in LANGUAGES:
                _take(browser, stack, folder, wanted, language)
            browser.close()
    finally:
        stack.stop()


def _take(browser: Browser, stack: Stack, folder: Path, wanted: Iterable[MainPage], language: str) -> None:
    windows: dict[str, Page] = {}
    for who, name, path in wanted:
        if who not in windows:
            windows[who] = _signed_in(browser, stack, who, LANGUAGES[language])
        page = windows[who]
        page.goto(path.removesuffix(">"))
        if path.endswith(">"):
            page.goto(page.evaluate(_FIRST_ROW))
        page.wait_for_load_state("networkidle")
        for theme in THEMES:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            page.screenshot(path=folder / f"{name}-{language}-{theme}.png", full_page=True)
        print(f"{name} {language}")


def _signed_in(browser: Browser, stack: Stack, who: str, locale: str) -> Page:
    page = browser.new_context(base_url=address_of(stack, who), locale=locale, viewport=SIZE).new_page()
    page.goto("/login/")
    page.locator('[data-test="username"]').fill(who)
    page.locator('[data-test="password"]').fill(password_of(stack))
    page.locator('[data-test="sign-in"]').click()
    page.wait_for_url(lambda url: "/login/" not in url)
    return page
