"""A tenant sees what he would pay before he asks for anything, and services side by side, by their address."""

import re
from uuid import uuid4

import pytest

from apps.catalog.services.prices import price_publish
from apps.catalog.types import PriceInput
from apps.kernel.actor import SYSTEM
from tests.apps.catalog.market import PER_HOUR, PRICES, commodity_make

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(member):
    made = member("acme", "tenant_front_line").page()
    made.cookies["django_language"] = "en"
    return made


def text(answer, status=200):
    assert answer.status_code == status, answer.content.decode()[-2000:]
    return " ".join(answer.content.decode().split())


def cells(shown, row):
    """The cells of one row of the comparison, as text."""
    part = shown.partition(f'data-test="{row}"')[2].partition("</tr>")[0]
    found = re.findall(r"<td[^>]*>(.*?)</td>", part)
    return [" ".join(re.sub(r"<[^>]+>", " ", each).split()) for each in found]


@pytest.mark.req("PLAT-SVC-1")
def test_the_page_of_a_service_shows_its_curves_and_what_one_pays(page):
    row = commodity_make()
    shown = text(page.get(f"/commodities/{row.uid}/"))
    assert shown.count('data-test="curve"') == len(PRICES)
    assert shown.count('data-test="example"') == 3
    usual = shown.partition('data-which="usual"')[2].partition("</dl>")[0]
    assert f"¥{PER_HOUR}" in usual


def test_what_may_be_ordered_beyond_the_prices_has_no_curve(page):
    others = [line for line in PRICES if line.component != "compute_share"]
    row = commodity_make(prices=[PriceInput("compute_share", [["100", "0.01"]]), *others])
    assert 'data-test="what-you-pay"' in text(page.get(f"/commodities/{row.uid}/"))
    row.components.filter(component__code="compute_share").update(maximum=101)
    assert 'data-test="what-you-pay"' not in text(page.get(f"/commodities/{row.uid}/"))
    compared = text(page.get("/catalogue/compare/", {"which": str(row.uid)}))
    assert cells(compared, "compared-usual") == ["–"]


def test_services_stand_side_by_side_and_the_address_keeps_them(page):
    first, second = commodity_make("GPU-1"), commodity_make("GPU-2", name_en="Dearer")
    dearer = [
        PriceInput("compute_share", [[None, "9"]]),
        *(line for line in PRICES if line.component != "compute_share"),
    ]
    price_publish(actor=SYSTEM, commodity_uid=second.uid, lines=dearer)
    asked = {"which": [str(first.uid), str(second.uid)]}
    shown = text(page.get("/catalogue/compare/", asked))
    assert "Dearer" in shown
    usual = cells(shown, "compared-usual")
    assert len(usual) == 2
    assert usual[0].startswith(f"¥{PER_HOUR}")
    assert usual[1] != usual[0]
    assert f"?which={second.uid}" in shown
    assert f"?which={first.uid}" in shown
    # The same again is one column.
    once = text(page.get("/catalogue/compare/", {"which": [str(first.uid)] * 4}))
    assert len(cells(once, "compared-usual")) == 1


def test_what_cannot_be_compared_is_refused(page):
    hidden = commodity_make("GPU-9", is_listed=False)
    assert page.get("/catalogue/compare/").status_code == 200
    for unknown in (hidden.uid, uuid4(), "junk"):
        assert page.get("/catalogue/compare/", {"which": str(unknown)}).status_code == 404
    many = [str(commodity_make(f"GPU-{n}").uid) for n in range(4)]
    assert "At most 3." in text(page.get("/catalogue/compare/", {"which": many}), 400)
    assert page.get("/catalogue/compare/", {"which": many[:3]}).status_code == 200
