"""Why a centre was chosen: reasons, and their sentences in both languages."""

from __future__ import annotations

import re

import pytest
from django.utils.translation import override

from apps.jointcloud import text
from apps.jointcloud.engine.explain import explain
from apps.jointcloud.engine.policies.registry import POLICIES
from apps.jointcloud.engine.reasons import Code, Fault, Finding, SourceCode, reason
from tests.unit.jointcloud.networks import alone, centre, judged, snapshot, task


def test_what_set_the_best_apart_is_told_by_policy():
    world = snapshot(
        centre("a", price=1, running_tasks=4),
        centre("b", price=3, running_tasks=3),
        centre("c", price=9),
        weights=(("price", 700), ("load", 300)),
    )
    assert explain(judged(world)) == (
        reason(Finding.CHOSEN, centre="a", score=70),
        reason(
            Finding.AHEAD_BY_POLICY,
            centre="a",
            other="b",
            policy="price",
            score=100,
            others=75,
            milli_points=17500,
        ),
    )


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [
        (
            {"running_tasks": 1},
            {"running_tasks": 2},
            reason(Finding.TIE_RUNNING, centre="a", other="b", running=1, others=2),
        ),
        ({"price": 1}, {"price": 2}, reason(Finding.TIE_PRICE, centre="a", other="b", price=1, others=2)),
        ({}, {}, reason(Finding.TIE_ID, centre="a", other="b")),
    ],
)
def test_a_tie_is_told_by_what_broke_it(one, two, why):
    world = snapshot(centre("a", **one), centre("b", **two), weights=alone("security"))
    assert explain(judged(world)) == (reason(Finding.CHOSEN, centre="a", score=100), why)


def test_what_is_not_known_of_the_best_and_that_it_is_alone():
    world = snapshot(centre("a", price=None), centre("b", is_drained=True), weights=alone("price"))
    assert explain(judged(world)) == (
        reason(Finding.CHOSEN, centre="a", score=0),
        reason(Finding.ONLY_CANDIDATE, centre="a", refused=1),
        reason(Finding.UNKNOWN_FIGURE, centre="a", policy="price"),
    )


def test_where_no_centre_can_take_it_the_filters_are_counted():
    world = snapshot(centre("a", gpus=0), centre("b", is_drained=True, gpus=0), centre("c", gpus=0))
    assert explain(judged(world, task())) == (
        reason(Finding.NO_CANDIDATE, centres=3),
        reason(Code.DRAINED, centres=1),
        reason(Code.NO_ROOM, centres=2),
    )


SENTENCES = {**text._OF_CENTRE, **text._OTHERS}


@pytest.mark.parametrize("code", [*Code, *SourceCode, *Finding, *Fault])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_each_code_has_a_sentence_in_both_languages(code, language):
    figures = dict.fromkeys(re.findall(r"%\((\w+)\)s", SENTENCES[code]), 7)
    if code in (Finding.AHEAD_BY_POLICY, Finding.UNKNOWN_FIGURE):
        figures["policy"] = "price"
    told = reason(code, **figures)
    with override(language):
        said = text.reason_text(told)
        counted = text.reason_text(reason(code, centres=3)) if code in text._COUNTED else said
    for sentence in (said, counted):
        assert "%(" not in sentence
        assert bool(re.search("[\u4e00-\u9fff]", sentence)) == (language == "zh-hans")


def test_each_policy_has_a_name_in_both_languages():
    assert set(text.POLICY_NAMES) == set(POLICIES)
    with override("zh-hans"):
        assert all(re.search("[\u4e00-\u9fff]", text.policy_name(name)) for name in POLICIES)
        assert text.policy_name("own") == "own"


def test_an_unknown_grade_has_words_of_its_own():
    with override("en"):
        told = text.reason_text(reason(Code.SECURITY_GRADE, grade=None, least=3))
    assert told == "The centre's security grade is not known; the task asks for at least 3."
