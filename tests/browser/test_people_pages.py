"""People come by a file that is looked at first, and choose a new password by a link that is shown once."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.rules import TOO_WIDE, page_holds
from tests.browser.visitor import NARROW

pytestmark = [
    pytest.mark.browser,
    pytest.mark.journey,
    pytest.mark.req("PLAT-TEN-24", "PLAT-TEN-26"),
    pytest.mark.xdist_group("portal"),
]
HEAD = "Login account,Name,E-mail,Organization,Roles\n"


def looked_at(visitor, path: Path, text: str) -> None:
    path.write_text(text)
    visitor.page.set_input_files('[data-test="import-file"]', path)
    visitor.press("import-try")
    expect(visitor.at("import-preview")).to_be_visible()


def test_a_file_is_looked_at_corrected_and_taken(visit, tmp_path):
    sam, path = visit("sam"), tmp_path / "people.csv"
    sam.go("people-people")
    sam.press("people-import")
    good = ",Quinn Quick,quinn@example.org,Head office,Front-line staff\n"
    looked_at(sam, path, f"{HEAD}{good},Rob,no-mail,,\n")
    refused = sam.part("import-row", "Rob")
    expect(refused).to_contain_text("E-mail")
    expect(sam.at("import-take")).to_have_count(0)
    page_holds(sam.page)
    looked_at(sam, path, f"{HEAD}{good}")
    page_holds(sam.page)
    sam.press("import-take")
    expect(sam.part("made", "Quinn Quick")).to_contain_text("/join/weirinv_")
    page_holds(sam.page)
    with sam.page.expect_download() as saved:
        sam.press("made-file")
    assert "/join/weirinv_" in Path(saved.value.path()).read_text()
    sam.page.goto("/people/import/")
    looked_at(sam, path, f"{HEAD}{good}")
    expect(sam.at("import-nothing")).to_be_visible()


def test_a_person_is_let_in_again_by_a_link(visit):
    sam = visit("sam")
    sam.page.goto("/people/new/?how=account")
    sam.fill("person-username", "forgetful")
    sam.fill("person-name", "Fay Forgetful")
    sam.press("person-make")
    expect(sam.at("first-password")).to_be_visible()
    sam.page.goto("/people/?search=forgetful")
    sam.page.get_by_role("link", name="Fay Forgetful").click()
    sam.press("password-reset")
    sam.confirm()
    link = sam.at("reset-link-text").input_value()
    page_holds(sam.page)
    fay = sam.browser.new_context(base_url=sam.base_url, locale="en-US", viewport=NARROW).new_page()
    fay.goto(link)
    fay.fill('[data-test="new-password"]', "quite-my-own-word")
    fay.click('[data-test="reset-use"]')
    expect(fay.locator('[data-test="message"]')).to_be_visible()
    fay.fill('[data-test="username"]', "forgetful")
    fay.fill('[data-test="password"]', "quite-my-own-word")
    fay.click('[data-test="sign-in"]')
    expect(fay.locator("#sidebar")).to_be_attached()
    fay.goto(link)
    expect(fay.locator('[data-test="ask-again"]')).to_be_visible()
    assert fay.evaluate(TOO_WIDE) <= 1
    fay.context.close()
