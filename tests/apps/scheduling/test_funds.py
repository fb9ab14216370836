"""Work and its money: refused, topped up, put aside when nothing is left, and resumed by hand."""

from datetime import timedelta
from decimal import Decimal
from unittest.mock import patch

import pytest
from django.utils import timezone

from apps.billing.errors import FundsTooLow
from apps.billing.models import FundsHold
from apps.billing.selectors.accounts import account_get, funds_of
from apps.billing.services.charges import charge_open
from apps.billing.services.funds import funds_settle, funds_watch
from apps.billing.services.ledger import account_deposit, account_open
from apps.billing.services.rating import usage_rate
from apps.billing.services.usage import usage_record
from apps.billing.types import CostLabels
from apps.catalog.selectors.prices import quote_get
from apps.fleet.models import Slice
from apps.kernel.actor import SYSTEM
from apps.notices.models import Message
from apps.scheduling import tasks
from apps.scheduling.models import Workload
from apps.scheduling.selectors.timeline import timeline
from apps.scheduling.selectors.workloads import workload_reason
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from apps.scheduling.services.queues.queue_settings import direct_commodity_set, queue_ensure
from apps.scheduling.services.quota.quotas import quota_defaults, quota_set
from apps.scheduling.services.workload_control import (
    workload_requeue,
    workload_resume,
    workload_scale,
    workload_suspend,
)
from apps.scheduling.services.workloads.bulk import workload_submit_many
from apps.scheduling.services.workloads.resizing.resizing import workload_resize
from apps.scheduling.services.workloads.stopping import workload_stop
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.tasks import funds_sweep
from apps.scheduling.types import WorkloadRequest
from apps.tenancy.models import Tenant
from tests.apps.billing.scene import usage
from tests.apps.catalog.market import AMOUNTS, commodity_make
from tests.apps.catalog.racing import race
from tests.apps.scheduling.pool import submit as order_submit
from tests.apps.scheduling.working_node import WorkingNode

# 100 percent at 0.05 and 1 GiB at 0.50 an hour
HOURLY = Decimal("5.50")
API = "/api/v1/workloads"


@pytest.fixture
def pool(db, acme):
    queue_ensure(actor=SYSTEM)
    quota_defaults(actor=SYSTEM, tenant=acme)
    for item, total in {"instances": 100, "compute_percent": 10_000, "gpu_memory_mib": 10**6}.items():
        quota_set(actor=SYSTEM, tenant=acme, item=item, total=total)
    account_open(actor=SYSTEM, tenant=acme)
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    return WorkingNode(devices=2)


@pytest.fixture
def alice(pool, member):
    return member("acme", "tenant_front_line")


@pytest.fixture
def submit(alice, acme):
    def make(name="job", **more):
        return workload_request(actor=alice.actor, tenant=acme, asked=wanted(name, **more))

    return make


def wanted(name="job", **more):
    fields = {"compute_percent": 100, "memory_mib": 1024, **more}
    return WorkloadRequest(name=name, argv=() if fields.get("kind") == "session" else ("true",), **fields)


def pay_in(tenant, amount):
    account_deposit(
        actor=SYSTEM, tenant=tenant, amount=Decimal(amount), reference=f"r{timezone.now().timestamp()}"
    )


def spendable(tenant):
    return funds_of(account_get(tenant)).spendable


def running(node, row, seconds):
    """It runs since so long, and its node has not told of its use yet."""
    cycle_run(actor=SYSTEM)
    node.turn()
    node.ran(row, seconds)
    assert row.state == "running"


def sweep(row):
    """What is due, as if it were: its state then."""
    FundsHold.plain.filter(ended_at=None).update(check_at=timezone.now())
    assert funds_sweep() >= 1
    row.refresh_from_db()
    return row.state


@pytest.mark.req("ELA-1911")
def test_direct_work_that_the_account_cannot_bear_is_refused_with_cause_and_cure(pool, alice, acme):
    pay_in(acme, "10")
    api = alice.api()
    body = {"name": "job", "argv": ["true"], "compute_percent": 100, "memory_mib": 1024}
    assert api.post(API, body, format="json").status_code == 201
    answer = api.post(API, body, format="json")
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert error["code"] == "funds_too_low"
    assert "lacks ¥1.00" in error["message"]
    assert "credit" in error["cure"]
    assert Workload.objects.across().count() == 1
    # What says how long it runs needs less.
    assert api.post(API, {**body, "run_timeout_s": 60}, format="json").status_code == 201
    # On the page beside the form, too.
    page = alice.page()
    given = {**body, "kind": "program", "shares": 1, "queue": "default"}
    answer = page.post("/resources/submit/", {**given, "command": "true"})
    assert "lacks ¥1.55" in answer.content.decode()


@pytest.mark.req("ELA-1911")
def test_many_at_once_are_set_aside_together_all_or_none(pool, alice, acme):
    pay_in(acme, "16")
    with pytest.raises(FundsTooLow):
        workload_submit_many(actor=alice.actor, tenant=acme, asked=[wanted(f"j{n}") for n in range(3)])
    assert not Workload.objects.across().exists()
    workload_submit_many(actor=alice.actor, tenant=acme, asked=[wanted(f"j{n}") for n in range(2)])
    assert spendable(acme) == 5


@pytest.mark.req("ELA-1911")
def test_what_was_submitted_and_never_ran_gives_its_money_back(submit, acme):
    pay_in(acme, "10")
    row = submit()
    assert spendable(acme) == 10 - HOURLY
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=row.uid, reason="wrong")
    assert spendable(acme) == 10


@pytest.mark.req("ELA-1911")
def test_a_session_and_whole_cards_are_set_aside_too_the_cards_with_all_their_memory(submit, pool, acme):
    pay_in(acme, "100")
    submit("lab", kind="session")
    assert spendable(acme) == 100 - HOURLY
    row = submit("cards", compute_percent=None, memory_mib=None, whole_cards=True)
    # 5.00, and the 8 GiB of the largest card of the pool
    assert spendable(acme) == 100 - HOURLY - 9
    cycle_run(actor=SYSTEM)
    hold = FundsHold.plain.get(charge__workload_uid=row.uid)
    assert (hold.hourly, hold.amount) == (9, 9)


@pytest.mark.req("ELA-1911", "POOL-12.2")
def test_growing_is_refused_where_the_money_is_not_there(submit, acme, alice):
    pay_in(acme, "8")
    row = submit(compute_percent=50, min_shares=1)
    # 2.50 + 0.50
    assert spendable(acme) == 5
    act = {"actor": alice.actor, "tenant": acme, "workload_uid": row.uid}
    with pytest.raises(FundsTooLow):
        workload_scale(**act, shares=3)
    workload_scale(**act, shares=2)
    assert spendable(acme) == 2
    with pytest.raises(FundsTooLow):
        workload_resize(**act, compute_percent=100)
    row.refresh_from_db()
    assert (row.shares, row.compute_percent) == (2, 50)


@pytest.mark.req("ELA-1911")
def test_work_is_topped_up_then_told_then_put_aside_and_resumed_by_hand(submit, pool, acme, alice, settings):
    pay_in(acme, "5.50")
    row = submit()
    running(pool, row, 1000)
    assert sweep(row) == "running"
    hold = FundsHold.plain.get()
    assert hold.short_since is None
    running(pool, row, 3000)
    for _time in range(2):
        assert sweep(row) == "running"
    told = Message.objects.filter(user=alice.user).order_by("pk")
    assert [message.params["no"] for message in told.all()] == [row.no], "once"
    assert "is about to be put aside" in told[0].msgid
    FundsHold.plain.update(short_since=timezone.now() - timedelta(seconds=settings.WEIR_FUNDS_GRACE_S + 1))
    assert sweep(row) == "stopping"
    assert sweep(row) == "stopping", "again changes nothing"
    pool.turn()
    row.refresh_from_db()
    assert (row.state, row.reason_code) == ("suspended", "funds_used_up")
    assert "the money of the account is used up" in workload_reason(row)
    assert "put aside" in told[1].msgid
    line = next(line for line in timeline(row) if line.kind == "suspended")
    assert "the money of the account is used up" in line.sentence
    assert funds_watch(actor=SYSTEM, tenant=acme) == "empty", "nothing of it can go on yet"
    act = {"actor": alice.actor, "tenant": acme, "workload_uid": row.uid}
    with pytest.raises(FundsTooLow):
        workload_resume(**act)
    pay_in(acme, "20")
    assert funds_watch(actor=SYSTEM, tenant=acme) == "enough"
    workload_resume(**act)
    running(pool, row, 10)


@pytest.mark.req("ELA-1911")
def test_what_cannot_be_looked_at_keeps_no_other_waiting(submit, pool, acme, monkeypatch):
    pay_in(acme, "20")
    bad, good = submit("bad"), submit("good")
    running(pool, good, 10)
    FundsHold.plain.update(check_at=timezone.now())
    real = tasks.funds_follow

    def follow(*, actor, workload_uid):
        if workload_uid == bad.uid:
            raise ValueError("a fault")
        real(actor=actor, workload_uid=workload_uid)

    monkeypatch.setattr(tasks, "funds_follow", follow)
    assert funds_sweep() == 2
    due = dict(FundsHold.plain.values_list("charge__workload_uid", "check_at"))
    assert due[bad.uid] <= timezone.now() < due[good.uid], "it is due still"


@pytest.mark.req("ELA-1911")
def test_two_sweeps_at_once_put_aside_once(committed, member):
    acme = Tenant.objects.get(schema_name="acme")
    queue_ensure(actor=SYSTEM)
    quota_defaults(actor=SYSTEM, tenant=acme)
    account_open(actor=SYSTEM, tenant=acme)
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    node = WorkingNode(devices=1)
    alice = member("acme", "tenant_front_line")
    pay_in(acme, "5.50")
    row = workload_request(actor=alice.actor, tenant=acme, asked=wanted())
    running(node, row, 3000)
    FundsHold.plain.update(check_at=timezone.now(), short_since=timezone.now() - timedelta(days=1))
    assert not [result for result in race(*[funds_sweep] * 4) if isinstance(result, Exception)]
    row.refresh_from_db()
    assert row.state == "stopping"
    assert Message.objects.filter(user=alice.user, msgid__contains="is put aside").count() == 1


@pytest.mark.req("ELA-1911")
def test_money_that_comes_within_the_grace_lets_it_go_on(submit, pool, acme, settings):
    pay_in(acme, "5.50")
    row = submit()
    running(pool, row, 3000)
    sweep(row)
    assert FundsHold.plain.get().short_since
    pay_in(acme, "20")
    assert sweep(row) == "running"
    hold = FundsHold.plain.get()
    assert hold.short_since is None
    assert hold.amount > HOURLY
    FundsHold.plain.update(check_at=hold.check_at)
    assert funds_sweep() == 0, "it is looked at again when it may need more"


@pytest.mark.req("ELA-1911")
def test_work_that_waits_keeps_its_money_and_what_is_suspended_gives_it_back(submit, acme, alice):
    pay_in(acme, "6")
    row = submit()
    assert sweep(row) == "pending"
    assert FundsHold.plain.get().check_at > timezone.now()
    act = {"actor": alice.actor, "tenant": acme, "workload_uid": row.uid}
    workload_suspend(**act)
    assert spendable(acme) == 6
    other = submit("other")
    with pytest.raises(FundsTooLow):
        workload_resume(**act)
    workload_stop(actor=SYSTEM, tenant=acme, workload_uid=other.uid, reason="")
    workload_resume(**act)
    assert spendable(acme) == 6 - HOURLY


@pytest.mark.req("ELA-1911")
def test_an_orders_work_is_put_aside_and_resumed_too(pool, acme, alice):
    pay_in(acme, "10")
    row = order_submit(acme, percent=20, mib=4096, user_id=alice.user.pk)
    commodity = commodity_make("GPU-2")
    quote = quote_get(
        tenant=acme, commodity=commodity, amounts=AMOUNTS, count=1, duration_s=3600, at=timezone.now()
    ).as_json()
    charge_open(
        actor=SYSTEM, tenant=acme, order_uid=row.order_uid, order_no="O-1", workload_uid=row.uid, quote=quote,
        labels=CostLabels(),
    )  # fmt: skip
    running(pool, row, 7000)
    sweep(row)
    FundsHold.plain.update(short_since=timezone.now() - timedelta(days=1))
    assert sweep(row) == "stopping"
    pool.turn()
    row.refresh_from_db()
    assert row.state == "suspended"
    assert not row.is_final
    pay_in(acme, "100")
    workload_resume(actor=alice.actor, tenant=acme, workload_uid=row.uid)
    running(pool, row, 10)


def submitted_long_ago(submit, **more):
    """So that it can be charged for what it ran since."""
    with patch("apps.billing.services.charges_many.timezone") as clock:
        clock.now.return_value = timezone.now() - timedelta(hours=2)
        return submit(**more)


def crashes(node, row):
    node.runs = dict.fromkeys(node.runs, "failed")
    node.turn()
    Workload.plain.filter(pk=row.pk).update(not_before_at=None)


def is_requeued(node, row):
    workload_requeue(actor=SYSTEM, tenant=row.tenant, workload_uid=row.uid)
    assert sweep(row) == "stopping"
    assert FundsHold.plain.get().short_since, "stopping makes nobody richer"
    node.turn()


@pytest.mark.req("ELA-1911", "ELA-503", "ELA-509")
@pytest.mark.parametrize("begin_anew", [is_requeued, crashes])
def test_work_that_begins_anew_is_given_no_grace_again(submit, pool, acme, alice, begin_anew):
    """Requeued just before its grace ended it was placed unasked, and ran on for another grace: again and again."""
    pay_in(acme, "5.50")
    row = submitted_long_ago(submit, max_attempts=9)
    running(pool, row, 3000)
    for deposit in ("2", "2", None):
        usage_rate(actor=SYSTEM)
        assert sweep(row) == "running"
        assert FundsHold.plain.get().short_since
        begin_anew(pool, row)
        cycle_run(actor=SYSTEM)
        row.refresh_from_db()
        assert row.state == "pending", "its money is asked for first"
        if deposit:
            pay_in(acme, deposit)
            assert sweep(row) == "pending"
            running(pool, row, 1500)
        assert spendable(acme) >= 0
    assert sweep(row) == "suspended"
    assert row.reason_code == "funds_used_up"
    assert Message.objects.filter(user=alice.user, msgid__contains="is put aside").count() == 1
    hold = FundsHold.plain.get()
    assert hold.used <= hold.amount <= Decimal("9.50")
    assert funds_settle(actor=SYSTEM) == 1
    # 6000 s at 5.50 an hour
    assert round(hold.used, 2) == Decimal("9.17")
    assert spendable(acme) == Decimal("9.50") - hold.used
    pay_in(acme, "10")
    workload_resume(actor=alice.actor, tenant=acme, workload_uid=row.uid)
    running(pool, row, 10)


@pytest.mark.req("ELA-1911", "ELA-503")
def test_work_whose_money_reaches_begins_anew_at_once(submit, pool, acme):
    pay_in(acme, "5.50")
    row = submit()
    running(pool, row, 1000)
    workload_requeue(actor=SYSTEM, tenant=acme, workload_uid=row.uid)
    pool.turn()
    running(pool, row, 10)
    assert spendable(acme) == 0


@pytest.mark.req("ELA-1911")
@pytest.mark.parametrize("end", [workload_suspend, workload_stop])
def test_use_before_a_requeue_stays_set_aside_until_it_is_rated(submit, pool, acme, end):
    """What waited again was taken for what had never run: its money was given back, and spent twice."""
    pay_in(acme, "5.50")
    row = submitted_long_ago(submit)
    cycle_run(actor=SYSTEM)
    pool.turn()
    begin = timezone.now().replace(microsecond=0) - timedelta(seconds=1800)
    Slice.plain.update(started_at=begin, created_at=begin)
    row.refresh_from_db()
    act = {"actor": SYSTEM, "tenant": acme, "workload_uid": row.uid}
    workload_requeue(**act)
    pool.turn()
    end(**act, reason="later")
    assert funds_settle(actor=SYSTEM) == 0
    assert spendable(acme) == 0
    part = Slice.plain.get()
    told = usage(begin, int((part.ended_at - begin).total_seconds()), slice_uid=str(part.uid))
    assert not usage_record(actor=SYSTEM, workload_uid=row.uid, reports=[told]).refused
    usage_rate(actor=SYSTEM)
    assert funds_settle(actor=SYSTEM) == 1, "nothing more can come, though it waited meanwhile"
    assert spendable(acme) == Decimal("5.50") - FundsHold.plain.get().used < 3
