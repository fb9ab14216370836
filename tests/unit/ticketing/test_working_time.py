"""Working time: what is due counts the hours of the week, days that are otherwise, and days on which clocks change."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from apps.ticketing.working_time import Calendar

SHANGHAI = ZoneInfo("Asia/Shanghai")
DAY = ((time(13, 30), time(17, 30)), (time(9), time(12)))
WEEK = dict.fromkeys(range(5), DAY)


def at(day: int, hour: int, minute: int = 0) -> datetime:
    """In November 2026, whose first is a Sunday."""
    return datetime(2026, 11, day, hour, minute, tzinfo=SHANGHAI)


@pytest.mark.parametrize(
    ("start", "minutes", "due"),
    [
        (at(2, 9), 60, at(2, 10)),
        (at(2, 11, 30), 60, at(2, 14)),
        (at(2, 12, 30), 30, at(2, 14)),
        (at(2, 6), 180, at(2, 12)),
        (at(2, 17), 60, at(3, 9, 30)),
        # Friday evening, then the weekend.
        (at(6, 20), 1, at(9, 9, 1)),
        (at(2, 9), 5 * 7 * 60 + 30, at(9, 9, 30)),
    ],
)
def test_what_is_due_counts_working_hours(start, minutes, due):
    assert Calendar(SHANGHAI, WEEK).due(start, minutes) == due


def test_a_holiday_is_left_out_and_a_day_worked_instead_counts():
    calendar = Calendar(SHANGHAI, WEEK, {date(2026, 11, 9): None, date(2026, 11, 7): 0})
    assert calendar.due(at(6, 20), 60) == at(7, 10)
    assert calendar.due(at(7, 20), 60) == at(10, 10)


def test_without_hours_every_hour_counts():
    assert Calendar(SHANGHAI).due(at(7, 20), 90) == at(7, 21, 30)
    assert Calendar(SHANGHAI).worked(at(7, 20), at(8, 20)) == timedelta(days=1)


def test_what_lies_between_two_instants():
    calendar = Calendar(SHANGHAI, WEEK)
    assert calendar.worked(at(2, 11), at(2, 14)) == timedelta(hours=1, minutes=30)
    assert calendar.worked(at(6, 17), at(9, 10)) == timedelta(hours=1, minutes=30)
    assert calendar.worked(at(7, 1), at(7, 9)) == timedelta()


def test_a_day_may_end_at_midnight_and_one_on_which_clocks_change_has_its_own_length():
    berlin = ZoneInfo("Europe/Berlin")
    calendar = Calendar(berlin, {number: ((time(0), time(0)),) for number in range(7)})
    # The clock goes back on 25 October 2026: that day has 25 hours.
    start = datetime(2026, 10, 25, 0, 0, tzinfo=berlin)
    assert calendar.due(start, 25 * 60) == datetime(2026, 10, 26, 0, 0, tzinfo=berlin)
    assert calendar.worked(start, datetime(2026, 10, 25, 23, 0, tzinfo=UTC)) == timedelta(hours=25)


def test_a_calendar_that_is_closed_for_years_still_says_something():
    closed = {date(2026, 11, 1) + timedelta(days=number): None for number in range(4 * 366)}
    assert Calendar(SHANGHAI, WEEK, closed).due(at(2, 9), 60) > at(2, 9)
