"""Causes are kept in English and read in the reader's language, as far as they are ours."""

import pytest
from django.utils import translation

from apps.jointcloud.services.remote import LOST, OFFERED_NO_MORE, REFUSED, UNANSWERED
from apps.jointcloud.text import cause_text

KEPT = [
    *(UNANSWERED, REFUSED, LOST, OFFERED_NO_MORE, "Ray counts no storage: ask for none there."),
    "Lakeside takes no work now.",
    "The settings of this centre name no device that counts as mlu.",
    "'A B' is no variable that a job can have.",
    "The centre has further jobs under this key: 18, 19.",
]


@pytest.mark.parametrize("kept", KEPT)
def test_what_we_say_is_said_in_both_languages(kept):
    with translation.override("en"):
        assert cause_text(kept) == kept
    with translation.override("zh-hans"):
        assert cause_text(kept) != kept
        assert any("一" <= letter <= "鿿" for letter in cause_text(kept))


def test_figures_and_the_words_of_an_engine_stay_as_they_came():
    with translation.override("zh-hans"):
        assert "mlu" in cause_text("The settings of this centre name no device that counts as mlu.")
        said = cause_text("Prolog The centre has further jobs under this key: 18, 19.")
        assert said.startswith("Prolog ")
        assert "18, 19" in said
        assert "further" not in said
        for kept in ("NonZeroExitCode", "", "Requeued: 100% (of %(nothing)s)", "a\nb"):
            assert cause_text(kept) == kept
