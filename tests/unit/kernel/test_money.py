from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.kernel.money import CENT, bill_round, exact


@pytest.mark.req("PLAT-OPS-50")
@pytest.mark.parametrize(
    ("amount", "shown"),
    [("0.005", "0.01"), ("0.0049999999", "0.00"), ("2.675", "2.68"), ("-0.005", "-0.01"), ("200", "200.00")],
)
def test_a_bill_line_rounds_half_up(amount, shown):
    assert bill_round(Decimal(amount)) == Decimal(shown)


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=10))
def test_rounding_moves_an_amount_by_at_most_half_a_cent(amount):
    assert abs(bill_round(amount) - amount) <= CENT / 2


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=10))
def test_stored_amounts_stay_as_they_are(amount):
    assert exact(amount) == amount
