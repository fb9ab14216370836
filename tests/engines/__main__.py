"""The suite on every kind of centre that is installed here, and a line of JSON for each: `make engines`."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.engines.engines import REAL, WIRELESS


class Counts:
    """How the tests of each kind ended."""

    def __init__(self) -> None:
        self.of: dict[str, Counter[str]] = {kind: Counter(passed=0, failed=0, skipped=0) for kind in REAL}

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """What is about a wire, of a kind without one."""
        for item in items:
            for kind in _kinds_of(item.nodeid):
                if kind in WIRELESS and item.get_closest_marker("wire"):
                    self.of[kind]["not_applicable"] += 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test counts once: by its call, or by what kept it from that."""
        if report.when == "call" or report.outcome != "passed":
            for kind in _kinds_of(report.nodeid):
                self.of[kind][report.outcome] += 1


def _kinds_of(nodeid: str) -> list[str]:
    """A test with a kind's engine has the kind among its parameters; a kind's own tests are in a file of its name."""
    file, _colons, test = nodeid.partition("::")
    words = test.partition("[")[2].rstrip("]").split("-")
    return [kind for kind in REAL if kind in words or Path(file).name == f"test_{kind}.py"]


def main(arguments: list[str]) -> int:
    """Run it; pytest's own exit status."""
    counts = Counts()
    status = pytest.main([str(Path(__file__).parent), "-q", "-p", "no:xdist", *arguments], plugins=[counts])
    for kind, ended in counts.of.items():
        print(json.dumps({"kind": kind, "real": REAL[kind], **ended}))
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
