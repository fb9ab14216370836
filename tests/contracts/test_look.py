"""One look: a colour has one meaning, and a state one colour wherever it is shown."""

import re

import pytest

from apps.console.labels import COLOUR_MEANINGS, STATE_COLOURS
from gates.sources import ROOT, templates

pytestmark = pytest.mark.django_db
# A badge that is no state: a count, a mark, the verb of a call.
_WRITTEN = re.compile(r'class="badge[^"]*\bbg-(\w+)-lt\b[^"]*"[^>]*>\s*\{\{\s*[\w.]*(?:state|status)\w*')


def test_every_colour_of_a_state_has_a_meaning():
    assert set(STATE_COLOURS.values()) == set(COLOUR_MEANINGS)


def test_a_state_stands_under_one_colour():
    """The sources list states by colour: one that stands twice would be shown in whichever comes last."""
    text = (ROOT / "apps" / "console" / "labels.py").read_text()
    listed = re.search(r"_COLOURS = \{(.*?)\n\}", text, re.DOTALL)[1]
    states = [word for quoted in re.findall(r'"([^"]*)"', listed) for word in quoted.split()]
    states = [word for word in states if word not in COLOUR_MEANINGS]
    assert sorted(states) == sorted(set(states))


def test_no_template_colours_a_state_itself():
    """A state is written by `{% badge %}`, which knows its colour."""
    assert [str(path) for path in templates() if _WRITTEN.search(path.read_text())] == []


def test_the_living_page_shows_every_colour_and_is_for_who_manages_the_centre(operator):
    page = operator("system_administrator").page()
    text = page.get("/centre/components/").content.decode()
    for colour in COLOUR_MEANINGS:
        assert f'data-colour="{colour}"' in text
    assert operator("front_line").page().get("/centre/components/").status_code == 403
