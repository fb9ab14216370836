"""Runs and their results, for who may see them."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.conformance.models import ConformanceResult, ConformanceRun, ReportKey, Trace
from apps.conformance.report.signing import is_sound
from apps.conformance.states import OPEN, Outcome, RunState
from apps.kernel.errors import NotFound


def run_list() -> QuerySet[ConformanceRun]:
    """All runs, newest first, with how many tests came out how."""
    counts = {
        f"{outcome}_count": Count("results", filter=Q(results__outcome=outcome)) for outcome in Outcome.values
    }
    rows = ConformanceRun.objects.defer("report", "inventory").annotate(**counts)
    return rows.order_by("-created_at", "-pk")


def run_get(uid: UUID | str) -> ConformanceRun:
    """A run. Raises NotFound."""
    row = ConformanceRun.objects.filter(uid=uid).first()
    if row is None:
        raise NotFound(_("There is no such run."))
    return row


def run_open() -> ConformanceRun | None:
    """The run that is under way or about to be."""
    return ConformanceRun.objects.filter(state__in=OPEN).first()


def run_queued(*, older_than: timedelta = timedelta(seconds=20)) -> list[ConformanceRun]:
    """Runs that no worker has begun for a while."""
    rows = ConformanceRun.objects.filter(state=RunState.QUEUED, is_background=True)
    return list(rows.filter(created_at__lt=timezone.now() - older_than))


def result_list(run: ConformanceRun) -> list[ConformanceResult]:
    """What a run saw, in the standard's order."""
    return list(run.results.order_by("position"))


def trace_list() -> list[Trace]:
    """What runs left in the pool, the newest first: the order in which it is taken back."""
    return list(Trace.objects.select_related("run").order_by("-pk"))


def is_own_key(public_key: str) -> bool:
    """Whether this portal ever signed with the key."""
    return ReportKey.objects.filter(public_key=public_key).exists()


def verdict_of(document: Any) -> dict[str, Any]:
    """What can be said of a report by its file alone: is it sound, is it our own, with which key."""
    key = document["signature"]["public_key"] if is_sound(document) else ""
    return {"is_sound": bool(key), "is_own": bool(key) and is_own_key(key), "public_key": key}
