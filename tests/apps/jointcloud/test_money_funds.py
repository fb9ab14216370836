"""What a job costs is set aside before it is sent, as for any work; without money it waits, and in the end it stops."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.conf import settings
from django.utils import timezone

from apps.billing.models import Charge, FundsHold, RatedItem, UsageRecord
from apps.billing.selectors.accounts import funds_due, funds_due_jobs
from apps.billing.services.bills import bill_make
from apps.billing.services.ledger import account_deposit, credit_limit_set
from apps.billing.services.rating import usage_rated
from apps.billing.services.usage import usage_record
from apps.catalog.models import PriceVersion
from apps.centers.models import RemoteTask
from apps.centers.states import RemoteState
from apps.jointcloud.models import Replica, Task
from apps.jointcloud.selectors.costs import job_cost
from apps.jointcloud.services.accounting import money_sweep
from apps.jointcloud.services.submission import job_submit
from apps.kernel.actor import SYSTEM
from apps.notices.models import Message
from tests.apps.billing.scene import AGENT, charge_make, usage
from tests.apps.catalog.market import commodity_make
from tests.apps.jointcloud.jobs import TASK, asked, attempts, cycle, fresh, other, say
from tests.apps.jointcloud.money import ran, sent, settle, tell

pytestmark = [pytest.mark.django_db, pytest.mark.req("ELA-1911")]


@pytest.fixture
def submit(acme, member):
    person = member("acme", "tenant_front_line")
    return lambda *tasks, **more: sent(person, acme, *tasks, **more)


def only(acme, amount: str) -> None:
    """All that acme has to spend."""
    credit_limit_set(actor=SYSTEM, tenant=acme, amount=Decimal(0), reason="a test of money")
    if Decimal(amount):
        account_deposit(actor=SYSTEM, tenant=acme, amount=Decimal(amount), reference="once")


def test_without_money_a_job_waits_and_says_so_and_goes_on_with_it(submit, spec, centre, acme):
    centre("lake", spec())
    only(acme, "0")
    job = submit(ago_s=5)
    assert not attempts(job)
    assert not RemoteTask.objects.exists()
    assert not FundsHold.plain.exists()
    assert Task.objects.get().waits_for[0][0] == "funds_too_low"
    account_deposit(actor=SYSTEM, tenant=acme, amount=Decimal(1000), reference="more")
    assert cycle().placed == 1
    hold = FundsHold.plain.get()
    assert (hold.hourly, hold.shares) == (Decimal(5), 1)
    assert hold.amount > 0


def test_a_job_without_money_takes_no_room_from_one_that_has_it(acme, globex, member, spec, centre):
    centre("lake", spec(), used_gpu=7)
    only(acme, "0")
    poor, rich = (
        job_submit(
            actor=member(tenant.schema_name, "tenant_front_line").actor, tenant=tenant, asked=asked(TASK)
        )
        for tenant in (acme, globex)
    )
    done = cycle()
    assert (done.placed, done.waiting) == (1, 1)
    assert not attempts(poor)
    assert len(attempts(rich)) == 1
    assert Task.objects.get(job=poor).waits_for[0][0] == "funds_too_low"
    assert Task.objects.get(job=rich).waits_for == []


def test_money_is_set_aside_for_each_replica_and_given_back_as_they_end(submit, spec, centre):
    centre("lake", spec())
    job = submit(other("train", replicas=3))
    hold = FundsHold.plain.get()
    assert (hold.hourly, hold.shares) == (Decimal(15), 3)
    rows = attempts(job)
    ran(rows[0], 100)
    assert FundsHold.plain.get().hourly == Decimal(10)
    for row in rows[1:]:
        ran(row, 100)
    for row in rows:
        tell(RemoteTask.objects.get(key=row.key), seconds=100)
        settle(row)
    hold.refresh_from_db()
    assert hold.amount == hold.used == sum(RatedItem.objects.values_list("exact", flat=True))
    assert Charge.plain.get().state == "closed"


def test_when_the_account_gives_no_more_the_job_is_told_and_then_stopped(submit, spec, centre, acme):
    centre("lake", spec())
    job = submit(ago_s=5)
    (row,) = attempts(job)
    say(row, RemoteState.RUNNING)
    only(acme, "0")
    # It has run for so long that nothing of what was set aside is left.
    Replica.objects.filter(pk=row.pk).update(seen_from=timezone.now() - timedelta(days=30))
    FundsHold.plain.update(check_at=timezone.now() - timedelta(seconds=1))
    assert funds_due(10) == []
    assert [job_id for _uid, job_id in funds_due_jobs(10)] == [job.job_id]
    money_sweep(actor=SYSTEM)
    assert FundsHold.plain.get().short_since is not None
    assert fresh(job).stop_asked_at is None
    grace = timedelta(seconds=settings.WEIR_FUNDS_GRACE_S + 1)
    FundsHold.plain.update(short_since=timezone.now() - grace, check_at=timezone.now())
    money_sweep(actor=SYSTEM)
    assert fresh(job).stop_asked_at is not None
    assert RemoteTask.objects.get().desired == "stop"
    assert ["about to be stopped" in each.msgid for each in Message.objects.order_by("pk")] == [True, False]


def test_a_job_is_rounded_as_a_slice_is(submit, spec, centre, acme):
    """The same price for the same seconds, once by a centre and once by an agent: the same to the last place."""
    centre("lake", spec(price_minor=333), offer={"cost_minor": 1})
    job = submit()
    (row,) = attempts(job)
    tell(ran(row, 777), seconds=777)
    settle(row)
    theirs = RatedItem.objects.get()
    charge = charge_make(acme, commodity=commodity_make())
    version = PriceVersion.objects.get(network_spec="gpu1")
    # A slice's charge at the very prices of the specification: rated and billed by what rates and bills slices.
    slice_charge = Charge.plain.create(
        tenant=acme,
        order_no="W-1",
        workload_uid="00000000-0000-0000-0000-00000000abcd",
        price_version=version,
        amounts={"network_replica": 1},
        count=1,
        opened_at=charge.opened_at,
    )
    FundsHold.plain.create(tenant=acme, charge=slice_charge, amount=0, hourly=Decimal("3.33"), shares=1)
    report = usage(slice_charge.opened_at + timedelta(seconds=60), 777, slice_uid="s-same")
    usage_record(actor=AGENT, workload_uid=slice_charge.workload_uid, reports=[report])
    record = UsageRecord.plain.select_related("charge__funds", "tenant").get(slice_uid="s-same")
    usage_rated([record], actor=SYSTEM)
    ours = RatedItem.objects.get(usage=record)
    assert (ours.exact, ours.unit_amount, ours.seconds) == (theirs.exact, theirs.unit_amount, theirs.seconds)
    lines = bill_make(actor=SYSTEM, tenant=acme).lines.order_by("pk")
    assert len({(line.exact, line.amount, line.share_seconds) for line in lines}) == 1
    assert lines.count() == 2


def test_what_a_job_costs_so_far_is_what_is_settled_and_what_was_seen(submit, spec, centre):
    centre("lake", spec())
    job = submit(other("train", replicas=2))
    first, second = attempts(job)
    tell(ran(first, 720), seconds=720)
    settle(first)
    ran(second, 360, ago_s=0, state=RemoteState.RUNNING)
    cost = job_cost(fresh(job), Replica.objects.get(pk=second.pk).seen_from + timedelta(seconds=360))
    assert (cost.charged, cost.expected, cost.own_pool) == (Decimal(1), Decimal("0.5"), 0)


@pytest.mark.req("JC-6.4-5")
def test_in_our_own_pool_the_pool_charges_and_the_job_does_not(submit, spec, centre):
    own = centre("own", spec(), kind="local")
    job = submit(TASK)
    (row,) = attempts(job)
    assert row.ai_center_id == own.ai_center_id
    assert row.charge_uid is None
    assert not Charge.plain.filter(job_id=job.job_id).exists()
    task = ran(row, 100)
    assert tell(task) == ""
    settle(row)
    money_sweep(actor=SYSTEM)
    assert not UsageRecord.plain.exists()
    assert not RatedItem.objects.exists()
