"""What-ifs: what is read of the past, what is refused, and that a try always comes to an end."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.scheduling.models import Allocation, QueueWindow, Reservation, WhatIf, Workload
from apps.scheduling.selectors.forecasts import what_if
from apps.scheduling.selectors.forecasts.what_if import kept_read, past_read, what_if_reckon
from apps.scheduling.services.cycle.what_ifs import what_if_ask, what_if_begin
from apps.scheduling.services.queues.queue_settings import (
    queue_change,
    queue_ensure,
    queue_make,
    queue_remove,
)
from apps.scheduling.states import WhatIfState
from apps.scheduling.tasks import what_if_run, what_ifs_sweep
from tests.apps.scheduling.pool import node_make, submit

pytestmark = pytest.mark.django_db
FAIR = {"policy": {"ordering": "fair_share"}}


@pytest.fixture
def node(db):
    return node_make(devices=2)


def was(tenant, *, ago_h, waited_h=0.0, ran_h=1.0, **more):
    """Work that was submitted, started and ended so many hours ago; `ran_h` None: it still runs."""
    fields = {name: more.pop(name) for name in ("min_shares", "kind", "queue") if name in more}
    row = submit(tenant, **more)
    made = timezone.now() - timedelta(hours=ago_h)
    started = made + timedelta(hours=waited_h)
    ended = None if ran_h is None else started + timedelta(hours=ran_h)
    state = "running" if ended is None else "finished"
    Workload.plain.filter(pk=row.pk).update(
        created_at=made, started_at=started, ended_at=ended, state=state, **fields
    )
    return Workload.plain.get(pk=row.pk)


def read(days=1):
    until = timezone.now()
    return {each.request.id: each for each in past_read(until - timedelta(days=days), until)}


@pytest.mark.req("ELA-103")
def test_the_past_holds_what_was_there_before_and_what_a_session_and_elastic_work_are(acme, node):
    over = was(acme, ago_h=60, ran_h=10)
    before = was(acme, ago_h=30, ran_h=10)
    still = was(acme, ago_h=2, ran_h=None, kind="session")
    wide = was(acme, ago_h=5, ran_h=1, shares=2, min_shares=1)
    cancelled = submit(acme)
    Workload.plain.filter(pk=cancelled.pk).update(ended_at=timezone.now(), state="finished")
    device = node.devices.first()
    for from_s, to_s in ((0, 3600), (1800, 3600)):
        part = Allocation.objects.create(
            workload=wide, device=device, compute_percent=50, memory_mib=1024, slice_uid=uuid4(), state="released",
            released_at=wide.started_at + timedelta(seconds=to_s),
        )  # fmt: skip
        Allocation.objects.filter(pk=part.pk).update(created_at=wide.started_at + timedelta(seconds=from_s))
    found = read()
    assert set(found) == {str(before.uid), str(still.uid), str(wide.uid)}
    assert str(over.uid) not in found
    carried = found[str(before.uid)]
    # Of ten hours it ran four within the last day.
    assert carried.carried
    assert abs(carried.runs_s - 4 * 3600) < 60
    assert found[str(still.uid)].movable
    assert not found[str(still.uid)].carried
    # One share for the hour and one for half of it.
    assert found[str(wide.uid)].share_seconds == 5400


@pytest.mark.req("ELA-103", "ELA-305")
def test_the_past_holds_the_reservations_of_its_time(acme, node):
    now = timezone.now()

    def kept(name, from_h, to_h, **more):
        row = Reservation.objects.create(
            name=name, tenant=acme, count=1, from_at=now + timedelta(hours=from_h), to_at=now + timedelta(hours=to_h)
        )  # fmt: skip
        Reservation.objects.filter(pk=row.pk).update(created_at=now - timedelta(hours=40), **more)
        return str(row.uid)

    inside = kept("inside", -10, -5)
    kept("before", -30, -26)
    kept("to come", 5, 6)
    called_off = kept("called off", -10, -5, cancelled_at=now - timedelta(hours=8))
    kept("called off before", -10, -5, cancelled_at=now - timedelta(hours=30))
    found = {each.reservation.id: each for each in kept_read(now - timedelta(days=1), now)}
    assert set(found) == {inside, called_off}
    assert found[called_off].gone_s == int((now - timedelta(hours=8)).timestamp())


def test_work_of_a_queue_that_is_gone_is_judged_in_the_default_one(acme, node):
    gone = queue_make(actor=SYSTEM, code="gone", name_en="Gone", name_zh="旧", changes={})
    row = was(acme, ago_h=3, queue=gone)
    queue_remove(actor=SYSTEM, queue=gone)
    assert read()[str(row.uid)].request.queue_id == "default"


@pytest.mark.req("ELA-103")
def test_windows_are_those_of_the_days_that_are_replayed(acme, node):
    """Ten days back the queue was closed on each day but the last: what came first waits for that one."""
    queue = queue_ensure(actor=SYSTEM)
    first = was(acme, ago_h=9 * 24, percent=10)
    open_at = timezone.localtime(first.created_at) + timedelta(days=3)
    QueueWindow.objects.create(queue=queue, weekday=open_at.weekday(), from_minute=0, to_minute=1440)
    result = what_if_reckon(10, {})
    wait_s = {each["name"]: each for each in result["figures"]}["wait_p50_s"]["before"]
    midnight = open_at.replace(hour=0, minute=0, second=0, microsecond=0)
    assert abs(wait_s - (midnight - first.created_at).total_seconds()) < 120


@pytest.mark.req("ELA-103")
def test_waiting_use_fairness_and_money_are_compared(acme, globex, node):
    for index in range(4):
        was(acme, ago_h=6 + index / 100, waited_h=1, percent=100)
        was(globex, ago_h=6, waited_h=2, percent=100)
    found = what_if_reckon(1, {})
    assert found["submissions"] == 8
    names = {each["name"] for each in found["figures"]}
    assert names >= {"wait_p95_s", "use_percent", "jain_permille", "money", "lost_money", "resizes", "moves"}
    assert all(each["before"] == each["after"] for each in found["figures"])
    assert {each["tenant"]: each["submissions"] for each in found["tenants"]} == {"acme": 4, "globex": 4}
    assert all(set(each["money"]) == {"before", "after"} for each in found["tenants"])


def test_more_than_can_be_replayed_is_refused_and_says_what_to_do(acme, node, monkeypatch):
    monkeypatch.setattr(what_if, "MOST_SUBMISSIONS", 2)
    for hours in (1, 2, 30):
        was(acme, ago_h=hours)
    made = what_if_ask(actor=SYSTEM, name="a day", days=1, changes=FAIR)
    assert made.state == WhatIfState.WAITING
    with pytest.raises(InvalidInput) as refused:
        what_if_ask(actor=SYSTEM, name="two days", days=2, changes=FAIR)
    assert "More than 2 submissions" in str(refused.value.message)
    assert refused.value.cure
    for days in (0, what_if.MOST_DAYS + 1):
        with pytest.raises(InvalidInput) as refused:
            what_if_ask(actor=SYSTEM, name="x", days=days, changes=FAIR)
        assert refused.value.fields == {"days": f"1 to {what_if.MOST_DAYS}"}
    assert WhatIf.objects.count() == 1


def test_a_try_that_takes_too_long_ends_and_is_not_begun_again(acme, node, monkeypatch):
    was(acme, ago_h=1)
    row = what_if_ask(actor=SYSTEM, name="long", days=1, changes=FAIR)
    monkeypatch.setattr(what_if, "BUDGET_S", -1)
    what_if_run(str(row.uid))
    row.refresh_from_db()
    assert row.state == WhatIfState.FAILED
    assert "minutes" in row.error
    assert what_ifs_sweep() == 0


def test_whatever_goes_wrong_is_told_once(acme, node, monkeypatch):
    row = what_if_ask(actor=SYSTEM, name="broken", days=1, changes=FAIR)
    monkeypatch.setattr("apps.scheduling.tasks.what_if_reckon", lambda days, rules: 1 / 0)
    what_if_run(str(row.uid))
    row.refresh_from_db()
    assert (row.state, "ZeroDivisionError" in row.error) == (WhatIfState.FAILED, True)


def test_a_try_whose_worker_died_is_begun_by_another_and_only_by_one(acme, node):
    row = what_if_ask(actor=SYSTEM, name="died", days=1, changes=FAIR)
    assert what_if_begin(actor=SYSTEM, uid=row.uid) is not None
    assert what_if_begin(actor=SYSTEM, uid=row.uid) is None
    WhatIf.objects.update(began_at=timezone.now() - timedelta(minutes=31))
    assert what_if_begin(actor=SYSTEM, uid=row.uid) is not None


def test_what_is_tried_does_not_touch_what_is(acme, node):
    queue = queue_ensure(actor=SYSTEM)
    queue_change(actor=SYSTEM, queue=queue, changes={"weight": 3})
    changes = {"queues": {"default": {"weight": 9}}, "quotas": {"acme": {"compute_percent": 7}}}
    row = what_if_ask(actor=SYSTEM, name="weights", days=1, changes=changes)
    rules = what_if_begin(actor=SYSTEM, uid=row.uid)
    assert rules["queues"][0].weight == 9
    assert dict(rules["tenant_quotas"])["acme"].nominal.compute_percent == 7
    queue.refresh_from_db()
    assert queue.weight == 3
