"""The acceptance test, for operators: examine the pool, follow it, fetch the signed report and check one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weir.calls import Calls

if TYPE_CHECKING:
    from weir.api_types import (
        RunOut,
        RunRowOut,
        TestOut,
        VerdictOut,
    )

_OPEN = frozenset({"queued", "running"})


class Conformance(Calls):
    """The part of a client that has the pool examined."""

    def conformance_tests(self) -> list[TestOut]:
        """The standard's tests and our own, with steps and expectations."""
        return list(self.all("conformance/tests"))

    def conformance_runs(self) -> list[RunRowOut]:
        return list(self.all("conformance/runs"))

    def conformance_start(
        self, *, level: int | None = None, tests: Sequence[str] = (), clauses: bool = False
    ) -> RunRowOut:
        """Begin a run: of all 27 tests, of a level's, of those named, or of our own for clauses without one."""
        return self.post("conformance/runs", {"level": level, "tests": list(tests), "clauses": clauses})

    def conformance_run(self, uid: str) -> RunOut:
        """A run as far as it has come, with what each test saw."""
        return self.get(f"conformance/runs/{uid}")

    def conformance_follow(self, uid: str, *, every_s: float = 2.0) -> Iterator[RunOut]:
        """The run at each look until it has ended; the last one is the end."""
        while True:
            found = self.conformance_run(uid)
            yield found
            if found["state"] not in _OPEN:
                return
            time.sleep(every_s)

    def conformance_stop(self, uid: str) -> RunRowOut:
        """Interrupt it; what it made is taken back first."""
        return self.post(f"conformance/runs/{uid}/stop")

    def conformance_report(self, uid: str, form: str = "json") -> bytes:
        """The signed report as `json`, or rendered as `text`, `junit` or `pdf`."""
        return self.download(f"conformance/runs/{uid}/report", format=form)

    def conformance_verify(self, document: Mapping[str, Any]) -> VerdictOut:
        """Whether a report is as it was signed (`is_sound`), and by this portal (`is_own`)."""
        return self.post("conformance/verify", document)
