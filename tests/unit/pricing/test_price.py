"""Costs over time: exact, whatever the cut into intervals."""

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.catalog.pricing.coupons import redeemable
from apps.catalog.pricing.price import Line, cost, price, quantity_of, unit_amount
from apps.catalog.pricing.tiers import TierError, tiers_read


def line(
    component: str = "gpu_memory", per_unit: int = 1024, tiers: object = ((None, "2"),), **other: str
) -> Line:
    method = other.get("method", "progressive")
    return Line(component, per_unit, other.get("unit", "hour"), method, tiers_read(tiers))


@pytest.mark.req("PLAT-OPS-46", "PLAT-OPS-49")
def test_a_commodity_costs_the_sum_of_its_parts() -> None:
    lines = [
        line("compute_share", 1, [[None, "0.05"]], method="flat"),
        line("gpu_memory", 1024, [["8", "0.50"], [None, "0.80"]]),
        line("memory", 1024, [[None, "24"]], method="flat", unit="day"),
    ]
    priced = price(lines, {"compute_share": 20, "gpu_memory": 10240, "memory": 2048}, count=2, seconds=1800)
    # per share and hour: 20 × 0.05 = 1; 8 × 0.50 + 2 × 0.80 = 5.60; 2 × 24 a day = 2
    assert [part.unit_amount for part in priced.lines] == [1, Decimal("5.60"), 48]
    assert [part.cost for part in priced.lines] == [1, Decimal("5.60"), 2]
    assert priced.total == Decimal("8.60")


@pytest.mark.req("ELA-1907")
def test_an_amount_without_a_price_is_refused_not_free() -> None:
    with pytest.raises(TierError) as caught:
        price([line()], {"gpu_memory": 1024, "cpu": 1}, 1, 1)
    assert caught.value.params["components"] == ["cpu"]


@pytest.mark.parametrize("unit", ["use", "month", "year"])
def test_a_unit_that_seconds_do_not_measure_is_refused(unit: str) -> None:
    with pytest.raises(TierError) as caught:
        cost(line(unit=unit), Decimal(1), 60)
    assert caught.value.code == "unit_not_timed"


@given(st.integers(1, 2**20))
def test_mebibytes_are_priced_per_gibibyte_exactly(mib: int) -> None:
    assert Fraction(quantity_of(line(), mib)) == Fraction(mib, 1024)


@given(
    st.integers(1, 10**6),
    st.decimals(min_value=0, max_value=100000, places=10),
    st.integers(1, 64),
    st.lists(st.integers(1, 86400), min_size=1, max_size=20),
)
def test_the_cut_into_intervals_changes_nothing(
    mib: int, unit_price: Decimal, count: int, cuts: list[int]
) -> None:
    one = line(tiers=[[None, unit_price]], method="flat")
    whole = price([one], {"gpu_memory": mib}, count, sum(cuts)).total
    parts = sum(price([one], {"gpu_memory": mib}, count, seconds).total for seconds in cuts)
    truth = Fraction(mib, 1024) * Fraction(unit_price) * count * sum(cuts) / 3600
    assert abs(Fraction(whole) - truth) < Fraction(1, 10**25)
    # A Decimal carries 28 digits: with eighteen in front of the point, ten stay behind it, as many as are kept.
    assert abs(Fraction(parts) - truth) < Fraction(1, 10**12)


@given(st.integers(1, 2**20), st.integers(1, 30 * 86400))
def test_cost_is_unit_amount_over_time(mib: int, seconds: int) -> None:
    one = line(tiers=[["4", "1.25"], ["16", "1.5"], [None, "3"]])
    per_hour = unit_amount(one, quantity_of(one, mib))
    places = Decimal("1e-10")
    found = price([one], {"gpu_memory": mib}, 1, seconds).total.quantize(places, ROUND_HALF_UP)
    expected = Fraction(per_hour) * seconds / 3600
    assert abs(Fraction(found) - expected) <= Fraction(1, 2 * 10**10)


cents = st.integers(0, 10**9).map(lambda number: Decimal(number) / 100)


@pytest.mark.req("PLAT-OPS-26")
@given(cents, cents, cents, st.integers(1, 100))
def test_a_coupon_never_pays_more_than_its_rules_allow(
    total: Decimal, remaining: Decimal, minimum: Decimal, ratio: int
) -> None:
    taken = redeemable(total=total, remaining=remaining, minimum_spend=minimum, ratio_percent=ratio)
    assert 0 <= taken <= remaining
    assert Fraction(taken) <= Fraction(total) * ratio / 100
    assert taken == 0 or total >= minimum
    assert taken == taken.quantize(Decimal("0.01"))


@pytest.mark.req("PLAT-OPS-26")
def test_half_a_cent_stays_with_the_coupon() -> None:
    ten = Decimal(10)
    assert redeemable(total=Decimal("10.01"), remaining=ten, minimum_spend=ten, ratio_percent=50) == Decimal(
        "5.00"
    )
