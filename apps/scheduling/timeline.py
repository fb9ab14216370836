"""A workload's time line and how well promised starts came true: what pages and API show of the past."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.utils import timezone

from apps.scheduling.endings import end_sentence
from apps.scheduling.engine.explain import TEXTS
from apps.scheduling.engine.types import ReasonCode
from apps.scheduling.models import Decision, Promise, Workload
from apps.scheduling.selectors import reason_sentence


@dataclass(frozen=True, slots=True)
class Line:
    """One decision on a workload, in the reader's words."""

    at: datetime
    kind: str
    what: str
    sentence: str
    actor: str


def timeline(row: Workload) -> list[Line]:
    """Every decision on the workload, oldest first (ELA-504)."""
    return [
        Line(each.at, each.kind, str(each.get_kind_display()), decision_sentence(each, row), each.actor)
        for each in row.decisions.all()
    ]


def decision_sentence(decision: Decision, row: Workload) -> str:
    """Why it was decided so; "" where the word says it all."""
    params = decision.params
    if decision.code in set(ReasonCode) and ReasonCode(decision.code) in TEXTS and "text" not in params:
        try:
            return reason_sentence(decision.code, params)
        except (KeyError, ValueError):
            # Figures of an older version's sentence: they are shown as they are.
            return _figures(params)
    if "text" in params or decision.code:
        text = str(params.get("text", ""))
        return end_sentence(
            decision.code, text, seconds=row.run_timeout_s, idle_s=row.idle_timeout_s, mib=row.memory_mib
        ) or _figures({name: value for name, value in params.items() if name != "text"})
    return _figures(params)


def _figures(params: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in params.items() if value not in (None, "", [], {}))


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the promised starts of a time came true. Shares are percent; None where there was none."""

    scored: int
    inside_percent: int | None
    median_error_s: int | None
    without_start: int
    days: list[tuple[str, int, int]]
    """By day: its date, how many were scored, percent inside."""
    points: list[tuple[int, int, bool]]
    """Promised and real wait of the newest, in seconds, and whether it was kept."""


def calibration(days: int = 30) -> Calibration:
    """The promises scored in the last `days` days."""
    since = timezone.now() - timedelta(days=days)
    rows = list(
        Promise.objects.filter(started_at__gte=since, error_s__isnull=False).order_by("-started_at")[:20_000]
    )
    blank = Promise.objects.filter(made_at__gte=since, start_at=None).count()
    if not rows:
        return Calibration(0, None, None, blank, [], [])
    return Calibration(
        scored=len(rows),
        inside_percent=_inside(rows),
        median_error_s=int(median(abs(row.error_s or 0) for row in rows)),
        without_start=blank,
        days=_by_day(rows),
        points=[
            (_wait(row, row.start_at), _wait(row, row.started_at), bool(row.is_kept)) for row in rows[:500]
        ],
    )


def _inside(rows: Sequence[Promise]) -> int:
    return 100 * sum(bool(row.is_kept) for row in rows) // len(rows)


def _wait(row: Promise, until: datetime | None) -> int:
    return max(0, int((until - row.made_at).total_seconds())) if until else 0


def _by_day(rows: Sequence[Promise]) -> list[tuple[str, int, int]]:
    days: dict[str, list[Promise]] = {}
    for row in rows:
        if row.started_at:
            days.setdefault(timezone.localtime(row.started_at).date().isoformat(), []).append(row)
    return [(day, len(those), _inside(those)) for day, those in sorted(days.items())]


def promise_of(row: Workload) -> Promise | None:
    """What it was told when it began to wait, if anything."""
    return Promise.objects.filter(workload=row).first()
