"""The pages of a commodity's prices: what they come to is seen before it is published, and how versions differ."""

import json
import re
from decimal import Decimal
from html import unescape

import pytest

from apps.catalog.models import PriceVersion
from apps.catalog.pricing.price import quantity_of, unit_amount
from apps.catalog.selectors.price_versions import price_curve, price_versions_compared
from apps.catalog.selectors.prices import pricing_line
from apps.catalog.services.prices import price_lines_drafted, price_publish
from apps.catalog.types import PriceInput
from apps.kernel.actor import SYSTEM
from tests.apps.catalog.market import PER_HOUR, PRICES, commodity_make

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def page(operator):
    made = operator("operations_manager").page()
    made.cookies["django_language"] = "en"
    return made


def text(answer, status=200):
    assert answer.status_code == status, answer.content.decode()[-2000:]
    return " ".join(answer.content.decode().split())


def given(**changes):
    """The form of the market's prices, as a browser sends it."""
    shown = {"preview": "1"}
    for line in PRICES:
        shown |= {f"unit_{line.component}": line.unit, f"method_{line.component}": line.tier_method}
        for row, (upto, price) in enumerate(line.tiers):
            shown |= {f"upto_{line.component}_{row}": upto or "", f"price_{line.component}_{row}": price}
    return shown | changes


def with_other(component, tiers, method="flat"):
    """The market's prices, with another one for a component."""
    others = [line for line in PRICES if line.component != component]
    return [PriceInput(component, tiers, tier_method=method), *others]


def curves(shown):
    found = re.findall(r'data-component="(\w+)".*?data-option="([^"]+)"', shown)
    return {code: json.loads(unescape(option)) for code, option in found}


@pytest.mark.req("PLAT-OPS-50")
def test_a_price_is_seen_as_it_would_be_billed_before_it_is_published(page):
    row = commodity_make()
    path = f"/catalogue/commodities/{row.uid}/price/preview/"
    shown = text(page.get(path, given(), headers=HTMX))
    assert f"pays ¥{PER_HOUR} an hour" in shown
    assert "as before" in shown
    drawn = curves(shown)
    assert set(drawn) == {line.component for line in PRICES}
    memory = dict(map(tuple, drawn["gpu_memory"]["series"][0]["data"]))
    assert (memory[1], memory[8], memory[10], memory[80]) == (0.5, 4.0, 5.6, 61.6)
    assert drawn["gpu_memory"]["series"][0]["markLine"]["data"] == [{"xAxis": 8.0}]
    dearer = text(page.get(path, given(price_compute_share_0="0.10"), headers=HTMX))
    assert "pays ¥8.16 an hour" in dearer
    assert "+14.0 %" in dearer
    assert PriceVersion.objects.filter(commodity=row).count() == 1, "a preview keeps nothing"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"price_cpu_0": ""}, "CPU"),
        ({"price_cpu_0": "-1"}, "CPU"),
        ({"price_cpu_0": "cheap"}, "CPU"),
        ({"upto_cpu_0": "2"}, "The tiers end at 2"),
        ({"upto_gpu_memory_0": "8", "upto_gpu_memory_1": "4"}, "overlaps"),
        ({"method_cpu": "by feel"}, "CPU"),
        ({"unit_cpu": "year"}, "CPU"),
    ],
)
def test_a_price_that_cannot_be_published_says_why_in_its_preview(page, changes, named):
    row = commodity_make()
    path = f"/catalogue/commodities/{row.uid}/price/preview/"
    problems = text(page.get(path, given(**changes), headers=HTMX)).partition("preview-problems")[2]
    assert named.lower() in problems.lower()
    assert 'data-test="example"' not in problems


@pytest.mark.req("PLAT-OPS-50")
@pytest.mark.parametrize("method", ["progressive", "whole_amount"])
def test_the_curve_is_drawn_by_the_function_that_bills(method):
    row = commodity_make()
    tiers = [["7.5", "3"], ["20", "2"], [None, "1"]]
    inputs = with_other("gpu_memory", tiers, method)
    line = next(each for each in price_lines_drafted(row, inputs) if each.component.code == "gpu_memory")
    part = row.components.get(component__code="gpu_memory")
    points = price_curve(line, part)
    pure = pricing_line(line)
    assert points == [(quantity, unit_amount(pure, quantity)) for quantity, _cost in points]
    quantities = [quantity for quantity, _cost in points]
    assert quantities == sorted(set(quantities))
    assert (quantities[0], quantities[-1]) == (1, 80)
    # Both sides of each bound that may be ordered.
    assert {7, 8, 20, 21} <= set(quantities)
    assert all((quantity * 1024 - part.minimum) % part.step == 0 for quantity in quantities)
    assert quantity_of(pure, part.maximum) == 80


@pytest.mark.req("PLAT-OPS-47")
def test_versions_stand_beside_each_other_with_what_changed(page):
    row = commodity_make()
    cheaper = with_other("cpu", [[None, "0.05"]])
    price_publish(actor=SYSTEM, commodity_uid=row.uid, lines=cheaper)
    second, first = price_versions_compared(row)
    assert (first.usual, first.percent) == (PER_HOUR, None)
    assert [change.line.component.code for change in first.lines if change.is_changed] == []
    assert second.usual == PER_HOUR - Decimal("0.20")
    assert round(second.percent, 1) == Decimal("-2.8")
    assert [change.line.component.code for change in second.lines if change.is_changed] == ["cpu"]
    shown = text(page.get(f"/catalogue/commodities/{row.uid}/"))
    assert shown.count('data-test="price-changed"') == shown.count('data-test="price-before"') == 1
    assert "0.10" in shown.partition('data-test="price-before"')[2][:300]
    assert "-2.8 %" in shown


def test_a_price_of_many_tiers_is_not_cut_short_by_its_form(page):
    row = commodity_make()
    tiers = [[str(upto), "1"] for upto in range(1, 7)] + [[None, "0.5"]]
    many = with_other("gpu_memory", tiers, "progressive")
    price_publish(actor=SYSTEM, commodity_uid=row.uid, lines=many)
    shown = text(page.get(f"/catalogue/commodities/{row.uid}/price/"))
    fields = dict(re.findall(r'name="((?:upto|price|unit|method)_gpu_memory[_0-9]*)" value="([^"]*)"', shown))
    assert fields["price_gpu_memory_6"] == "0.5"
    assert 'name="price_gpu_memory_7"' in shown, "and one row to spare"


def test_only_who_manages_the_catalogue_previews_and_one_without_a_price_begins_empty(page, operator):
    row = commodity_make()
    path = f"/catalogue/commodities/{row.uid}/price/preview/"
    assert operator("executive").page().get(path).status_code == 403
    for language in ("en", "zh-hans"):
        page.cookies["django_language"] = language
        assert 'data-test="example"' in text(page.get(path)), "a whole page of the newest"
    page.cookies["django_language"] = "en"
    assert (
        page.get("/catalogue/commodities/00000000-0000-4000-8000-000000000000/price/preview/").status_code
        == 404
    )
