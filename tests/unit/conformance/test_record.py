"""The verdict follows from the notes: nothing passes that was not seen."""

import pytest

from apps.conformance.catalogue.entries import entry, standard
from apps.conformance.harness.record import CaseFailed, NotRun, Record
from apps.conformance.states import Outcome


@pytest.mark.parametrize("number", standard())
def test_a_test_that_notes_nothing_has_not_passed(number):
    outcome, reason = Record(entry(number)).outcome()
    assert outcome == Outcome.FAILED
    assert "E2: was not examined" in reason


def test_every_expectation_must_be_met_every_time():
    record = Record(entry("12.7"))
    record.expect("E2", True, "right")
    assert record.outcome() == (Outcome.FAILED, "E3: was not examined")
    record.expect("E3", True, "refused")
    assert record.outcome() == (Outcome.PASSED, "")
    assert record.expectations()[0]["is_met"]
    record.expect("E2", False, "another model was given")
    assert record.outcome() == (Outcome.FAILED, "E2: another model was given")
    assert not record.expectations()[0]["is_met"]


def test_trouble_decides_the_outcome_whatever_was_met_before():
    record = Record(entry("12.6"))
    record.expect("E2", True, "refused")
    assert record.outcome(NotRun("one node only")) == (Outcome.NOT_RUN, "one node only")
    assert record.outcome(CaseFailed("it never ran")) == (Outcome.FAILED, "it never ran")
    assert record.outcome(KeyError("grants"))[0] == Outcome.FAILED


def test_a_note_of_a_step_that_the_standard_does_not_have_is_a_mistake():
    record = Record(entry("12.6"))
    with pytest.raises(AssertionError):
        record.step("S9", "x", "y")
    with pytest.raises(AssertionError):
        record.expect("E9", True, "y")


def test_the_first_unmet_expectation_ends_a_test_that_is_to_fail_fast():
    record = Record(entry("12.7"), is_fail_fast=True)
    record.expect("E2", True, "right")
    with pytest.raises(CaseFailed, match="E3: it was accepted"):
        record.expect("E3", False, "it was accepted")
    assert not record.expectations()[0]["is_met"]


def test_a_test_names_each_kind_of_device_that_it_ran_on_once():
    record = Record(entry("12.7"))
    kind = {"vendor": "cpu", "model": "CPU", "is_simulated": False}
    record.uses([{**kind, "uid": "a"}, {**kind, "uid": "b"}])
    assert record.hardware == [kind]
