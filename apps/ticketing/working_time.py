"""Minutes of working time on a weekly calendar with special days."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

# A calendar whose special days close it for longer has no working time: what is due then is due after it.
_DAYS_MOST = 3 * 366


@dataclass(frozen=True, slots=True)
class Calendar:
    """When people work.

    Attributes:
        zone: in which the hours are meant.
        week: for each weekday (0 is Monday) the spans in which people work; an empty week is one without an end, in
            which every hour counts.
        special: days that are otherwise than their weekday says: as another weekday, or None for closed.
    """

    zone: ZoneInfo
    week: Mapping[int, tuple[tuple[time, time], ...]] = field(default_factory=dict)
    special: Mapping[date, int | None] = field(default_factory=dict)

    @property
    def is_always(self) -> bool:
        return not any(self.week.values())

    def due(self, start: datetime, minutes: int) -> datetime:
        """When so many minutes of working time are over, from `start` on."""
        left = timedelta(minutes=minutes)
        for begin, end in self._spans(start):
            if end - begin >= left:
                return (begin + left).astimezone(start.tzinfo)
            left -= end - begin
        return start + timedelta(days=_DAYS_MOST) + left

    def worked(self, start: datetime, end: datetime) -> timedelta:
        """How much working time lies between two instants."""
        found = timedelta()
        for begin, until in self._spans(start):
            if begin >= end:
                break
            found += min(until, end) - begin
        return found

    def _spans(self, start: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The stretches of working time from `start` on, in order."""
        if self.is_always:
            yield start, start + timedelta(days=100 * 366)
            return
        day = start.astimezone(self.zone).date()
        for number in range(_DAYS_MOST):
            today = day + timedelta(days=number)
            weekday = self.special.get(today, today.weekday())
            for opens, closes in sorted(self.week.get(weekday, ())) if weekday is not None else ():
                begin, end = self._instant(today, opens), self._instant(today, closes)
                if closes == time.min:
                    end = self._instant(today + timedelta(days=1), time.min)
                if end > start:
                    yield max(begin, start), end

    def _instant(self, day: date, at: time) -> datetime:
        # In UTC, so that a day on which the clock is changed has the length it has.
        return datetime.combine(day, at, self.zone).astimezone(ZoneInfo("UTC"))
