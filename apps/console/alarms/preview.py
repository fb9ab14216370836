"""How often a rule would have fired, from the samples that are kept: asked before the rule is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import OperationalError, connection, transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from apps.console.alarms.readings import POOL, SAMPLE_EVERY_S
from apps.console.reports.base import device_label
from apps.fleet.selectors import device_list, node_list
from apps.telemetry.alarm_metrics import METRICS
from apps.telemetry.models import Sample
from apps.telemetry.selectors import sample_list
from apps.telemetry.thresholds import Firing, firings

SERIES = {
    "device_utilisation": "utilisation_percent",
    "device_power": "power_w",
    "node_power": "power_w",
    "pool_power": "power_w",
}
"""The metrics of which samples are kept, by the series that they are kept as."""
SUBJECTS_LOOKED_AT = 50
# Two looks that failed are a gap, one is not.
_GAP_S = 3 * SAMPLE_EVERY_S
_PATIENCE_MS = 4000
_BREAKS = {"gt": "value__gt", "ge": "value__gte", "lt": "value__lt", "le": "value__lte"}


@dataclass(frozen=True, slots=True)
class DraftRule:
    """A rule as its form has it, unsaved: of what, when it breaks, how long it must, and of which subject alone; `days`
    is how far to look back."""

    metric: str
    comparison: str
    threshold: float
    for_s: float
    subject: str
    days: int


@dataclass(frozen=True, slots=True)
class Fired:
    """A subject that the rule would have fired on."""

    name: str
    times: Sequence[Firing]


@dataclass(frozen=True, slots=True)
class Preview:
    """What the rule would have done since `since`.

    `why_none`: empty, or why there is no preview: "kept" where no samples of the metric are, "measured" where nothing
    was measured in that time, "much" where there is too much to look through. `left` is how many more subjects broke
    it than were looked at. `shown` and `points` are one subject's name and figures: that which broke it most.
    """

    since: datetime
    why_none: str = ""
    fired: Sequence[Fired] = ()
    left: int = 0
    shown: str = ""
    points: Sequence[tuple[datetime, float]] = ()

    @property
    def count(self) -> int:
        return sum(len(each.times) for each in self.fired)


def rule_preview(draft: DraftRule) -> Preview:
    """How often the rule would have fired, on what, from the samples of its metric."""
    since = timezone.now() - timedelta(days=draft.days)
    series = SERIES.get(draft.metric)
    if series is None:
        return Preview(since, "kept")
    names = {
        subject: name
        for subject, name in _subjects(METRICS[draft.metric].subject_kind).items()
        if draft.subject in ("", subject, name)
    }
    rows = sample_list(series=series, subjects=list(names), since=since)
    try:
        # A page that nobody waits for is of no use, and other work needs the database more.
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(_PATIENCE_MS)])
            return _looked(draft, rows, names, since)
    except OperationalError as error:
        if "statement timeout" not in str(error):
            raise
        return Preview(since, "much")


def _looked(draft: DraftRule, rows: QuerySet[Sample], names: Mapping[str, str], since: datetime) -> Preview:
    breaking = rows.filter(Q((_BREAKS[draft.comparison], draft.threshold))).order_by()
    counted = breaking.values("subject").annotate(number=Count("pk")).order_by("-number", "subject")
    broken = [row["subject"] for row in counted]
    fired: list[Fired] = []
    for subject in broken[:SUBJECTS_LOOKED_AT]:
        times = firings(
            _points(rows, subject),
            comparison=draft.comparison,
            threshold=draft.threshold,
            for_s=draft.for_s,
            gap_s=_GAP_S,
        )
        if times:
            fired.append(Fired(names[subject], times))
    shown = broken[0] if broken else _nearest(draft, rows)
    if shown is None:
        return Preview(since, "measured")
    left = max(0, len(broken) - SUBJECTS_LOOKED_AT)
    fired.sort(key=lambda each: (-len(each.times), each.name))
    return Preview(since, "", fired, left, names[shown], _points(rows, shown))


def _points(rows: QuerySet[Sample], subject: str) -> list[tuple[datetime, float]]:
    return list(rows.filter(subject=subject).order_by("at").values_list("at", "value"))


def _nearest(draft: DraftRule, rows: QuerySet[Sample]) -> str | None:
    """The subject that came nearest to the threshold."""
    order = "-value" if draft.comparison in ("gt", "ge") else "value"
    return rows.order_by(order).values_list("subject", flat=True).first()


def _subjects(kind: str) -> dict[str, str]:
    """The subjects of a kind by their identifiers, with what people call them."""
    if kind == "device":
        return {str(row.uid): device_label(row) for row in device_list()}
    if kind == "node":
        return {str(row.uid): row.name for row in node_list()}
    return {POOL: POOL}
