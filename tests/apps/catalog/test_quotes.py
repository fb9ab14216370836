"""Quotes: figures a reader can check by hand, and refusals that name the figure."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from apps.catalog.selectors.prices import quote_get
from apps.catalog.services.prices import price_publish
from apps.catalog.types import PriceInput
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from tests.apps.catalog.market import AMOUNTS, PER_HOUR, PRICES, commodity_make

pytestmark = pytest.mark.django_db


def quote(tenant: object, commodity: object, **changes: object):
    arguments = {"amounts": AMOUNTS, "count": 2, "duration_s": 5400, "at": timezone.now(), **changes}
    return quote_get(tenant=tenant, commodity=commodity, **arguments)


@pytest.mark.req("PLAT-OPS-5", "PLAT-OPS-46", "PLAT-OPS-50")
def test_a_quote_adds_up(acme: object) -> None:
    found = quote(acme, commodity_make())
    assert found.per_hour == PER_HOUR * 2
    assert found.total == Decimal("21.48")
    memory = found.as_json()["lines"][1]
    assert (memory["quantity"], memory["unit"]) == ("10", "GiB")
    assert [(step["quantity"], step["price"], step["amount"]) for step in memory["steps"]] == [
        ("8", "0.50", "4.00"),
        ("2", "0.80", "1.60"),
    ]
    assert memory["unit_amount"] == "5.60"
    assert memory["exact"] == "16.80"


def test_a_quote_is_plain_json(acme: object) -> None:
    found = quote(acme, commodity_make()).as_json()
    assert json.loads(json.dumps(found)) == found
    assert (found["total"], found["payable"], found["coupon"], found["count"]) == ("21.48", "21.48", None, 2)


@pytest.mark.req("ELA-1908")
def test_the_price_in_force_at_the_time_decides(acme: object) -> None:
    commodity = commodity_make()
    tomorrow = timezone.now() + timedelta(days=1)
    dearer = [PriceInput("cpu", [[None, "10"]]) if line.component == "cpu" else line for line in PRICES]
    price_publish(actor=SYSTEM, commodity_uid=commodity.uid, lines=dearer, effective_from=tomorrow)
    today, then = quote(acme, commodity), quote(acme, commodity, at=tomorrow + timedelta(seconds=1))
    assert (today.price_number, then.price_number) == (1, 2)
    assert then.total - today.total == Decimal("9.90") * 4 * 2 * Decimal("1.5")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"amounts": AMOUNTS | {"gpu_memory": 0}}, "amounts.gpu_memory"),
        ({"amounts": AMOUNTS | {"gpu_memory": -1024}}, "amounts.gpu_memory"),
        ({"amounts": AMOUNTS | {"gpu_memory": 1500}}, "amounts.gpu_memory"),
        ({"amounts": AMOUNTS | {"gpu_memory": 10**12}}, "amounts.gpu_memory"),
        ({"amounts": AMOUNTS | {"compute_share": 105}}, "amounts.compute_share"),
        ({"amounts": AMOUNTS | {"compute_share": "20"}}, "amounts.compute_share"),
        ({"amounts": AMOUNTS | {"compute_share": True}}, "amounts.compute_share"),
        ({"amounts": AMOUNTS | {"cpu": 1.5}}, "amounts.cpu"),
        ({"amounts": AMOUNTS | {"licence": 1}}, "amounts.licence"),
        ({"amounts": {"cpu": 1}}, "amounts.memory"),
        ({"count": 0}, "count"),
        ({"count": -1}, "count"),
        ({"count": 65}, "count"),
        ({"count": True}, "count"),
        ({"duration_s": 0}, "duration_s"),
        ({"duration_s": 10**9}, "duration_s"),
        ({"duration_s": None}, "duration_s"),
    ],
)
def test_an_absurd_figure_is_refused_by_name(acme: object, changes: dict, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        quote(acme, commodity_make(), **changes)
    assert field in caught.value.fields


@pytest.mark.req("ELA-1907")
def test_what_has_no_price_is_not_free(acme: object) -> None:
    commodity = commodity_make()
    with pytest.raises(InvalidInput, match="price"):
        quote(acme, commodity, at=timezone.now() - timedelta(days=1))
