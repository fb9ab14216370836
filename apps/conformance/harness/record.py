"""What one test did, saw and concluded, step by step; and the verdict that follows from it."""

import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from apps.conformance.catalogue.entries import Entry
from apps.conformance.catalogue.hardware import kinds_of
from apps.conformance.states import Outcome

_EVIDENCE_MOST = 600


class NotRun(Exception):
    """The pool lacks something that the test needs: it says nothing about the product."""


class CaseFailed(Exception):
    """The test cannot go on: what it asked for did not come."""


class Unmet(CaseFailed):
    """An expectation is not met, and the test was to end with the first."""


class Record:
    """The notes of one test.

    Args:
        entry: what the standard asks for.
        on_note: called after each note, so that a page can show it.
        is_fail_fast: the first expectation that is not met ends the test.
    """

    def __init__(
        self, entry: Entry, on_note: Callable[[], None] = lambda: None, *, is_fail_fast: bool = False
    ) -> None:
        self.entry, self._is_fail_fast = entry, is_fail_fast
        self.steps: list[dict[str, Any]] = []
        self._devices: list[dict[str, Any]] = []
        self._seen: dict[str, list[dict[str, Any]]] = {}
        self._on_note = on_note
        self._lock = threading.Lock()

    def step(self, name: str, asked: str, seen: str, **figures: Any) -> None:
        """Note a step: what was asked of the pool, what was seen, and the figures."""
        assert name in self.entry.steps, f"{self.entry.number} has no step {name}"
        note = {"step": name, "at": _now(), "asked": asked, "seen": _short(seen), "figures": figures}
        with self._lock:
            self.steps.append(note)
        self._on_note()

    def expect(self, name: str, is_met: bool, evidence: str) -> bool:
        """Note whether an expectation is met, with the evidence; several notes must all be met."""
        assert name in self.entry.expectations, f"{self.entry.number} expects no {name}"
        note = {"is_met": bool(is_met), "evidence": _short(evidence)}
        with self._lock:
            self._seen.setdefault(name, []).append(note)
        self._on_note()
        if not is_met and self._is_fail_fast:
            raise Unmet(f"{name}: {note['evidence']}")
        return is_met

    def uses(self, devices: Iterable[dict[str, Any]]) -> None:
        """Note the devices that the test runs on."""
        with self._lock:
            self._devices += devices

    @property
    def hardware(self) -> list[dict[str, Any]]:
        """The kinds of device that the test ran on."""
        with self._lock:
            return kinds_of(self._devices)

    def expectations(self) -> list[dict[str, Any]]:
        """Each expectation of the standard with what was seen of it. One nobody looked at is not met."""
        rows = []
        for name in self.entry.expectations:
            notes = self._seen.get(name, [])
            is_met = bool(notes) and all(note["is_met"] for note in notes)
            rows.append({"expectation": name, "is_met": is_met, "notes": notes})
        others = rows[1:]
        is_held = bool(others) and all(row["is_met"] for row in others)
        follows = {"is_met": is_held, "evidence": "follows from the expectations below"}
        rows[0] = {"expectation": "E1", "is_met": is_held, "notes": [follows]}
        return rows

    def outcome(self, error: BaseException | None = None) -> tuple[Outcome, str]:
        """How the test came out, and why where it did not pass."""
        if isinstance(error, NotRun):
            return Outcome.NOT_RUN, str(error)
        if isinstance(error, CaseFailed):
            return Outcome.FAILED, str(error)
        if error is not None:
            return Outcome.FAILED, f"{type(error).__name__}: {error}"
        missed = [row for row in self.expectations()[1:] if not row["is_met"]]
        if not missed:
            return Outcome.PASSED, ""
        return Outcome.FAILED, "; ".join(_why(row) for row in missed)


def _why(row: dict[str, Any]) -> str:
    bad = [note["evidence"] for note in row["notes"] if not note["is_met"]]
    return f"{row['expectation']}: {'; '.join(bad) if row['notes'] else 'was not examined'}"


def _short(text: str) -> str:
    return text if len(text) <= _EVIDENCE_MOST else text[: _EVIDENCE_MOST - 1] + "…"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
