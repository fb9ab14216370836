"""Sentences within sentences, read in the reader's language."""

from django.utils import translation

from apps.kernel.translatable import is_message, message, message_text, sentence


def test_a_part_is_a_sentence_of_its_own_in_the_readers_language():
    whole = message("%(what)s: %(why)s", {"what": "n1", "why": message("Running")})
    with translation.override("en"):
        assert message_text(whole) == "n1: Running"
    with translation.override("zh-hans"):
        told = translation.gettext("Running")
        assert told != "Running"
        assert message_text(whole) == f"n1: {told}"


def test_plain_values_stay_and_what_is_empty_is_empty():
    assert sentence("%(n)s of %(all)s %%", {"n": 1, "all": "2"}) == "1 of 2 %"
    assert (message_text({}), message_text(""), message_text("as it was")) == ("", "", "as it was")
    assert not is_message({"msgid": "x"})
