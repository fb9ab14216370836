"""Decimals as people read them."""

from decimal import Decimal

import pytest

from apps.catalog.types import decimal_text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("1", "1"),
        ("1.5", "1.50"),
        ("1.5000000000", "1.50"),
        ("0.00012300", "0.000123"),
        ("1E+3", "1000"),
        ("0E-10", "0.00"),
    ],
)
def test_plain(amount: str, text: str) -> None:
    assert decimal_text(Decimal(amount)) == text
