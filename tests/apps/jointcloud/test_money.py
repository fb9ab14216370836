"""What a job at centres used is charged to its tenant and owed to the centre, once, by the path that bills a slice."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from apps.billing.models import Charge, FundsHold, RatedItem, UsageRecord
from apps.billing.services.bills import bill_make
from apps.centers.models import Center, CenterUsage, RemoteTask
from apps.centers.services.accounts import usage_untold
from apps.centers.services.following import remote_task_lose
from apps.centers.states import RemoteState
from apps.jointcloud.models import Job, Replica, Settlement
from apps.jointcloud.services.accounting import money_sweep
from apps.jointcloud.services.following import job_follow
from apps.kernel.actor import SYSTEM
from tests.apps.jointcloud.jobs import attempts, fresh, other, say
from tests.apps.jointcloud.money import owed, ran, sent, settle, tell

pytestmark = [pytest.mark.django_db, pytest.mark.req("JC-6.6.1d", "PLAT-OPS-38")]


@pytest.fixture
def submit(acme, member):
    """Submit a job of acme's, and give it to its centres, so long ago."""
    person = member("acme", "tenant_front_line")
    return lambda *tasks, **more: sent(person, acme, *tasks, **more)


@pytest.fixture
def lake(spec, centre):
    """A centre that asks 5 CNY for an hour and gets 3 of it."""
    return centre("lake", spec(), offer={"cost_minor": 300})


def test_the_bill_of_the_tenant_says_what_the_job_used(submit, lake, acme):
    job = submit(other("train", replicas=2))
    for row, seconds in zip(attempts(job), (1000, 801), strict=True):
        assert tell(ran(row, seconds)) == ""
        found = settle(row)
        assert (found.settled_by, found.seconds, found.owed_seconds) == ("told", seconds, seconds)
    bill = bill_make(actor=SYSTEM, tenant=acme)
    line = bill.lines.get()
    # Two replicas at one price are one line: 1801 s at 5 CNY an hour are 2.50138…, of which the cent is rounded once.
    assert (line.share_seconds, line.unit_amount, line.amount) == (1801, Decimal(5), Decimal("2.50"))
    assert (line.charge.job_id, line.charge.work_name, line.charge.supplier) == (
        job.job_id, "night run", "Centre lake",
    )  # fmt: skip
    assert line.charge.person
    assert line.charge.state == "closed"
    assert owed() == Decimal("1.5008333333")
    assert [row.raw for row in CenterUsage.objects.all()] == ['{"elapsed": 1}'] * 2
    hold = FundsHold.plain.get()
    assert (hold.amount, hold.used) == (hold.used, hold.billed)
    assert hold.ended_at is not None


def test_told_twice_and_settled_twice_it_is_charged_once(submit, lake):
    job = submit()
    (row,) = attempts(job)
    task = ran(row, 600)
    assert tell(task) == tell(task) == ""
    settle(row)
    assert settle(row).amount == Decimal("0.8333333333")
    assert (UsageRecord.plain.count(), RatedItem.objects.count(), Settlement.plain.count()) == (1, 1, 1)
    assert owed() == Decimal("0.5")


def test_what_cannot_be_true_is_counted_and_charged_to_nobody(submit, lake):
    job = submit()
    (row,) = attempts(job)
    task = ran(row, 600)
    lies = [
        ({"seconds": 36_000}, "before it was sent"),
        ({"seconds": 1400}, "longer than the time"),
        ({"shift_s": 3600}, "after it was seen to be over"),
        ({"native_id": "n0"}, "it is of n0"),
        ({"seconds": -5}, "ended before it began"),
    ]
    for lie, words in lies:
        assert words in tell(task, **lie)
    assert Center.objects.get().disbelieved_count == len(lies)
    assert settle(row) is None
    usage_untold(actor=SYSTEM, pk=task.pk)
    found = settle(row)
    assert (found.settled_by, found.seconds, found.owed) == ("doubted", 0, 0)
    assert not UsageRecord.plain.exists()
    assert owed() == 0
    assert CenterUsage.objects.count() == len(lies)


def test_another_story_later_changes_nothing(submit, lake):
    job = submit()
    (row,) = attempts(job)
    task = ran(row, 600)
    assert tell(task, seconds=590) == ""
    assert "otherwise" in tell(task, seconds=600)
    assert settle(row).seconds == 590


def test_where_no_account_is_told_what_the_portal_saw_counts(submit, lake):
    job = submit()
    (row,) = attempts(job)
    task = ran(row, 600)
    assert settle(row) is None
    usage_untold(actor=SYSTEM, pk=task.pk)
    found = settle(row)
    assert (found.settled_by, found.seconds, found.amount) == ("seen", 600, Decimal("0.8333333333"))


def seen_late(job, row, *, ended_ago):
    """The portal sees now that it ended some time ago, by the engine's word."""
    task = ran(row, 1000, ago_s=0, state=RemoteState.RUNNING)
    now = timezone.now()
    RemoteTask.objects.filter(pk=task.pk).update(state="succeeded", state_at=now, ended_at=now - ended_ago)
    job_follow(actor=SYSTEM, job_id=job.job_id)
    return task


def test_while_nobody_looked_no_more_is_charged_than_the_engine_says(submit, lake):
    job = submit()
    (row,) = attempts(job)
    task = seen_late(job, row, ended_ago=timedelta(seconds=400))
    usage_untold(actor=SYSTEM, pk=task.pk)
    found = settle(row)
    assert found.settled_by == "seen"
    assert 599 <= found.seconds <= 601


def test_the_accounts_are_waited_for_by_our_own_clock(submit, lake):
    """A centre's clock that is days behind makes nothing old."""
    job = submit()
    (row,) = attempts(job)
    task = seen_late(job, row, ended_ago=timedelta(days=3))
    assert settle(row) is None
    usage_untold(actor=SYSTEM, pk=task.pk)
    # Its word is not believed where it cannot be: what the portal saw counts.
    assert settle(row).seconds in (999, 1000, 1001)


@pytest.mark.req("JC-6.5-2")
def test_what_a_lost_replica_ran_on_for_is_ours_and_not_the_tenants(submit, lake, spec, centre):
    job = submit()
    (row,) = attempts(job)
    task = ran(row, 1000, ago_s=0, state=RemoteState.RUNNING)
    remote_task_lose(actor=SYSTEM, pk=task.pk, cause="gone")
    job_follow(actor=SYSTEM, job_id=job.job_id)
    (row,) = attempts(job)
    assert row.lost_at is not None
    Replica.objects.filter(pk=row.pk).update(lost_at=task.running_at + timedelta(seconds=400))
    task.refresh_from_db()
    end = timezone.now().replace(microsecond=0)
    begun = task.running_at.replace(microsecond=0)
    assert tell(task, started_at=begun, ended_at=end) == ""
    found = settle(row)
    assert found.owed_seconds == int((end - begun).total_seconds()) >= 1000
    assert found.seconds == 400
    assert owed() == found.owed > 0


def test_a_lost_replica_of_which_nobody_tells_costs_nothing(submit, lake):
    job = submit()
    (row,) = attempts(job)
    task = ran(row, 1000, state=RemoteState.RUNNING)
    remote_task_lose(actor=SYSTEM, pk=task.pk, cause="gone")
    job_follow(actor=SYSTEM, job_id=job.job_id)
    usage_untold(actor=SYSTEM, pk=task.pk)
    found = settle(row)
    assert (found.settled_by, found.seconds, found.owed_seconds) == ("unknown", 0, 0)


def test_a_refused_attempt_is_settled_as_nothing_and_its_money_is_given_back(submit, lake):
    job = submit()
    (row,) = attempts(job)
    assert FundsHold.plain.get().amount > 0
    say(row, RemoteState.REFUSED, "no")
    usage_untold(actor=SYSTEM, pk=RemoteTask.objects.get(key=row.key).pk)
    assert settle(row).settled_by == "not_run"
    assert FundsHold.plain.get().amount == 0
    assert fresh(job).state == "pending"
    assert Charge.plain.get().state == "open"


def test_long_use_is_cut_into_days_and_costs_the_same(submit, lake, acme):
    seconds = 3 * 86_400 + 7
    job = submit(ago_s=seconds + 60)
    (row,) = attempts(job)
    tell(ran(row, seconds))
    assert settle(row).seconds == seconds
    assert list(UsageRecord.plain.order_by("seq").values_list("seconds", flat=True)) == [86_400] * 3 + [7]
    assert bill_make(actor=SYSTEM, tenant=acme).total == Decimal("360.01")


def test_the_sweep_settles_what_no_event_told(submit, lake):
    job = submit()
    (row,) = attempts(job)
    tell(ran(row, 60))
    money_sweep(actor=SYSTEM)
    assert Settlement.plain.get().seconds == 60
    assert Charge.plain.get().state == "closed"


def test_settlements_and_what_centres_told_are_kept_for_good(submit, lake):
    job = submit()
    (row,) = attempts(job)
    tell(ran(row, 60))
    settle(row)
    for model in (CenterUsage.objects, Settlement.plain):
        for act in (lambda rows: rows.update(key="x"), lambda rows: rows.all().delete()):
            with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
                act(model)
    assert Job.plain.exists()
