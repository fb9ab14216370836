"""Keeping measured values for a while, and their hourly sums for longer."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.kernel.actor import Actor
from apps.kernel.errors import InvalidInput
from apps.kernel.service import service
from apps.telemetry.locks import turn_take
from apps.telemetry.models import PastShare, Rollup, Sample
from apps.telemetry.types import Measured, Metered

SAMPLES_KEPT = timedelta(days=7)
ROLLUPS_KEPT = timedelta(days=400)
# Time that nobody looked is not made up: at most this much passes between two looks.
GAP_MAX_S = 30.0
_PRUNE_BATCH = 20_000
_SUMMED = ["weighted", "seconds", "peak"]
_KEY = ["series", "kind", "subject", "tenant", "source", "hour"]


@service(recorded=False)
def sample_put(*, actor: Actor, series: str, subject: str, value: float, at: datetime | None = None) -> None:
    """Keep one measured value; the same instant again is dropped."""
    samples_put(actor=actor, samples=[Measured(series, str(subject), at or timezone.now(), value)])


@service(recorded=False)
def samples_put(*, actor: Actor, samples: Iterable[Measured]) -> None:
    """Keep measured values in one insert. InvalidInput for one that is not finite; nothing is kept then."""
    rows = [Sample(series=s.series, subject=s.subject, at=s.at, value=s.value) for s in samples]
    if not all(math.isfinite(row.value) for row in rows):
        raise InvalidInput(_("A measured value must be a finite number."))
    Sample.objects.bulk_create(rows, ignore_conflicts=True)


@service(recorded=False)
def samples_prune(*, actor: Actor) -> int:
    """Forget a batch of samples older than seven days; how many there were."""
    old = Sample.objects.filter(at__lt=timezone.now() - SAMPLES_KEPT).order_by("at").values("pk")
    return Sample.objects.filter(pk__in=list(old[:_PRUNE_BATCH].values_list("pk", flat=True))).delete()[0]


@service(recorded=False)
def meters_take(*, actor: Actor, meters: Sequence[Metered], taken_at: datetime) -> float:
    """Add figures to the sums of their hour for the time since the last look; that time in seconds.

    One process at a time: a parallel twin, or a look older than the last one, adds nothing. Figures that are not
    finite are left out.
    """
    turn = turn_take("meters")
    if turn is None:
        return 0.0
    passed_s = (taken_at - turn.at).total_seconds() if turn.at else 0.0
    if turn.at is None or passed_s > 0:
        turn.at = taken_at
        turn.save(update_fields=["at"])
    passed_s = min(max(passed_s, 0.0), GAP_MAX_S)
    if passed_s:
        _sums_add([meter for meter in meters if math.isfinite(meter.value)], passed_s, taken_at)
    return passed_s


def _sums_add(meters: Sequence[Metered], passed_s: float, taken_at: datetime) -> None:
    """Add to the rows of the hour; the turn's lock keeps everybody else from them."""
    hour = taken_at.replace(minute=0, second=0, microsecond=0)
    sums = {tuple(getattr(row, name) for name in _KEY): row for row in Rollup.objects.filter(hour=hour)}
    touched = {}
    for meter in meters:
        key = (meter.series, meter.kind, meter.subject, meter.tenant, meter.source, hour)
        row = sums.get(key) or sums.setdefault(key, Rollup(**dict(zip(_KEY, key, strict=True))))
        row.weighted += meter.value * passed_s
        row.seconds += passed_s
        row.peak = max(row.peak, meter.value)
        touched[key] = row
    for row in touched.values():
        row.pk = None
    Rollup.objects.bulk_create(
        touched.values(), update_conflicts=True, unique_fields=_KEY, update_fields=_SUMMED
    )


@service(recorded=False)
def share_past_add(
    *, actor: Actor, slice_uid: UUID, compute_percent: int, memory_mib: int, until_at: datetime
) -> None:
    """Keep what a share held up to now, since it was last resized or began."""
    last = PastShare.objects.filter(slice_uid=slice_uid).order_by("until_at", "pk").last()
    PastShare.objects.create(
        slice_uid=slice_uid,
        from_at=last.until_at if last else None,
        until_at=until_at,
        compute_percent=compute_percent,
        memory_mib=memory_mib,
    )


@service(recorded=False)
def rollups_prune(*, actor: Actor) -> int:
    """Forget a batch of hourly sums and past shares older than 400 days; how many sums there were."""
    PastShare.objects.filter(until_at__lt=timezone.now() - ROLLUPS_KEPT).delete()
    old = Rollup.objects.filter(hour__lt=timezone.now() - ROLLUPS_KEPT).order_by("hour")
    batch = list(old.values_list("pk", flat=True)[:_PRUNE_BATCH])
    return Rollup.objects.filter(pk__in=batch).delete()[0]
