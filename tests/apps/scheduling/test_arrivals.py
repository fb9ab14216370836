"""The mix of arrivals that FRAGMENTATION keeps room for: whole days, each kind with its count."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.scheduling.engine.resources.workload_mix import Typical
from apps.scheduling.models import Workload
from apps.scheduling.selectors.queues.arrivals import mix_read
from apps.scheduling.services.queues.queue_settings import queue_ensure
from tests.apps.scheduling.test_cycles import submit

pytestmark = pytest.mark.req("ELA-704")


def came(row, day: date):
    at = datetime.combine(day, time(12), UTC)
    Workload.plain.filter(pk=row.pk).update(created_at=at)


def test_each_kind_counts_as_often_as_it_came_in_the_last_two_weeks(db, acme):
    queue_ensure(actor=SYSTEM)
    today = timezone.now().astimezone(UTC).date()
    for days, percent in ((1, 25), (2, 25), (14, 50), (15, 75), (0, 10)):
        came(submit(acme, percent=percent, mib=64), today - timedelta(days=days))
    assert mix_read(today) == (Typical(25, count=2), Typical(50, count=1))
