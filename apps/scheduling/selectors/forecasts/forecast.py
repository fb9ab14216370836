"""When work will start and how sure that is: the engine's answer on the pool as it is, in the reader's words."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, DurationField, ExpressionWrapper, F, Max, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.scheduling.engine.model import types as engine
from apps.scheduling.engine.simulate.eta import eta, offer
from apps.scheduling.models import StartEstimate, Workload
from apps.scheduling.selectors.forecasts.quantiles import Quantiles
from apps.scheduling.selectors.workloads import reason_sentence
from apps.scheduling.snapshot.workloads import request_of, snapshot_get
from apps.scheduling.states import (
    NOT_HELD_BACK,
    WorkloadState,
)

HISTORY_DAYS = 30
HISTORY_MOST = 20_000
PACE_MOST = 100_000
HISTORY_LEAST = 10
"""Fewer runs than that say nothing of the next one."""
TOLERANCE = timedelta(seconds=15)
"""What is free now starts within so much: a cycle, and its node's next beat."""

MOST_JUDGED = 3000
"""Of a longer line nobody can be told by replaying all of it while a page waits: its pace says enough."""
PACE, OTHER_WORK = "pace", "other_work"

BASIS_TEXTS: dict[str, str] = {
    OTHER_WORK: gettext_noop("nothing: other work has to end before it"),
    PACE: gettext_noop("how fast its queue moved in the last hour"),
    engine.EtaBasis.FREE_NOW: gettext_noop("there is room now"),
    engine.EtaBasis.KNOWN_ENDS: gettext_noop("the known ends of what runs and waits before it"),
    engine.EtaBasis.HISTORY: gettext_noop("how long such work ran before"),
    engine.EtaBasis.UNKNOWN_ENDS: gettext_noop("nothing: work before it has no known end"),
    engine.EtaBasis.NEEDS_REPAIR: gettext_noop("nothing: a node or device must come back first"),
    engine.EtaBasis.QUEUE_STOPPED: gettext_noop("nothing: its queue starts no work now"),
    engine.EtaBasis.NEVER_FITS: gettext_noop("nothing: it can never fit"),
}


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expected start with the interval in which nine of ten such starts fall; all None where nobody can say.

    `basis`: see the engine's EtaBasis.
    """

    start_at: datetime | None
    low_at: datetime | None
    high_at: datetime | None
    basis: str
    reason: engine.Reason | None = None

    @property
    def basis_text(self) -> str:
        text = BASIS_TEXTS.get(self.basis)
        return _(text) if text else self.basis

    @property
    def why(self) -> str:
        """What it waits for now; "" where there is room."""
        return reason_sentence(self.reason.code, dict(self.reason.params)) if self.reason else ""

    @property
    def spread_min(self) -> int:
        """Half the interval, in minutes, rounded up."""
        if self.low_at is None or self.high_at is None:
            return 0
        return -(-int((self.high_at - self.low_at).total_seconds()) // 120)

    @property
    def sentence(self) -> str:
        """The start in one sentence, in the reader's zone."""
        if self.basis == engine.EtaBasis.FREE_NOW:
            return _("There is room now: it starts at once.")
        if self.basis == engine.EtaBasis.NEVER_FITS:
            return _("It can never start as the pool and its rules stand.")
        if self.start_at is None:
            return _("Nobody can say yet when it starts.")
        local = timezone.localtime(self.start_at)
        is_today = local.date() == timezone.localdate()
        clock = local.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M")
        if self.spread_min:
            return _("It starts about %(time)s ± %(minutes)s min.") % {
                "time": clock,
                "minutes": self.spread_min,
            }
        return _("It starts about %(time)s.") % {"time": clock}

    def as_json(self) -> dict[str, Any]:
        return {
            "start_at": self.start_at,
            "low_at": self.low_at,
            "high_at": self.high_at,
            "basis": self.basis,
            "basis_text": self.basis_text,
            "sentence": self.sentence,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Now:
    """With how much the same work could start at once: the most percent of one share, or of shares; 0 is none."""

    percent: int
    shares: int

    @property
    def sentence(self) -> str:
        parts = []
        if self.percent:
            parts.append(_("with %(percent)s %% of a device each") % {"percent": self.percent})
        if self.shares:
            parts.append(_("with %(shares)s shares") % {"shares": self.shares})
        return _("It could start now %(how)s.") % {"how": " / ".join(parts)} if parts else ""


def snapshot_with_history() -> engine.Snapshot:
    """The pool as it is, with how long such work ran before."""
    return replace(snapshot_get(), history=run_history())


def run_history() -> tuple[engine.RunHistory, ...]:
    """How long work ran in the last days: by tenant and queue, by tenant, and all together."""
    newest = Workload.objects.across().aggregate(pk=Max("pk"))["pk"] or 0
    length = ExpressionWrapper(F("ended_at") - F("started_at"), output_field=DurationField())
    rows = Workload.objects.across().filter(
        # By key: the newest are found without an index of their own, however many there ever were.
        pk__gt=newest - HISTORY_MOST,
        state=WorkloadState.FINISHED,
        ended_at__gte=timezone.now() - timedelta(days=HISTORY_DAYS),
        started_at__isnull=False,
    )
    rows = rows.annotate(length=length).order_by()
    found = []
    for names in (("tenant__schema_name", "queue__code"), ("tenant__schema_name",), ()):
        found += [_history(row) for row in _lengths(rows, names)]
    return tuple(found)


def _lengths(rows: QuerySet[Workload], names: tuple[str, ...]) -> list[dict[str, Any]]:
    figures = {"count": Count("pk"), "spans": Quantiles("length", (0.1, 0.5, 0.9))}
    if not names:
        whole = rows.aggregate(**figures)
        return [whole] if whole["count"] >= HISTORY_LEAST else []
    return list(rows.values(*names).annotate(**figures).filter(count__gte=HISTORY_LEAST))


def _history(row: dict[str, Any]) -> engine.RunHistory:
    p10, p50, p90 = (max(1, int(each.total_seconds())) for each in row["spans"])
    return engine.RunHistory(
        p10, p50, p90, tenant_id=row.get("tenant__schema_name"), queue_id=row.get("queue__code")
    )


def expectation_of(row: Workload, snapshot: engine.Snapshot | None = None) -> Expectation:
    """When the workload, waiting or not yet submitted, is expected to start; of what waits for other work
    nobody can say."""
    if row.waits_for_work or row.waits_for_turn:
        return Expectation(None, None, None, OTHER_WORK)
    now = timezone.now()
    if snapshot is None and is_long_line():
        return by_pace(row, now)
    found = eta(snapshot or snapshot_with_history(), request_of(row), now=int(now.timestamp()))
    return expectation_from(found, now)


def is_long_line() -> bool:
    """Whether more waits than can be judged anew for one answer."""
    waiting = Workload.objects.across().filter(state=WorkloadState.PENDING, **NOT_HELD_BACK).order_by()
    return waiting[: MOST_JUDGED + 1].count() > MOST_JUDGED


def pace_of(queue_pk: int, now: datetime) -> int:
    """How many of the queue were placed in the last hour, of the newest PACE_MOST that were submitted."""
    newest = Workload.objects.across().aggregate(pk=Max("pk"))["pk"] or 0
    placed = Workload.objects.across().filter(queue=queue_pk, placed_at__gte=now - timedelta(hours=1))
    return placed.filter(pk__gt=newest - PACE_MOST).count()


def by_pace(row: Workload, now: datetime, pace: int | None = None) -> Expectation:
    """By its place and how many of its queue were placed in the last hour (`pace`, read where it is not given); with
    none nobody can say."""
    placed = pace_of(row.queue_id, now) if pace is None else pace
    if not placed:
        return Expectation(None, None, None, engine.EtaBasis.UNKNOWN_ENDS.value)
    line = Workload.objects.across().filter(queue=row.queue, state=WorkloadState.PENDING)
    place = row.position or line.count() + 1
    wait = timedelta(hours=place / placed)
    # Ends come in bursts: with few of them the pace is little known.
    doubt = 2 / placed**0.5
    return Expectation(now + wait, now + wait / (1 + doubt), now + wait * (1 + doubt), PACE)


def expectation_from(found: engine.Eta, now: datetime) -> Expectation:
    """The engine's answer as instants; an interval where it has none comes from how earlier estimates turned out."""
    start = _at(found.start_at_s)
    if start is None:
        return Expectation(None, None, None, found.basis.value, found.reason)
    if found.basis is engine.EtaBasis.FREE_NOW:
        return Expectation(now, now, now + TOLERANCE, found.basis.value)
    low, high = _at(found.earliest_s), _at(found.latest_s)
    if low is None or high is None:
        low, high = past_interval(start, now, found.basis.value)
    return Expectation(start, low, high + TOLERANCE, found.basis.value, found.reason)


def _at(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def past_interval(start: datetime, now: datetime, basis: str) -> tuple[datetime, datetime]:
    """Where nine of ten starts fell, by how far the last estimates of this basis were off for each second of wait.

    Before there are enough of them: a start may come at any time until then, since work often ends before its time
    is over, and a tenth of the wait late.
    """
    wait = max(start - now, timedelta(0))
    recent = StartEstimate.objects.filter(basis=basis, error_s__isnull=False, start_at__gt=F("made_at"))[:500]
    ratios = sorted(
        each.error_s / max(1.0, (each.start_at - each.made_at).total_seconds())
        for each in recent
        if each.error_s is not None and each.start_at is not None
    )
    if len(ratios) < HISTORY_LEAST:
        return now, start + wait / 10
    low, high = ratios[len(ratios) // 20], ratios[len(ratios) - 1 - len(ratios) // 20]
    return max(now, start + wait * low), max(start, start + wait * high)


def offer_of(row: Workload) -> tuple[Expectation, Now | None]:
    """When it would start; and with how much it could start at once, where it could not with what it asks for."""
    now = timezone.now()
    if is_long_line():
        return by_pace(row, now), None
    found = offer(snapshot_with_history(), request_of(row), now=int(now.timestamp()))
    told = expectation_from(found.eta, now)
    if told.basis == engine.EtaBasis.FREE_NOW or not (found.percent_now or found.shares_now):
        return told, None
    return told, Now(found.percent_now, found.shares_now)
