"""What a run did not check: said at its end, and with `WEIR_TEST_REQUIRE_ALL=1` a failure unless it is allowed."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

# The part of a reason that is allowed, and why no machine of ours can be asked for it.
ALLOWED = {
    "this machine allows no network namespaces or no TUN cards": "a container's root has them only from its host",
    "a small disk cannot be mounted here": "a container's root may mount only where its host lets it",
    "with quotas of projects": "a container has the kernel of its host",
    "code-server is not installed": "its package fetches more programs from elsewhere when it is installed",
    "no GPU": "build servers have none",
    "the libraries' programs": "they weigh some 300 MiB beside PyTorch, and have a command of their own",
    "the reference models are not beside this checkout": "they are other people's, and no package carries them",
}
_REQUIREMENTS = re.compile(r"\b[A-Z]{2,}(?:-[A-Z0-9]+)*-[A-Z]?\d+(?:\.\d+)?\b")
_MARK = "requirements"


class Skip(NamedTuple):
    """A test, or a whole file of tests, that was left out."""

    name: str
    reason: str
    requirements: frozenset[str]

    @property
    def is_allowed(self) -> bool:
        return any(allowed in self.reason for allowed in ALLOWED)


def requirements_note(item: pytest.Item) -> None:
    """Have a test's report carry what the test shows, so that whoever reads the report can say it."""
    shown = sorted({str(id_) for mark in item.iter_markers("req") for id_ in mark.args})
    if shown:
        item.user_properties.append((_MARK, shown))


def skips_of(reports: Iterable[pytest.TestReport | pytest.CollectReport], root: Path) -> list[Skip]:
    """Each skip once, in order of names; several workers report the files that all of them left out."""
    found = {report.nodeid: _skip_of(report, root) for report in reports}
    return [found[name] for name in sorted(found)]


def _skip_of(report: pytest.TestReport | pytest.CollectReport, root: Path) -> Skip:
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = str(why).removeprefix("Skipped: ")
    noted = dict(getattr(report, "user_properties", ())).get(_MARK)
    if noted is None and "::" not in report.nodeid:
        noted = _REQUIREMENTS.findall((root / report.nodeid).read_text())
    return Skip(report.nodeid, reason, frozenset(noted or ()))


def told(skips: list[Skip]) -> list[str]:
    """A line for each reason: what could not be checked, and which promises it would have shown."""
    by_reason: dict[str, list[Skip]] = {}
    for skip in skips:
        by_reason.setdefault(skip.reason, []).append(skip)
    return [_line(reason, group) for reason, group in sorted(by_reason.items())]


def _line(reason: str, group: list[Skip]) -> str:
    tests = [skip for skip in group if "::" in skip.name]
    files = [skip.name for skip in group if "::" not in skip.name]
    parts = [f"{len(tests)} test{'s' if len(tests) != 1 else ''}"] if tests else []
    parts += [f"all of {name}" for name in files]
    promises = sorted(frozenset[str]().union(*(skip.requirements for skip in group)))
    shown = f"; not shown here: {', '.join(promises)}" if promises else ""
    return f"{reason}: {', '.join(parts)}{shown}"


def is_all_required() -> bool:
    return os.environ.get("WEIR_TEST_REQUIRE_ALL") == "1"
