"""Badges count several things in one query, and none of them further than they say."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.kernel import counting
from apps.kernel.counting import badge_counts, badge_text
from apps.telemetry.models import LogEntry

pytestmark = pytest.mark.django_db


def lines(count, level):
    LogEntry.objects.bulk_create(
        LogEntry(at="2026-11-27T12:00:00Z", level=level, text=f"{n}% 'done'") for n in range(count)
    )


def test_each_is_counted_by_its_own_conditions_in_one_query(db):
    lines(3, "info")
    lines(2, "error")
    rows = LogEntry.objects.order_by("-at")
    with CaptureQueriesContext(connection) as asked:
        found = badge_counts(
            {
                "all": rows,
                "errors": rows.filter(level="error"),
                "done": rows.filter(text__contains="1% 'done'"),
                "none": rows.none(),
                "of nothing": rows.filter(pk__in=[]),
            }
        )
    assert found == {"all": 5, "errors": 2, "done": 2, "none": 0, "of nothing": 0}
    assert len(asked) == 1


def test_nothing_is_asked_where_nothing_can_be_there(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert badge_counts({}) == {}
        assert badge_counts({"none": LogEntry.objects.none()}) == {"none": 0}


def test_no_more_are_counted_than_a_badge_says(db, monkeypatch):
    monkeypatch.setattr(counting, "BADGE_MOST", 3)
    lines(3, "info")
    assert badge_counts({"all": LogEntry.objects.all()}) == {"all": 3}
    lines(4, "info")
    assert badge_counts({"all": LogEntry.objects.all()}) == {"all": 4}
    assert [badge_text(count) for count in (0, 3, 4, 12)] == ["0", "3", "3+", "3+"]
