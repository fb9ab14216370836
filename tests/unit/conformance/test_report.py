"""A report in each of its forms, and a signature that tells any change."""

import copy
import json
from xml.etree import ElementTree

import pytest

from apps.conformance.report.forms import FORMS, render
from apps.conformance.report.signing import is_sound, public_key_of, signed

SECRET = "an installation's secret of some length"
NOTE = {
    "step": "S1",
    "at": "2026-01-01T00:00:00+00:00",
    "asked": "37 %",
    "seen": "37 % 显存",
    "figures": {"a": 1.5},
}


def report() -> dict:
    both = {"en": "Fixed resource configuration", "zh": "资源固定配置"}
    met = {
        "expectation": "E2",
        "text": both,
        "is_met": True,
        "notes": [{"is_met": True, "evidence": "37 \x07 <&>"}],
    }
    test = {
        "number": "12.1", "title": both, "level": 1, "is_of_the_standard": True, "clauses": ["6e"],
        "preconditions": [both], "outcome": "passed", "reason": "", "is_simulated": True,
        "hardware": [{"vendor": "v", "model": "M", "is_simulated": True}],
        "started_at": "2026-01-01T00:00:00+00:00", "ended_at": "2026-01-01T00:00:04+00:00",
        "steps": [{"step": "S1", "text": both, "notes": [NOTE]}], "expectations": [met],
    }  # fmt: skip
    failed = {**test, "number": "12.2", "outcome": "failed", "reason": "E2: not so"}
    skipped = {**test, "number": "12.4", "outcome": "not_run", "reason": "one node only", "started_at": None}
    card = {
        "node": "n",
        "model": "M",
        "vendor": "v",
        "memory_mib": 1,
        "is_simulated": True,
        "driver_version": "",
    }
    return {
        "format": "weir-conformance-report/1", "standard": both, "product": {"name": "Weir", "version": "1"},
        "run": "r", "started_by": "admin", "started_at": "2026-01-01T00:00:00+00:00",
        "ended_at": "2026-01-01T00:01:00+00:00", "note": "", "level_reached": 0,
        "levels": [
            {"level": n, "title": both, "required": ["12.1"], "passed": ["12.1"], "is_reached": n < 2}
            for n in range(1, 6)
        ],
        "hardware": {"counts": {"simulated": 1}, "text": {"en": "1 simulated", "zh": "1项为模拟设备"}},
        "counts": {"passed": 1, "failed": 1, "not_run": 1}, "tests": [test, failed, skipped],
        "inventory": {"address": "http://x", "versions": {"python": "3"}, "nodes": [], "devices": [card]},
        "left_behind": ["something"],
    }  # fmt: skip


def test_any_change_breaks_the_signature():
    document = signed(report(), SECRET)
    assert is_sound(json.loads(json.dumps(document)))
    for path in (("report", "level_reached"), ("report", "note"), ("signature", "value")):
        changed = copy.deepcopy(document)
        changed[path[0]][path[1]] = 5
        assert not is_sound(changed)
    changed = copy.deepcopy(document)
    changed["report"]["tests"][1]["outcome"] = "passed"
    assert not is_sound(changed)
    assert not is_sound({})
    assert not is_sound(None)


def test_another_installation_has_another_key():
    assert public_key_of(SECRET) == public_key_of(SECRET) != public_key_of(SECRET + "x")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_can_be_rendered(form):
    assert render(signed(report(), SECRET), form)


def test_text_names_what_is_simulated_and_why_a_test_did_not_pass():
    text = render(signed(report(), SECRET), "text").decode()
    assert "[simulated v M]" in text
    assert "not_run: one node only" in text
    assert "Level reached: 0   (1 passed, 1 failed, 1 not run; 1 simulated)" in text
    assert "Left behind: something" in text


def test_junit_counts_failures_and_skips():
    suite = ElementTree.fromstring(render(signed(report(), SECRET), "junit"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    cases = {case.get("name", ""): case for case in suite.iter("testcase")}
    assert cases["12.2 Fixed resource configuration"].find("failure") is not None
    assert cases["12.4 Fixed resource configuration"].find("skipped") is not None


def test_the_pdf_is_one_and_the_same_each_time():
    document = signed(report(), SECRET)
    assert render(document, "pdf") == render(document, "pdf")
    assert render(document, "pdf").startswith(b"%PDF-")
