"""Tiers: read, refused, and met by a quantity."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.catalog.pricing.tiers import Tier, TierError, ranges_read, steps, tiers_raw, tiers_read

EXAMPLE = tiers_read([["100", "1"], ["200", "2"]])
METHODS = ["progressive", "whole_amount"]

prices = st.decimals(min_value=0, max_value=1000, places=4)
quantities = st.decimals(min_value=0, max_value=500, places=3)


@st.composite
def tier_lists(draw: st.DrawFn) -> tuple[Tier, ...]:
    bounds = sorted(draw(st.sets(st.integers(1, 499), max_size=5)))
    raw = [[str(bound), draw(prices)] for bound in bounds] + [[None, draw(prices)]]
    return tiers_read(raw)


def cost(method: str, tiers: tuple[Tier, ...], quantity: Decimal) -> Decimal:
    return sum((step.amount for step in steps(method, tiers, quantity)), Decimal(0))


@pytest.mark.req("PLAT-OPS-50")
@pytest.mark.parametrize(
    ("method", "quantity", "expected"),
    [
        ("progressive", 100, 100),
        ("whole_amount", 100, 100),
        ("progressive", 150, 200),
        ("whole_amount", 150, 300),
        ("progressive", 200, 300),
        ("progressive", 0, 0),
    ],
)
def test_the_documents_example(method: str, quantity: int, expected: int) -> None:
    assert cost(method, EXAMPLE, Decimal(quantity)) == expected


@pytest.mark.req("PLAT-OPS-50")
def test_a_bound_belongs_to_the_range_it_ends() -> None:
    assert cost("whole_amount", EXAMPLE, Decimal("100.0000000001")) == Decimal("200.0000000002")
    assert [step.price for step in steps("progressive", EXAMPLE, Decimal(100))] == [1]


@pytest.mark.req("PLAT-OPS-50")
@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ([], "tiers_missing"),
        ([["100", "1"], ["100", "2"]], "tier_overlap"),
        ([["100", "1"], ["50", "2"]], "tier_overlap"),
        ([[None, "1"], ["50", "2"]], "tier_overlap"),
        ([["0", "1"]], "tier_overlap"),
        ([["-5", "1"]], "tier_overlap"),
        ([["100", "-1"]], "tier_price"),
        ([["100", 1.5]], "tier_price"),
        ([["100", "NaN"]], "tier_price"),
        ([["100", "1e30"]], "tier_price"),
        ([["100", "0.00000000001"]], "tier_price"),
        ([["Infinity", "1"]], "tier_bound"),
        ([["many", "1"]], "tier_bound"),
        ([["100"]], "tier_shape"),
        (["ab"], "tier_shape"),
    ],
)
def test_unsound_tiers_are_refused(raw: list, code: str) -> None:
    with pytest.raises(TierError) as caught:
        tiers_read(raw)
    assert caught.value.code == code


@pytest.mark.req("PLAT-OPS-50")
def test_ranges_with_a_gap_or_an_overlap_are_refused() -> None:
    assert ranges_read([(0, 100, "1"), (100, 200, "2")]) == EXAMPLE
    with pytest.raises(TierError) as gap:
        ranges_read([(0, 100, "1"), (101, 200, "2")])
    with pytest.raises(TierError) as overlap:
        ranges_read([(0, 100, "1"), (99, 200, "2")])
    with pytest.raises(TierError) as endless:
        ranges_read([(0, None, "1"), (100, 200, "2")])
    assert (gap.value.code, gap.value.params["tier"]) == ("tier_gap", 2)
    assert overlap.value.code == endless.value.code == "tier_overlap"


@pytest.mark.parametrize("method", METHODS)
def test_beyond_the_last_tier_nothing_is_priced(method: str) -> None:
    with pytest.raises(TierError) as caught:
        steps(method, EXAMPLE, Decimal("200.001"))
    assert caught.value.code == "tier_beyond"


@given(tier_lists(), quantities)
def test_steps_cover_the_quantity_once(tiers: tuple[Tier, ...], quantity: Decimal) -> None:
    for method in METHODS:
        assert sum(step.quantity for step in steps(method, tiers, quantity)) == quantity


@given(tier_lists(), st.integers(0, 400))
def test_progressive_is_the_sum_of_unit_prices(tiers: tuple[Tier, ...], quantity: int) -> None:
    """Against the plainest definition there is: price each unit by the tier it falls in."""

    def unit_price(number: int) -> Decimal:
        return next(tier.price for tier in tiers if tier.upto is None or number <= tier.upto)

    expected = sum((unit_price(number) for number in range(1, quantity + 1)), Decimal(0))
    assert cost("progressive", tiers, Decimal(quantity)) == expected


@given(tier_lists(), quantities, quantities)
def test_progressive_never_costs_less_for_more(tiers: tuple[Tier, ...], one: Decimal, other: Decimal) -> None:
    low, high = sorted((one, other))
    assert cost("progressive", tiers, low) <= cost("progressive", tiers, high)


@given(tier_lists())
def test_stored_tiers_read_back(tiers: tuple[Tier, ...]) -> None:
    assert tiers_read(tiers_raw(tiers)) == tiers
