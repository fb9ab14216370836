"""A workload's time line, when it ends at the latest, and how well start estimates came true."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.fleet.models import Device
from apps.fleet.selectors import slice_list
from apps.scheduling.models import PLACINGS, Decision, StartEstimate, Workload
from apps.scheduling.selectors.workloads import reason_sentence
from apps.scheduling.states import DecisionKind
from apps.scheduling.text.end_reasons import PREEMPTION_SENTENCES, end_sentence

MISSED_SHOWN = 10
_SHOWN = 8
"""So many devices are named; of more the first."""


@dataclass(frozen=True, slots=True)
class Line:
    """One decision on a workload, in the reader's words."""

    at: datetime
    kind: str
    what: str
    sentence: str
    actor: str


def work_end_list(workload_uids: Iterable[UUID]) -> dict[UUID, datetime]:
    """When the nodes end running work at the latest, by its uid; without what does not run, or has no limit."""
    going = slice_list(workload_uids=workload_uids).filter(
        ended_at=None, final_at=None, started_at__isnull=False, run_timeout_s__isnull=False
    )
    found: dict[UUID, datetime] = {}
    for uid, began, run_s in going.values_list("workload_uid", "started_at", "run_timeout_s"):
        if began is None or run_s is None:
            continue
        end = began + timedelta(seconds=run_s)
        found[uid] = min(end, found.get(uid, end))
    return found


def timeline(row: Workload) -> list[Line]:
    """Every decision on the workload, oldest first (ELA-504)."""
    return [
        Line(each.at, each.kind, str(each.get_kind_display()), decision_sentence(each, row), each.actor)
        for each in row.decisions.all()
    ]


# What was decided and why, by kind and reason code, else by kind alone.
_SENTENCES = {
    **{f"preempting:{cause}": msgid for cause, msgid in PREEMPTION_SENTENCES.items()},
    "preempted": gettext_noop(
        "It made room for %(other)s and lost %(lost)s of card time, which is made good."
    ),
    "scaled:plan": gettext_noop(
        "From %(before)s to %(shares)s shares, as there was room or others needed it."
    ),
    "scaled:owner": gettext_noop("From %(before)s to %(shares)s shares, as its owner asked."),
    "scaled:rule": gettext_noop("From %(before)s to %(shares)s shares, by its scaling rules."),
    "scaled:failed": gettext_noop(
        "It goes on with %(shares)s shares: what it was to gain could not be started."
    ),
    "scaled:lost": gettext_noop(
        "From %(before)s to %(shares)s shares: a node was lost, and the work goes on without its shares."
    ),
    "scaled:confirmed": gettext_noop("The work has confirmed that it goes on with %(shares)s shares."),
    "scaled:delivered": gettext_noop("It goes on with %(shares)s shares; the work does not confirm sizes."),
    "scaled:overdue": gettext_noop(
        "It goes on with %(shares)s shares: the work has not confirmed within its notice."
    ),
    "moved": gettext_noop("From %(source)s to %(target)s, so that waiting work finds whole cards."),
    "requeued:lost": gettext_noop(
        "Its node was lost: it waits again in its old place (attempt %(attempt)s)."
    ),
    "requeued:preempted": gettext_noop("It waits again in its old place (attempt %(attempt)s)."),
    "requeued:owner": gettext_noop(
        "Its owner asked for it: it waits again in its old place (attempt %(attempt)s)."
    ),
    "folder:waits": gettext_noop("It starts when its folder has come from %(node)s."),
    "folder:brought": gettext_noop("It goes on in its folder, which came from %(node)s (%(mib)s MiB)."),
    "folder:left:lost": gettext_noop(
        "It started in an empty folder: what it had kept was lost with %(node)s."
    ),
    "folder:left:silent": gettext_noop(
        "It started in an empty folder: %(node)s did not send what it had kept there in time."
    ),
    "folder:left:refused": gettext_noop(
        "It started in an empty folder: %(node)s could not send what it had kept there (%(problem)s)."
    ),
    "requeued": gettext_noop("It waits again (attempt %(attempt)s)."),
    "placed": gettext_noop("On %(where)s. %(how)s."),
    "started": gettext_noop("All its shares run (attempt %(attempt)s)."),
}


def decision_sentence(decision: Decision, row: Workload) -> str:
    """Why it was decided so; "" where the word says it all."""
    kind, code, params = decision.kind, decision.code, decision.params
    own = _SENTENCES.get(f"{kind}:{code}") or _SENTENCES.get(kind)
    try:
        if own:
            return _(own) % _figures_of(params, code)
        if kind == DecisionKind.WAITING:
            return reason_sentence(code, params)
    except (KeyError, ValueError):
        # Figures of an older version's sentence: they are shown as they are.
        return _figures(params)
    text = str(params.get("text", ""))
    return end_sentence(
        code, text, seconds=row.run_timeout_s, idle_s=row.idle_timeout_s, mib=row.memory_mib
    ) or _figures(params)


def _figures_of(params: Mapping[str, Any], code: str) -> dict[str, Any]:
    """The figures of a decision in words: devices and work by name, card time in hours."""
    shown: dict[str, Any] = {"attempt": 1, **params}
    if "devices" in params:
        names = _device_names(params["devices"])
        shown["where"] = ", ".join(names.get(uid, uid) for uid in params["devices"][:_SHOWN])
        shown["where"] += " …" if len(params["devices"]) > _SHOWN else ""
        shown["how"] = str(dict(PLACINGS).get(code, code))
    if "source" in params:
        names = _device_names([params["source"], params["target"]])
        shown |= {each: names.get(params[each], params[each]) for each in ("source", "target")}
    if "lost_card_seconds" in params:
        shown["lost"] = f"{params['lost_card_seconds'] / 3600:.2f} {_('h')}"
        # Another tenant's work is not named.
        shown["other"] = _("other work")
    return shown


def _device_names(uids: Sequence[str]) -> dict[str, str]:
    rows = Device.objects.filter(uid__in=uids).select_related("node")
    return {row.uid: f"{row.node.name} #{row.index}" for row in rows}


def _figures(params: Mapping[str, Any]) -> str:
    known = {
        name: value for name, value in params.items() if name != "text" and value not in (None, "", [], {})
    }
    return ", ".join(f"{name} {value}" for name, value in known.items())


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the start estimates of a time came true. Shares are percent; None where there was none."""

    scored: int
    inside_percent: int | None
    median_error_s: int | None
    without_start: int
    days: list[tuple[str, int, int]]
    """By day: its date, how many were scored, percent inside."""
    points: list[tuple[int, int, bool]]
    """Estimated and real wait of the newest, in seconds, and whether it was kept."""


def calibration(days: int = 30) -> Calibration:
    """The estimates scored in the last `days` days."""
    since = timezone.now() - timedelta(days=days)
    rows = list(
        StartEstimate.objects.filter(started_at__gte=since, error_s__isnull=False).order_by("-started_at")[
            :20_000
        ]
    )
    blank = StartEstimate.objects.filter(made_at__gte=since, start_at=None).count()
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


def _inside(rows: Sequence[StartEstimate]) -> int:
    return 100 * sum(bool(row.is_kept) for row in rows) // len(rows)


def _wait(row: StartEstimate, until: datetime | None) -> int:
    return max(0, int((until - row.made_at).total_seconds())) if until else 0


def _by_day(rows: Sequence[StartEstimate]) -> list[tuple[str, int, int]]:
    days: dict[str, list[StartEstimate]] = {}
    for row in rows:
        if row.started_at:
            days.setdefault(timezone.localtime(row.started_at).date().isoformat(), []).append(row)
    return [(day, len(those), _inside(those)) for day, those in sorted(days.items())]


def start_estimates_missed() -> list[StartEstimate]:
    """The newest starts that fell outside of their interval: the operators' side only."""
    rows = StartEstimate.objects.filter(is_kept=False, started_at__isnull=False)
    return list(rows.select_related("workload__tenant", "queue").order_by("-started_at")[:MISSED_SHOWN])


def start_estimate_of(row: Workload) -> StartEstimate | None:
    """What it was told when it began to wait, if anything."""
    return StartEstimate.objects.filter(workload=row).first()
