"""Every text that people read is there in Chinese: what the sources mark for translation, the catalogue translates."""

import ast
import io
import re
from collections.abc import Iterator

import pytest
from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_python
from babel.messages.pofile import read_po
from django.utils.translation.template import templatize

from gates.names import retired
from gates.sources import ROOT, templates

SOURCES = ("apps", "portal", "workflows")
CATALOGUE = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
PLAIN = ("_", "gettext", "gettext_lazy", "gettext_noop")
PLURAL = ("ngettext", "ngettext_lazy")
KEYWORDS = [*DEFAULT_KEYWORDS, *PLAIN, *PLURAL]
_KEY = re.compile(r"[a-z]+(?:_[a-z]+)+")
_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
# What Django makes of a template's own marks.
_CALL = re.compile(rf"\b(?:_|gettext|ngettext)\(\s*u?({_TEXT})", re.DOTALL)
_IN_CONTEXT = re.compile(rf"\bn?pgettext\(\s*u?{_TEXT}\s*,\s*u?({_TEXT})", re.DOTALL)


def texts() -> Iterator[tuple[str, str]]:
    """Each text with a place where it stands."""
    for tree in SOURCES:
        for path in sorted((ROOT / tree).rglob("*.py")):
            for line, name, found, _comments in extract_python(
                io.BytesIO(path.read_bytes()), KEYWORDS, [], {}
            ):
                first = found if isinstance(found, str) else (found or [""])[0]
                # A key inside a call, `gettext(values["name_of_it"])`, is no text.
                if first and name in (*PLAIN, *PLURAL) and not _KEY.fullmatch(first):
                    yield first, f"{path.relative_to(ROOT)}:{line}"
    for path in templates():
        shown = templatize(path.read_text())
        for found in (*_CALL.findall(shown), *_IN_CONTEXT.findall(shown)):
            yield ast.literal_eval(found).replace("%%", "%"), str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def catalogue() -> Catalog:
    with CATALOGUE.open("rb") as file:
        return read_po(file, abort_invalid=True)


def translated(catalogue: Catalog) -> set[str]:
    found = set()
    for message in catalogue:
        one = message.id if isinstance(message.id, str) else message.id[0]
        words = [message.string] if isinstance(message.string, str) else list(message.string)
        if one and all(words) and not message.fuzzy:
            found |= {one, one.replace("%%", "%")}
    return found


@pytest.mark.req("PLAT-GEN-11")
def test_what_people_read_is_there_in_chinese(catalogue):
    known = translated(catalogue)
    found = dict(texts())
    assert len(found) > 5000
    assert {text: place for text, place in found.items() if text not in known} == {}


def test_no_text_is_a_word_that_the_glossary_has_retired():
    """Labels, buttons and messages as well as titles, which `python -m gates.names` looks at."""
    assert {text: place for text, place in texts() if text in retired().titles} == {}


def test_a_translation_has_the_values_of_its_text(catalogue):
    """What a text names in `%(…)s` its translation names too: a value that is missing is a fact that is not told."""
    wrong = []
    for message in catalogue:
        one, other = (message.id, message.id) if isinstance(message.id, str) else message.id
        strings = [message.string] if isinstance(message.string, str) else message.string
        wanted = set(re.findall(r"%\((\w+)\)", f"{one}{other}"))
        wrong += [one for text in strings if one and set(re.findall(r"%\((\w+)\)", text)) - wanted]
    assert wrong == []
