"""Policies that scale elastic work: by queue depth, by utilisation, by time window (ELA-907), with rest between
(ELA-908)."""

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.utils import timezone

from apps.fleet.models import Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import Conflict, InvalidInput, NotFound
from apps.scheduling.models import Queue, ScalingRule, Workload, WorkloadSize
from apps.scheduling.selectors.scaling import Seen, Standing, target_shares
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import policy_set
from apps.scheduling.services.scaling import (
    MOST_RULES,
    queue_rule_make,
    queue_rule_remove,
    scaling_rules_apply,
    work_rule_make,
    work_rule_remove,
)
from apps.scheduling.services.workloads.submission.submit import workload_request
from tests.apps.scheduling.test_bulk import ASKED, one
from tests.apps.scheduling.test_elastic_size import acme_ready, confirm, leaves
from tests.apps.scheduling.test_shell import parts, runs

__all__ = ["acme_ready"]
pytestmark = pytest.mark.req("ELA-907", "ELA-2208")
NOON = datetime(2126, 11, 20, 12, tzinfo=ZoneInfo(settings.TIME_ZONE))
"""A Wednesday, long after anything else in these tests."""
WORKDAYS = [(day, 8 * 60, 18 * 60) for day in range(5)]


@pytest.fixture
def default_queue(acme_ready):
    policy_set(actor=SYSTEM, changes={"hysteresis_s": 0})
    return Queue.objects.get(code="default")


def used(row, percent):
    """Its shares really use so much of what they hold."""
    for part in Slice.plain.filter(workload_uid=row.uid, final_at=None):
        Slice.plain.filter(pk=part.pk).update(
            delivered_percent=part.compute_percent * percent / 100, measured_at=timezone.now()
        )


def follow(row, at=None):
    scaling_rules_apply(actor=SYSTEM, now=at)
    row.refresh_from_db()
    leaves(row)
    confirm(row, 0)
    return row.wanted_shares, len(parts(row))


def passes(row):
    """A pass of the scheduler, and what it placed runs."""
    cycle_run(actor=SYSTEM)
    runs(row)
    confirm(row, 0)
    return len(parts(row))


# --- one test per policy -----------------------------------------------------------------------------------------


def test_by_queue_depth_work_gives_way_to_what_waits_and_grows_when_the_queue_is_empty(
    acme_ready, default_queue
):
    given = {"by": "queue_depth", "low": 0, "high": 2, "step": 2, "cooldown_s": 0}
    queue_rule_make(actor=SYSTEM, queue=default_queue, given=given)
    row = one(acme_ready, shares=4, min_shares=1)
    big = replace(ASKED, compute_percent=100, shares=2)
    waiting = [workload_request(actor=SYSTEM, tenant=acme_ready, asked=big) for _number in range(2)]
    assert follow(row) == (2, 2)
    assert follow(row) == (1, 1), "never below its least"
    Workload.plain.filter(pk__in=[each.pk for each in waiting]).update(state="suspended")
    assert follow(row) == (3, 1)
    assert passes(row) == 3, "it grows as far as its rules wish"


def test_by_utilisation_idle_work_shrinks_and_busy_work_grows(acme_ready, default_queue):
    row = one(acme_ready, shares=4, min_shares=1)
    given = {"by": "utilisation", "low": 30, "high": 80, "cooldown_s": 0}
    work_rule_make(actor=SYSTEM, tenant=acme_ready, workload_uid=row.uid, given=given)
    assert follow(row) == (4, 4), "nothing was measured yet"
    used(row, 20)
    assert follow(row) == (3, 3)
    used(row, 55)
    assert follow(row) == (3, 3), "between low and high it stays"
    used(row, 95)
    assert follow(row) == (4, 3)
    assert passes(row) == 4


def test_by_time_window_work_is_small_in_the_day_and_large_at_night(acme_ready, default_queue):
    given = {"by": "window", "shares": 2, "windows": WORKDAYS, "cooldown_s": 0}
    queue_rule_make(actor=SYSTEM, queue=default_queue, given=given)
    row = one(acme_ready, shares=4, min_shares=1)
    assert len(parts(row)) == 4
    assert follow(row, NOON) == (2, 2)
    assert passes(row) == 2
    assert follow(row, NOON + timedelta(hours=8)) == (None, 2)
    assert passes(row) == 4


def test_work_that_waits_starts_no_larger_than_its_window_says(acme_ready, default_queue):
    given = {"by": "window", "shares": 2, "windows": WORKDAYS, "cooldown_s": 0}
    queue_rule_make(actor=SYSTEM, queue=default_queue, given=given)
    asked = replace(ASKED, compute_percent=50, shares=4, min_shares=1)
    row = workload_request(actor=SYSTEM, tenant=acme_ready, asked=asked)
    scaling_rules_apply(actor=SYSTEM, now=NOON)
    assert passes(row) == 2


# --- rest between ------------------------------------------------------------------------------------------------


def rule(**changes):
    given = {"by": "utilisation", "low": 30, "high": 80, "step": 1, "cooldown_s": 300}
    return ScalingRule(**(given | changes))


def standing(**changes):
    return Standing(**({"least": 1, "most": 8, "shares": 4, "target": 4, "changed_at": None} | changes))


@pytest.mark.req("ELA-908")
def test_a_rule_rests_between_two_changes():
    busy = Seen(0, 95.0, NOON)
    assert target_shares([rule()], standing(changed_at=NOON - timedelta(seconds=299)), busy) == 4
    assert target_shares([rule()], standing(changed_at=NOON - timedelta(seconds=300)), busy) == 5


@pytest.mark.req("ELA-908")
def test_noisy_input_does_not_make_work_swing():
    """Use that jumps between idle and busy each 5 s changes the size once a rest, not once a look."""
    now, state, changes = NOON, standing(), 0
    for look in range(240):
        now += timedelta(seconds=5)
        wanted = target_shares([rule()], state, Seen(0, 10.0 if look % 2 else 95.0, now))
        if wanted != state.target:
            changes += 1
            state = standing(shares=wanted, target=wanted, changed_at=now)
    assert changes == 4


def test_a_rule_that_shrinks_outweighs_one_that_grows():
    deep = rule(by="queue_depth", low=0, high=5, grows_when_high=False)
    assert target_shares([rule(), deep], standing(), Seen(9, 95.0, NOON)) == 3


def test_a_window_bounds_what_the_others_wish():
    window = rule(by="window", shares=2, windows=WORKDAYS)
    assert target_shares([rule(), window], standing(), Seen(0, 95.0, NOON)) == 2
    assert target_shares([rule(), window], standing(), Seen(0, 95.0, NOON - timedelta(hours=8))) == 5


@pytest.mark.parametrize(("used_percent", "wanted"), [(0.0, 1), (100.0, 8)])
def test_the_wish_stays_between_least_and_most(used_percent, wanted):
    assert target_shares([rule(step=20)], standing(), Seen(0, used_percent, NOON)) == wanted


# --- who sets them -----------------------------------------------------------------------------------------------


def test_work_whose_last_rule_is_gone_is_bound_no_more(acme_ready, default_queue):
    given = {"by": "window", "shares": 2, "windows": WORKDAYS, "cooldown_s": 0}
    row = one(acme_ready, shares=4, min_shares=1)
    made = work_rule_make(actor=SYSTEM, tenant=acme_ready, workload_uid=row.uid, given=given)
    follow(row, NOON)
    work_rule_remove(actor=SYSTEM, tenant=acme_ready, workload_uid=row.uid, uid=made.uid)
    assert follow(row, NOON) == (None, 2)
    assert "rule" in row.decisions.filter(kind="scaled").values_list("code", flat=True)
    assert WorkloadSize.objects.get(workload=row).target_changed_at == NOON


@pytest.mark.parametrize(
    "given",
    [
        {"by": "moon"},
        {"by": "utilisation", "low": 80, "high": 30},
        {"by": "utilisation", "low": 30},
        {"by": "queue_depth", "low": 0, "high": 1, "step": 0},
        {"by": "window", "shares": 2},
        {"by": "window", "windows": WORKDAYS},
        {"by": "window", "shares": 2, "windows": [(0, 60, 60)]},
        {"by": "window", "shares": 9, "windows": WORKDAYS},
        {"by": "window", "shares": 2, "windows": WORKDAYS, "queue_id": 1},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(acme_ready, given):
    row = one(acme_ready, shares=4, min_shares=1)
    with pytest.raises(InvalidInput):
        work_rule_make(actor=SYSTEM, tenant=acme_ready, workload_uid=row.uid, given=given)
    assert not ScalingRule.objects.exists()


def test_rules_are_for_elastic_work_of_ones_own_and_not_too_many(acme_ready, globex, default_queue):
    given = {"by": "utilisation", "low": 30, "high": 80}
    rigid = one(acme_ready)
    with pytest.raises(Conflict):
        work_rule_make(actor=SYSTEM, tenant=acme_ready, workload_uid=rigid.uid, given=given)
    row = one(acme_ready, shares=2, min_shares=1)
    with pytest.raises(NotFound):
        work_rule_make(actor=SYSTEM, tenant=globex, workload_uid=row.uid, given=given)
    for _number in range(MOST_RULES):
        made = work_rule_make(actor=SYSTEM, tenant=acme_ready, workload_uid=row.uid, given=given)
    with pytest.raises(Conflict):
        work_rule_make(actor=SYSTEM, tenant=acme_ready, workload_uid=row.uid, given=given)
    with pytest.raises(NotFound):
        queue_rule_remove(actor=SYSTEM, queue=default_queue, uid=made.uid)
