"""What destroys asks first: each red button, or the form that it sends, has a question of its own (`hx-confirm`)."""

import re

import pytest

from gates.sources import ROOT, templates

_MARK = re.compile(r"<(/?)(form|button)\b((?:\{%.*?%\}|\{\{.*?\}\}|[^>{]|\{)*?)>", re.DOTALL)
_RED = re.compile(r"\bbtn-(?:outline-|ghost-)?danger\b|\btext-danger\b")
_FORM = re.compile(r'\bform="([^"]+)"')
_ID = re.compile(r'\bid="([^"]+)"')
# Red buttons that ask in another way, or are no act.
ASKED_OTHERWISE = {
    "templates/_confirm.html": "the answer to the question itself",
    "templates/operator/act.html": "a page of its own that says what is done, and asks why",
    "templates/console/_components.html": "shows how a red button looks",
}


def unasked(text: str) -> list[str]:
    """The red buttons of a template without a question."""
    forms: dict[str, bool] = {}
    open_form, found = False, []
    for end, tag, said in _MARK.findall(text):
        if tag == "form":
            open_form = not end and "hx-confirm" in said
            if named := _ID.search(said):
                forms[named[1]] = open_form
        elif not end and _RED.search(said):
            outside = _FORM.search(said)
            asked = forms.get(outside[1], False) if outside else open_form
            if not asked and "hx-confirm" not in said:
                found.append(" ".join(said.split())[:120])
    return found


def test_what_destroys_asks_first():
    paths = {str(path.relative_to(ROOT)): path for path in templates()}
    assert set(ASKED_OTHERWISE) <= set(paths)
    found = {name: unasked(path.read_text()) for name, path in paths.items() if name not in ASKED_OTHERWISE}
    assert {name: buttons for name, buttons in found.items() if buttons} == {}


def test_a_red_button_without_a_question_is_found():
    assert unasked('<form method="post"><button class="btn btn-danger">x</button></form>')
    assert not unasked('<form hx-confirm="Sure?"><button class="btn btn-danger">x</button></form>')
    assert not unasked('<form><button class="btn btn-danger" hx-confirm="Sure?">x</button></form>')


# Not red, and yet felt by others or not to be taken back.
@pytest.mark.parametrize(
    ("template", "mark"),
    [
        ("billing/_bill.html", "bill-pay"),
        ("fleet/node.html", "node-drain"),
        ("fleet/device.html", "device-disable"),
        ("fleet/_specs.html", "spec-disable"),
        ("fleet/_slice.html", "move"),
    ],
)
def test_what_others_feel_asks_first(template, mark):
    text = (ROOT / "templates" / template).read_text()
    before = text[: text.index(f'data-test="{mark}"')]
    assert "hx-confirm" in before[before.rindex("<form") :]
