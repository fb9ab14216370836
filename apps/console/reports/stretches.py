"""A period cut into stretches that a chart can show: hours, days or weeks of the zone that is set."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from apps.console.reports.base import Period

HOURS_MOST = timedelta(hours=49)
DAYS_MOST = timedelta(days=62)


@dataclass(frozen=True, slots=True)
class Stretches:
    """A period without a gap: `edges` has one instant more than there are stretches; `step` is "hour", "day" or
    "week". The first and the last may be shorter than the others."""

    step: str
    edges: Sequence[datetime]

    @property
    def names(self) -> list[str]:
        """What each is called beside the others: its hour, its day, or the first day of its week."""
        shape = "%m-%d %H:00" if self.step == "hour" else "%m-%d"
        return [timezone.localtime(edge).strftime(shape) for edge in self.edges[:-1]]

    def place(self, day: date) -> int:
        """Which stretch the end of a day of the zone lies in, cut at the period's own ends."""
        end = _midnight(day + timedelta(days=1)) - timedelta(microseconds=1)
        found = sum(edge <= end for edge in self.edges[1:])
        return min(found, len(self.edges) - 2)

    @property
    def word(self) -> str:
        """What one stands for, as said over a chart."""
        return {"hour": _("by hour"), "day": _("by day"), "week": _("by week")}[self.step]


def stretches(over: Period, *, least: str = "hour") -> Stretches:
    """The stretches of what of a period has happened: hours up to two days (where `least` is "hour"), then days, beyond
    two months weeks from Monday on."""
    length = over.end_at - over.from_at
    if length <= HOURS_MOST and least == "hour":
        begin = timezone.localtime(over.from_at).replace(minute=0, second=0, microsecond=0)
        inner = [begin + timedelta(hours=n) for n in range(1, int(length / timedelta(hours=1)) + 2)]
        return _cut("hour", over, inner)
    first = timezone.localdate(over.from_at)
    count = (timezone.localdate(over.end_at) - first).days
    days = [first + timedelta(days=n) for n in range(1, count + 1)]
    if length <= DAYS_MOST:
        return _cut("day", over, [_midnight(day) for day in days])
    return _cut("week", over, [_midnight(day) for day in days if day.weekday() == 0])


def _cut(step: str, over: Period, inner: Sequence[datetime]) -> Stretches:
    end = max(over.end_at, over.from_at)
    return Stretches(step, [over.from_at, *(at for at in inner if over.from_at < at < end), end])


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, timezone.get_current_timezone())
