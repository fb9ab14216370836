"""Amounts in units: read as people write them, kept in the least unit, shown in the largest that says them whole."""

import pytest
from django import forms

from apps.kernel.unit_fields import MEMORY, MINUTES, SECONDS, UnitField

_HOUR = 3600


class Form(forms.Form):
    time_s = UnitField(SECONDS, least=60, most=30 * 86400, label="Time")
    size_mib = UnitField(MEMORY, most=2**31 - 1, label="Size", required=False, initial=10 * 1024)


def read(**sent):
    form = Form({"time_s": "5", "time_s_unit": "60", **sent})
    return form.cleaned_data if form.is_valid() else form.errors


@pytest.mark.parametrize(
    ("figure", "unit", "seconds"),
    [
        ("90", "1", 90),
        ("1.5", "3600", 5400),
        (" 1,000 ", "60", 60_000),
        ("２", "86400", 2 * 86400),
        ("0.33333", "3600", 1200),
        ("600", "", 600),
        ("1_200", "1", 1200),
    ],
)
def test_an_amount_counts_in_the_unit_it_was_said_in(figure, unit, seconds):
    assert read(time_s=figure, time_s_unit=unit)["time_s"] == seconds


@pytest.mark.parametrize(
    ("figure", "unit", "said"),
    [
        ("59", "1", "At least 1 min."),
        ("0", "3600", "At least 1 min."),
        ("31", "86400", "At most 30 d."),
        ("-5", "60", "At least 1 min."),
        ("1e9", "1", "Enter a number."),
        ("NaN", "60", "Enter a number."),
        ("Infinity", "60", "Enter a number."),
        ("9" * 400, "60", "Enter a number."),
        ("three", "60", "Enter a number."),
        ("5", "7", "Choose a unit."),
        ("5", "'; drop", "Choose a unit."),
        ("", "60", "This field is required."),
        ("  ", "60", "This field is required."),
    ],
)
def test_what_is_no_amount_is_refused_in_words(figure, unit, said):
    assert list(read(time_s=figure, time_s_unit=unit)["time_s"]) == [said]


def test_what_may_be_empty_is_nothing_said():
    assert read(size_mib="", size_mib_unit="1024")["size_mib"] is None


@pytest.mark.parametrize(
    ("scale", "amount", "figure", "unit"),
    [
        (SECONDS, 7200, "2", "3600"),
        (SECONDS, 90, "90", "1"),
        (SECONDS, 0, "0", "1"),
        (SECONDS, None, "", "1"),
        (MINUTES, 2880, "2", "1440"),
        (MEMORY, 1536, "1536", "1"),
        (MEMORY, 3 * 1024**2, "3", str(1024**2)),
    ],
)
def test_an_amount_is_shown_in_the_largest_unit_that_says_it_whole(scale, amount, figure, unit):
    assert UnitField(scale, most=10**9).widget.decompress(amount) == [figure, unit]


def test_what_was_typed_stays_as_it_was_typed():
    shown = str(Form({"time_s": "1.50", "time_s_unit": "86400", "size_mib": "many", "size_mib_unit": "1024"}))
    assert 'value="1.50"' in shown
    assert '<option value="86400" selected>' in shown
    assert 'value="many"' in shown
    assert '<option value="1024" selected>' in shown


def test_the_figure_has_the_label_and_the_unit_a_name_of_its_own():
    shown = str(Form(auto_id="f-%s"))
    assert '<label for="f-size_mib">' in shown
    assert 'id="f-size_mib"' in shown
    assert 'id="f-size_mib-unit"' in shown
    assert 'aria-label="Unit"' in shown
    assert 'value="10"' in shown
