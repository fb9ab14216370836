"""Which characters a text that people give may hold: none by which it could act on the screen of who reads it."""

import re

from django.utils.translation import gettext as _

# C0, delete, C1, what ends a line or paragraph, and what turns the direction of what follows.
_IN_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_IN_LINES = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def control_fault(text: str, *, has_lines: bool = False) -> str:
    """What is wrong with a text, for who wrote it; empty where it holds no control character.

    A text that `has_lines` keeps its line ends and tabs. An escape character moves a terminal's cursor and colours
    what it likes; an override of the direction shows a name in another order than it is written in.
    """
    # A browser sends line ends as two characters, of which the first alone would be a control character.
    sent = text.replace("\r\n", "\n") if has_lines else text
    found = (_IN_LINES if has_lines else _IN_A_LINE).search(sent)
    if found is None:
        return ""
    return _("Character %(place)s is a control character (%(code)s): leave it out.") % {
        "place": found.start() + 1,
        "code": f"U+{ord(found[0]):04X}",
    }


def control_removed(text: str, *, has_lines: bool = False) -> str:
    """A text that a machine elsewhere told, without control characters and without halves of characters, which no
    database takes; one that `has_lines` keeps its line ends and tabs."""
    if text.isascii() and text.isprintable():
        return text
    kept = (_IN_LINES if has_lines else _IN_A_LINE).sub("", text)
    return kept.encode("utf-8", "replace").decode("utf-8")


def has_control(text: str) -> bool:
    """Whether a text of one line holds a control character."""
    return _IN_A_LINE.search(text) is not None
