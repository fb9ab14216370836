"""The sign of the currency stands before an amount, in every sentence as in every table."""

import re

from gates.sources import ROOT, templates

_BEHIND = re.compile(r"%\(\w+\)s\s+(?:CNY|元)|\}\}\s*(?:CNY\b|元)")


def test_no_sentence_has_the_currency_behind_an_amount():
    sources = [path for tree in ("apps", "portal") for path in sorted((ROOT / tree).rglob("*.py"))]
    found = {
        str(path.relative_to(ROOT)): said
        for path in (*sources, *templates())
        if (said := _BEHIND.findall(path.read_text()))
    }
    assert found == {}
