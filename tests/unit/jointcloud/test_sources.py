"""The list of sources for a copy: filters, evaluators, order."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from apps.jointcloud.engine.reasons import BadInput, Fault, SourceCode, reason
from apps.jointcloud.engine.sources import DEFAULT_WEIGHTS, EVALUATORS, Source, choose_sources


def scored(evaluator: str, **figures) -> list[tuple[str, int]]:
    """Sources c0, c1 … with these values of one feature, by score."""
    ((name, values),) = figures.items()
    rows = tuple(Source(f"c{i}", **{name: value}) for i, value in enumerate(values))
    told = choose_sources(rows, "target", weights=((evaluator, 1000),))
    return [(each.centre_id, each.final) for each in told.sources]


@pytest.mark.req("JC-6.3.2-3", "JC-6.3.2-Fa", "JC-6.3.2-Fd")
def test_sources_that_cannot_be_read_now_are_filtered_with_their_reason():
    rows = (
        Source("ok", concurrency_limit=3, current_downloads=2),
        Source("target"),
        Source("off", is_available=False),
        Source("closed", is_readable=False),
        Source("busy", concurrency_limit=2, current_downloads=2),
    )
    told = choose_sources(rows, "target")
    assert [each.centre_id for each in told.sources] == ["ok"]
    assert told.refused == (
        ("busy", reason(SourceCode.AT_LIMIT, downloads=2, limit=2)),
        ("closed", reason(SourceCode.UNREADABLE)),
        ("off", reason(SourceCode.UNAVAILABLE)),
        ("target", reason(SourceCode.IS_TARGET)),
    )


@pytest.mark.req("JC-6.3.2-Ea", "JC-6.3.2-Fe")
def test_the_score_falls_strictly_as_the_load_ratio_rises():
    rows = tuple(Source(f"c{i:02}", concurrency_limit=20, current_downloads=i) for i in range(20))
    told = choose_sources(rows, "target", weights=(("load", 1000),))
    finals = [each.final for each in told.sources]
    assert [each.centre_id for each in told.sources] == [row.centre_id for row in rows]
    assert all(one > other for one, other in pairwise(finals))


@pytest.mark.req("JC-6.3.2-Eb", "JC-6.3.2-Fg")
def test_the_shorter_mean_time_is_better():
    assert scored("time", mean_time_s=(30, 10, 20, None)) == [("c1", 100), ("c2", 50), ("c0", 0), ("c3", 0)]


@pytest.mark.req("JC-6.3.2-Ec", "JC-6.3.2-Ff")
def test_the_nearer_is_better():
    assert scored("topology", distance=(3, 1, 2)) == [("c1", 100), ("c2", 50), ("c0", 0)]


@pytest.mark.req("JC-6.3.2-Ed", "JC-6.3.2-Fb")
def test_the_higher_rate_of_success_is_better():
    rows = (
        Source("a", succeeded=1, failed=1),
        Source("b", succeeded=3, interrupted=1),
        Source("c", succeeded=9, failed=0),
        Source("d"),
    )
    told = choose_sources(rows, "target", weights=(("state", 1000),))
    assert [(each.centre_id, each.final, each.scores[0][1]) for each in told.sources] == [
        ("c", 100, 100),
        ("b", 50, 50),
        ("a", 0, 0),
        ("d", 0, None),
    ]


@pytest.mark.req("JC-6.3.2-Ee", "JC-6.3.2-Fc")
def test_the_larger_rate_limit_is_better_and_none_is_best():
    assert [name for name, _ in scored("rate", rate_limit=(10, 30, 20, None))] == ["c3", "c0", "c1", "c2"]
    assert scored("rate", rate_limit=(10, 30, 20)) == [("c1", 100), ("c2", 50), ("c0", 0)]


@pytest.mark.req("JC-6.3.2-4", "JC-6.3.2-5")
def test_weights_decide_which_evaluator_counts_how_much():
    near = Source("near", distance=1, mean_time_s=100, current_downloads=5)
    quick = Source("quick", distance=9, mean_time_s=10)
    for weights, first in (
        ((("topology", 600), ("time", 400)), "near"),
        ((("topology", 400), ("time", 600)), "quick"),
        # Equal points: fewer downloads.
        ((("topology", 500), ("time", 500)), "quick"),
    ):
        assert choose_sources((near, quick), "t", weights=weights).sources[0].centre_id == first
    level = replace(near, distance=9, mean_time_s=10, current_downloads=0)
    assert [each.centre_id for each in choose_sources((quick, level), "t").sources] == ["near", "quick"]
    assert {name for name, _ in DEFAULT_WEIGHTS} == set(EVALUATORS)


def test_no_source_is_an_empty_list():
    assert choose_sources((), "t") == ((), ())


@pytest.mark.parametrize(
    ("rows", "weights", "code"),
    [
        ((Source("a"), Source("a")), DEFAULT_WEIGHTS, Fault.ID_TWICE),
        ((Source("a"),), (("luck", 1000),), Fault.POLICY_UNKNOWN),
        ((Source("a"),), (("load", 999),), Fault.WEIGHTS_SUM),
    ],
)
def test_what_cannot_be_meant_is_refused(rows, weights, code):
    with pytest.raises(BadInput) as refused:
        choose_sources(rows, "t", weights=weights)
    assert refused.value.reason.code is code
