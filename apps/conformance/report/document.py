"""The report as data: everything that was asked, seen and concluded. Every other form is rendered from it."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from weir import __version__

from apps.conformance.catalogue.entries import LEVELS, Text, entry, level_reached, required, standard
from apps.conformance.catalogue.hardware import counted, sentence
from apps.conformance.models import ConformanceResult, ConformanceRun
from apps.conformance.states import Outcome

FORMAT = "weir-conformance-report/1"
STANDARD = Text(
    "Technical requirements and functional test methods for compute power pooling in AI computing centres",
    "智算中心算力池化技术要求和功能测试方法",
)


def report_of(
    run: ConformanceRun, results: Iterable[ConformanceResult], *, left_behind: list[str], note: str = ""
) -> dict[str, Any]:
    """The report of a run, before it is signed. The level is the highest whose whole column passed."""
    tests = [_test(row) for row in results]
    passed = [test["number"] for test in tests if test["outcome"] == Outcome.PASSED]
    return {
        "format": FORMAT,
        "standard": _both(STANDARD),
        "product": {"name": "Weir", "version": __version__},
        "run": str(run.uid),
        "started_by": run.started_by,
        "started_at": _at(run.started_at),
        "ended_at": _at(run.heard_at),
        "note": note,
        "level_reached": level_reached(passed),
        "levels": [_level(level, passed) for level in LEVELS],
        "hardware": _hardware(tests),
        "counts": {name: Counter(test["outcome"] for test in tests)[name] for name in Outcome.values[2:]},
        "inventory": run.inventory,
        "tests": tests,
        "left_behind": left_behind,
    }


def _level(level: int, passed: list[str]) -> dict[str, Any]:
    wanted = required(level)
    return {
        "level": level,
        "title": _both(LEVELS[level]),
        "required": list(wanted),
        "passed": [number for number in wanted if number in passed],
        "is_reached": set(wanted) <= set(passed),
    }


def _hardware(tests: list[dict[str, Any]]) -> dict[str, Any]:
    """On what those of the standard that passed ran: how many on which hardware, and in words."""
    passed = [test for test in tests if test["is_of_the_standard"] and test["outcome"] == Outcome.PASSED]
    counts = counted(test["hardware"] for test in passed)
    return {"counts": counts, "text": _both(sentence(counts))}


def _test(row: ConformanceResult) -> dict[str, Any]:
    test = entry(row.number)
    return {
        "number": row.number,
        "title": _both(test.title),
        "level": test.level,
        "is_of_the_standard": row.number in standard(),
        "clauses": list(test.clauses),
        "preconditions": [_both(text) for text in test.preconditions],
        "outcome": row.outcome,
        "reason": row.reason,
        "hardware": row.hardware,
        "is_simulated": row.is_simulated,
        "started_at": _at(row.started_at),
        "ended_at": _at(row.ended_at),
        "steps": [
            {"step": name, "text": _both(text), "notes": [n for n in row.steps if n["step"] == name]}
            for name, text in test.steps.items()
        ],
        "expectations": [_expectation(name, text, row) for name, text in test.expectations.items()],
    }


def _expectation(name: str, text: Text, row: ConformanceResult) -> dict[str, Any]:
    seen = next((part for part in row.expectations if part["expectation"] == name), {})
    return {
        "expectation": name,
        "text": _both(text),
        "is_met": seen.get("is_met", False),
        "notes": seen.get("notes", []),
    }


def _both(text: Text) -> dict[str, str]:
    return {"en": text.en, "zh": text.zh}


def _at(instant: datetime | None) -> str | None:
    return instant.isoformat(timespec="seconds") if instant else None
