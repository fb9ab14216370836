"""The standard's tests as data: complete, in both languages, with the matrix of annex A."""

import pytest

from apps.conformance.cases.table import case_of
from apps.conformance.catalogue.entries import LEVELS, entry, level_reached, own, required, standard

ALL = [*standard(), *own()]


@pytest.mark.req("POOL-A-0", "POOL-A-L1", "POOL-A-L2", "POOL-A-L3", "POOL-A-L4", "POOL-A-L5")
def test_the_levels_have_the_number_of_functions_that_annex_a_names():
    assert [len(required(level)) for level in LEVELS] == [9, 12, 17, 26, 27]
    assert set(required(1)) == {"12.1", "12.7", "12.8", "12.16", "12.17", "12.18", "12.19", "12.21", "12.24"}
    assert set(required(2)) - set(required(1)) == {"12.2", "12.5", "12.6"}
    assert set(required(5)) - set(required(4)) == {"12.26"}


@pytest.mark.parametrize("number", ALL)
def test_a_test_has_both_languages_steps_expectations_and_a_class(number):
    test = entry(number)
    texts = [test.title, *test.preconditions, *test.steps.values(), *test.expectations.values()]
    assert all(text.en and text.zh for text in texts)
    assert any("一" <= sign <= "鿿" for sign in test.title.zh)
    assert next(iter(test.expectations)) == "E1"
    assert len(test.expectations) > 1
    assert case_of(number).number == number


def test_a_level_is_reached_only_with_its_whole_column():
    assert level_reached([]) == 0
    assert level_reached(required(3)) == 3
    assert level_reached(set(required(5)) - {"12.27"}) == 2
    assert level_reached(set(required(5)) - {"12.1"}) == 0
    assert level_reached(standard()) == 5
