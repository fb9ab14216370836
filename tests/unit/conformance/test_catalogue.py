"""The standard's tests as data: complete, in both languages, with the matrix of annex A."""

import pytest

from apps.conformance.catalogue import tolerances
from apps.conformance.catalogue.entries import LEVELS, entry, level_reached, own, required, standard
from apps.conformance.catalogue.hardware import counted, kinds_of, sentence
from apps.conformance.test_cases.registry import case_of
from portal.devstack.bootstrap import ROOT

ALL = [*standard(), *own()]


@pytest.mark.req(
    "POOL-A-0",
    "POOL-A-L1",
    "POOL-A-L2",
    "POOL-A-L3",
    "POOL-A-L4",
    "POOL-A-L5",
    "POOL-A-12.1",
    "POOL-A-12.6",
    "POOL-A-12.7",
    "POOL-A-12.8",
    "POOL-A-12.9",
    "POOL-A-12.10",
    "POOL-A-12.11",
    "POOL-A-12.12",
    "POOL-A-12.13",
    "POOL-A-12.14",
    "POOL-A-12.15",
    "POOL-A-12.16",
    "POOL-A-12.17",
    "POOL-A-12.18",
    "POOL-A-12.19",
    "POOL-A-12.20",
    "POOL-A-12.21",
    "POOL-A-12.25",
    "POOL-A-12.27",
)
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


def test_the_documents_state_the_tolerances_that_decide():
    assert tolerances.as_table() in (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
    assert all(
        it in tolerances.ALL for it in vars(tolerances).values() if isinstance(it, tolerances.Tolerance)
    )
    assert all(it.number in ALL for it in tolerances.ALL)


def device(vendor, *, is_simulated=False):
    return {"vendor": vendor, "model": "M", "is_simulated": is_simulated, "uid": "x"}


def test_what_a_level_was_shown_on_is_told_by_the_weakest_device_of_each_test():
    cpu, card, simulated = device("cpu"), device("ascend"), device("ascend", is_simulated=True)
    assert len(kinds_of([cpu, cpu, card])) == 2
    counts = counted([[cpu], [cpu, card], [card], [card, simulated], []])
    assert counts == {"cards": 1, "cpu": 2, "simulated": 1, "none": 1}
    assert sentence(counts).en == "1 on cards; 2 on CPU devices; 1 simulated; 1 without a device"
    assert "2项在CPU设备上" in sentence(counts).zh
