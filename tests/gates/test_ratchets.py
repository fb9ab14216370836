"""What the ratchets forgive only gets less, and each rule knows an offence when it sees one."""

from collections import Counter
from pathlib import Path

import pytest

from gates import borders, docstrings, names, ratchet, sources
from gates.__main__ import RULES, new


@pytest.mark.parametrize("rule", RULES)
def test_nothing_new_is_against_a_rule(rule):
    assert new(rule) == []


@pytest.fixture
def of_my_own(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(ratchet, "FOLDER", tmp_path)
    (tmp_path / "rule.txt").write_text("# why\n2 class Want\n1 module books\n")
    return tmp_path / "rule.txt"


def test_what_is_more_than_forgiven_is_told(of_my_own):
    assert ratchet.beyond("rule", ["class Want", "class Want", "module books"]) == []
    assert ratchet.beyond("rule", ["class Want"] * 3 + ["class Held"]) == ["class Held", "class Want"]


def test_a_ratchet_shrinks_and_never_grows(of_my_own):
    found = ["class Want", "class Held"]
    assert ratchet.mended("rule", found) == ["class Want", "module books"]
    ratchet.shrink("rule", found)
    assert of_my_own.read_text() == "# why\n1 class Want\n"
    assert ratchet.beyond("rule", found) == ["class Held"]


def test_a_rule_without_a_ratchet_forgives_nothing(of_my_own):
    ratchet.shrink("strict", ["class Held"])
    assert ratchet.beyond("strict", ["class Held"]) == ["class Held"]
    assert not of_my_own.with_name("strict.txt").exists()


@pytest.fixture
def tree(tmp_path, monkeypatch) -> Path:
    """A product of two files and a page, each with its fault."""
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    for rule in (borders, names):
        monkeypatch.setattr(rule, "ROOT", tmp_path)
    told = tmp_path / "apps" / "orders" / "told.py"
    told.parent.mkdir(parents=True)
    told.write_text(
        "from apps.fleet.models import Node, Slice\nfrom apps.orders.models import Order\n\n\n"
        'class FreedHold:\n    """The same as above."""\n\n    def many(self):\n        """One more."""\n'
        "        return Node.objects.all(), Slice.plain.count(), Order.objects.all()\n\n\n"
        "async def order_told(wish):\n    pass\n\n\ndef wishful(untold):\n    pass\n"
    )
    page = tmp_path / "templates" / "orders" / "page.html"
    page.parent.mkdir(parents=True)
    page.write_text('{% block title %}{% translate "My processes" %}{% endblock %}\n')
    for module in (names, borders, docstrings):
        monkeypatch.setattr(module, "python", lambda: (told,))
    monkeypatch.setattr(names, "templates", lambda: (page,))
    return tmp_path


def test_retired_names_are_found_and_the_word_that_is_kept_is_told(tree):
    assert Counter(names.found()) == {
        "module told": 1,
        "class FreedHold": 1,
        "function order_told": 1,
        "argument wish": 1,
        "title My processes": 1,
    }
    assert [names.advice(offence).split('"')[1] for offence in names.found()] == [
        "desired state, observed state",
        "nominated room",
        "notification",
        "desired state, observed state",
        "approvals",
    ]


def test_foreign_tables_are_found_and_own_ones_are_not(tree):
    assert sorted(borders.found()) == ["orders asks fleet.Node", "orders asks fleet.Slice"]


def test_docstrings_that_lean_are_found(tree):
    assert sorted(docstrings.found()) == ["FreedHold: The same as above.", "many: One more."]


def test_the_glossary_says_each_word_in_both_languages_and_its_meaning():
    rows = names.rows()
    assert len(rows) > 60
    for word, chinese, meaning, _ in rows:
        assert any("一" <= sign <= "鿿" for sign in chinese), word
        assert meaning.endswith("."), word
    kept = [word for row in rows for word in row[0].split(", ")]
    assert [word for word, count in Counter(kept).items() if count > 1] == []


def test_no_word_that_is_kept_is_retired():
    old = names.retired()
    kept = {part for row in names.rows() for word in row[0].split(", ") for part in word.split()}
    assert kept & set(old.words) == set()


def test_every_file_of_the_product_is_read():
    assert len(sources.python()) > 500
    assert len(sources.templates()) > 100
