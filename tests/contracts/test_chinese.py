"""Who reads Chinese meets no English: the pages about one thing, of both sides, in a centre that has everything."""

from collections.abc import Iterator

import pytest
from lxml import html

from tests.browser.measures import DEMO, english_in
from tests.contracts.test_pages import DETAILS

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("world"), pytest.mark.req("PLAT-GEN-11")]
BESIDE = (
    "ancestor-or-self::*[self::code or self::pre or self::kbd or self::script or self::style or self::svg or \
self::textarea or @lang='en' or contains(@class, 'font-monospace')]"
)
ATTRIBUTES = ("aria-label", "title", "placeholder", "alt")
# What the people of this centre have written.
DATA = DEMO | {
    "secret",
    "plan",
    "plans",
    "staff",
    "acme",
    "text",
    "report",
    "weight",
    "first",
    "draft",
    "edit",
}


def shown(text: str) -> Iterator[str]:
    """The words of a page that a reader sees or hears."""
    page = html.fromstring(text)
    for found in page.xpath(f"//body//text()[not(parent::*[{BESIDE}])]"):
        yield str(found)
    for name in ATTRIBUTES:
        yield from map(str, page.xpath(f"//*[@{name}][not({BESIDE})]/@{name}"))


@pytest.mark.parametrize(("who", "path"), DETAILS)
def test_a_page_in_chinese_has_no_english(world, who, path):
    page = world.page(who)
    page.cookies["django_language"] = "zh-hans"
    text = page.get(world.fill(path)).content.decode()
    assert list(english_in(list(shown(text)), DATA)) == []
