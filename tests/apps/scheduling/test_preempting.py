"""Preemption with the least harm, through nodes that do what they are told (elastic.md, area 8)."""

from datetime import timedelta
from decimal import Decimal
from unittest.mock import patch

import pytest
from django.utils import timezone

from apps.billing.models import Charge
from apps.billing.selectors.charges import charge_prices
from apps.billing.services.bills import bill_confirm, bill_make, bill_pay
from apps.billing.services.charges import charge_resize
from apps.billing.services.compensation import preemption_compensate
from apps.billing.services.ledger import account_deposit
from apps.billing.services.rating import usage_rate
from apps.catalog.models import Commodity, Coupon
from apps.fleet.models import Slice
from apps.kernel.actor import SYSTEM
from apps.kernel.errors import InvalidInput
from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.models import NominatedRoom, Workload
from apps.scheduling.services.cycle.apply_changes import workload_preempt
from apps.scheduling.services.cycle.cluster_cache import ClusterCache
from apps.scheduling.services.cycle.cycle_runner import CycleRunner, cycle_run
from apps.scheduling.services.cycle.nominated_room import nominated_room_keep
from apps.scheduling.services.queues.queue_settings import (
    direct_commodity_set,
    policy_set,
    queue_ensure,
    queue_make,
)
from apps.scheduling.services.quota.quotas import quota_defaults, quota_set
from apps.scheduling.services.workload_control import workload_suspend
from apps.scheduling.services.workloads.checkpoints import workload_saved
from apps.scheduling.services.workloads.slice_reports import slice_ended
from apps.scheduling.services.workloads.stopping import workload_halt
from apps.scheduling.services.workloads.submission.submit import workload_request
from apps.scheduling.types import WorkloadRequest
from tests.apps.catalog.market import commodity_make
from tests.apps.scheduling.test_shell import read_anew, rows_of
from tests.apps.scheduling.working_node import WorkingNode
from tests.harness.money import account_ready

ARGV = ("python", "train.py")


@pytest.fixture
def pool(db, acme, globex):
    for tenant in (acme, globex):
        quota_defaults(actor=SYSTEM, tenant=tenant)
        quota_set(actor=SYSTEM, tenant=tenant, item="instances", total=100)
        quota_set(actor=SYSTEM, tenant=tenant, item="compute_percent", total=10_000)
        quota_set(actor=SYSTEM, tenant=tenant, item="gpu_memory_mib", total=10**6)
        account_ready(tenant)
    queue_ensure(actor=SYSTEM)
    policy_set(actor=SYSTEM, changes={"ordering": "priority", "has_preemption": True, "grace_s": 40})


@pytest.fixture
def alice(pool, member):
    return member("acme", "tenant_front_line").actor


@pytest.fixture
def submit(alice, acme):
    def make(name="low", *, percent=100, mib=1024, preemptible=True, **more):
        return workload_request(
            actor=alice,
            tenant=acme,
            asked=WorkloadRequest(
                name=name, argv=ARGV, compute_percent=percent, memory_mib=mib, preemptible=preemptible, **more
            ),
        )

    return make


def leading():
    """The cluster cache of a scheduler that leads from now on."""
    cache = ClusterCache()
    cache.begin()
    return cache


def running(node, *rows, seconds=600):
    """All of them are placed and have run so long."""
    cycle_run(actor=SYSTEM)
    node.turn()
    for row in rows:
        node.ran(row, seconds)
        assert row.state == "running"


def state(row):
    return Workload.plain.get(pk=row.pk).state


# --- checkpoints -------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-810")
def test_what_the_work_saved_is_known_and_what_is_lost_counts_from_there(pool, submit, alice):
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    node = WorkingNode()
    low = submit(checkpoint_signal="USR1")
    running(node, low)
    node.saves(low, ago_s=100)
    assert abs((timezone.now() - low.checkpoint_at).total_seconds() - 100) < 20
    saved = low.checkpoint_at
    submit("high", priority=9, preemptible=False)
    cycle_run(actor=SYSTEM)
    (part,) = Slice.plain.filter(workload_uid=low.uid)
    assert part.work["checkpoint"] == {"signal": "USR1", "argv": []}
    assert part.work["grace_s"] == 40
    node.turn()
    assert node.asked_to_save == {str(part.uid)}
    low.refresh_from_db()
    assert (low.state, low.preemptions, low.checkpoint_at) == ("pending", 1, saved)
    lost = low.decisions.get(kind="preempted").params["lost_card_seconds"]
    assert 95 <= lost <= 130, "not the ten minutes since its start"
    assert Coupon.plain.get().face_value < Decimal("0.30")


@pytest.mark.req("ELA-810")
def test_work_that_saves_itself_within_its_grace_loses_next_to_nothing(pool, submit):
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    node = WorkingNode()
    low = submit(checkpoint_signal="USR1")
    running(node, low, seconds=1200)
    submit("high", priority=9, preemptible=False)
    node.says_stop = False
    cycle_run(actor=SYSTEM)
    node.turn()
    assert state(low) == "stopping"
    node.saves(low)
    node.says_stop = True
    node.turn()
    assert state(low) == "pending"
    assert low.decisions.get(kind="preempting").params["lost_card_seconds"] >= 1200
    assert low.decisions.get(kind="preempted").params["lost_card_seconds"] < 30


@pytest.mark.req("ELA-810")
def test_a_word_that_comes_late_twice_or_of_ended_work_changes_nothing(pool, submit):
    node = WorkingNode()
    low = submit()
    running(node, low)
    now = timezone.now()
    for at in (now, now - timedelta(minutes=5), now):
        workload_saved(actor=SYSTEM, workload_uid=low.uid, at=at)
    low.refresh_from_db()
    assert low.checkpoint_at == now
    Workload.plain.filter(pk=low.pk).update(state="finished", ended_at=now)
    workload_saved(actor=SYSTEM, workload_uid=low.uid, at=now + timedelta(minutes=1))
    low.refresh_from_db()
    assert low.checkpoint_at == now


@pytest.mark.req("ELA-810")
def test_a_clock_ahead_saves_nothing_in_the_future_and_a_chatterer_is_heard_now_and_then(pool, submit):
    node = WorkingNode()
    low = submit()
    running(node, low)
    (part,) = Slice.plain.filter(workload_uid=low.uid)
    node.saves(low, ago_s=-3600)
    assert low.checkpoint_at <= timezone.now()
    first = low.checkpoint_at
    node.saved[str(part.uid)] = first + timedelta(milliseconds=100)
    node.turn()
    low.refresh_from_db()
    assert low.checkpoint_at == first


@pytest.mark.req("ELA-810")
def test_no_other_node_speaks_for_it(pool, submit):
    node, other = WorkingNode("n1"), WorkingNode("n2")
    low = submit(node="n1")
    running(node, low)
    (part,) = Slice.plain.filter(workload_uid=low.uid)
    other.runs[str(part.uid)] = "running"
    other.saved[str(part.uid)] = timezone.now()
    other.say(slices=[other.told(str(part.uid))])
    low.refresh_from_db()
    assert low.checkpoint_at is None


@pytest.mark.req("ELA-503", "ELA-810")
def test_what_is_put_aside_saves_itself_too_and_what_is_stopped_for_good_does_not(pool, submit, alice, acme):
    node = WorkingNode()
    one, two = submit(percent=50, checkpoint_command=("save", "all")), submit(percent=50)
    running(node, one, two)
    aside = Slice.plain.get(workload_uid=one.uid)
    workload_suspend(actor=alice, tenant=acme, workload_uid=one.uid)
    workload_halt(actor=alice, tenant=acme, workload_uid=two.uid, reason="enough")
    node.turn()
    assert node.asked_to_save == {str(aside.uid)}
    assert (state(one), state(two)) == ("suspended", "finished")


@pytest.mark.req("ELA-810")
@pytest.mark.parametrize(("policy_s", "given_s"), [(20, 20), (100_000, 3600)])
def test_who_has_a_hook_is_given_the_policy_s_notice_and_no_more_than_a_node_takes(
    pool, submit, policy_s, given_s
):
    policy_set(actor=SYSTEM, changes={"grace_s": policy_s})
    node = WorkingNode()
    hooked = submit(percent=50, preemptible=False, checkpoint_signal="HUP")
    plain = submit(percent=50, preemptible=False)
    running(node, hooked, plain)
    assert Slice.plain.get(workload_uid=hooked.uid).work["grace_s"] == given_s
    assert Slice.plain.get(workload_uid=plain.uid).work["grace_s"] == 5


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"checkpoint_signal": "KILL"}, "checkpoint_signal"),
        ({"checkpoint_signal": "USR1", "checkpoint_command": ("save",)}, "checkpoint_signal"),
        ({"checkpoint_command": ("",)}, "checkpoint_command"),
        ({"checkpoint_command": ("x" * 40_000,)}, "checkpoint.argv.0"),
    ],
)
@pytest.mark.req("ELA-507")
def test_a_hook_that_no_node_could_follow_is_refused_by_name(pool, submit, wrong, field):
    WorkingNode()
    with pytest.raises(InvalidInput) as told:
        submit(**wrong)
    assert list(told.value.fields) == [field]
    assert not Workload.plain.exists()


def test_a_session_has_no_hook(pool, alice, acme):
    WorkingNode()
    with pytest.raises(InvalidInput):
        workload_request(
            actor=alice,
            tenant=acme,
            asked=WorkloadRequest(
                "lab", "session", compute_percent=1, memory_mib=1, checkpoint_signal="USR1"
            ),
        )


# --- money -------------------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-805")
def test_the_engine_knows_what_running_work_costs_and_stops_the_cheaper(pool, submit, acme):
    node = WorkingNode(devices=2)
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    dear = submit("dear", mib=8000)
    direct_commodity_set(actor=SYSTEM, commodity=Commodity.objects.get(number="FREE"))
    free = submit("free", mib=8000)
    running(node, dear, free)
    same = dear.started_at
    Workload.plain.filter(pk=free.pk).update(started_at=same, placed_at=same)
    cache = leading()
    costs = {row.name_en: cache.running[row.pk].cost_per_hour_micros for row in (dear, free)}
    # 100 × 0.05, and 8000 MiB are 7.8125 GiB at 0.50.
    assert costs == {"dear": 8_906_250, "free": 0}
    submit("high", priority=9, preemptible=False)
    cycle_run(actor=SYSTEM)
    assert (state(dear), state(free)) == ("running", "stopping")


@pytest.mark.req("ELA-108")
def test_a_picture_that_follows_knows_the_same_costs_and_checkpoints(pool, submit, acme):
    node = WorkingNode(devices=2)
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    cache = leading()
    low = submit()
    cache.follow()
    CycleRunner(cache, actor=SYSTEM).run()
    assert rows_of(cache) == read_anew(), "as it was placed"
    node.turn()
    node.ran(low, 60)
    node.saves(low)
    cache.follow()
    assert rows_of(cache) == read_anew()
    assert cache.running[low.pk].checkpoint_at_s
    assert cache.running[low.pk].cost_per_hour_micros == 5_500_000
    assert charge_prices([low.uid]) == {low.uid: 5_500_000}
    charge_resize(actor=SYSTEM, workload_uid=low.uid, compute_percent=50, memory_mib=1024)
    assert charge_prices([low.uid]) == {low.uid: 3_000_000}


@pytest.mark.req("ELA-108")
def test_prices_are_read_in_one_statement_however_many_run(pool, submit, acme, django_assert_num_queries):
    WorkingNode(devices=4)
    direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
    rows = [submit(f"w{number}", percent=10) for number in range(20)]
    charge_prices([row.uid for row in rows])
    with django_assert_num_queries(1):
        assert len(charge_prices([row.uid for row in rows])) == 20


@pytest.mark.req("ELA-811", "ELA-815")
def test_priced_work_that_is_preempted_is_billed_to_then_and_gets_one_coupon_worth_what_it_lost(
    pool, submit, acme, alice
):
    account_deposit(actor=SYSTEM, tenant=acme, amount=Decimal(100), reference="r1")
    node = WorkingNode()
    with patch("django.utils.timezone.now", return_value=timezone.now() - timedelta(hours=1)):
        direct_commodity_set(actor=SYSTEM, commodity=commodity_make())
        low = submit()
    behind = submit("behind", preemptible=False)
    running(node, low, seconds=1200)
    first_no, asked_at = low.no, low.created_at
    (part,) = Slice.plain.filter(workload_uid=low.uid)
    submit("high", priority=9, preemptible=False)
    cycle_run(actor=SYSTEM)
    node.turn()
    low.refresh_from_db()
    assert (low.state, low.no, low.created_at, low.preemptions, low.active_shares) == (
        "pending", first_no, asked_at, 1, None,
    )  # fmt: skip
    assert Charge.plain.get(workload_uid=low.uid).state == "open"
    assert low.pk < behind.pk, "before what came after it"
    lost_s = low.decisions.get(kind="preempted").params["lost_card_seconds"]
    coupon = Coupon.objects.of(acme).get()
    assert coupon.claimed_by_id == alice.user_id
    # 100 × 0.05 and 1 GiB at 0.50 an hour.
    assert coupon.face_value == (Decimal("5.50") * lost_s / 3600).quantize(Decimal("0.01"))
    assert abs(lost_s - 1200) < 60
    # Told again, in whatever way: nothing more is given, and what it waits for is not lost.
    slice_ended(
        actor=SYSTEM, workload_uid=low.uid, slice_uid=str(part.uid), at=timezone.now(), failed=True,
        reason_code="lost", reason="", requeue=True,
    )  # fmt: skip
    preemption_compensate(
        actor=SYSTEM, workload_uid=low.uid, user_id=alice.user_id, card_seconds=lost_s, times=1
    )
    assert (state(low), Coupon.plain.count()) == ("pending", 1)
    usage_rate(actor=SYSTEM)
    bill = bill_make(actor=SYSTEM, tenant=acme)
    assert bill.total == Decimal("1.67") + Decimal("0.17"), "twenty minutes of 5.00 and of 0.50 an hour"
    bill_confirm(actor=SYSTEM, bill_uid=bill.uid)
    payment = bill_pay(actor=SYSTEM, bill_uid=bill.uid, coupon_uid=coupon.uid)
    assert payment.coupon_code == coupon.code
    assert payment.coupon_amount == min(bill.total, coupon.face_value)
    assert payment.balance_amount == bill.total - payment.coupon_amount


# --- nominated room ----------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-807", "ELA-708")
def test_room_made_for_one_is_kept_for_it_whoever_leads(pool, submit):
    node = WorkingNode(devices=2)
    lows = [submit("low"), submit("low")]
    running(node, *lows)
    high = submit("high", priority=9, preemptible=False)
    node.says_stop = False
    cycle_run(actor=SYSTEM)
    hold = NominatedRoom.objects.get()
    assert hold.workload_id == high.pk
    one = next(row for row in lows if state(row) == "stopping")
    # Somebody leads after it who knows nothing but the database; and more important work comes meanwhile.
    second = CycleRunner(leading(), actor=SYSTEM)
    assert second.cache.state.holds.keys() == {str(high.uid)}
    rival = submit("rival", priority=5, preemptible=False, percent=60)
    second.cache.follow()
    second.run()
    assert Workload.plain.filter(state="stopping").count() == 2, (
        "the rival takes nothing of what is being freed"
    )
    node.says_stop = True
    node.turn()
    third = CycleRunner(leading(), actor=SYSTEM)
    third.run()
    assert state(high) == "placed"
    assert list(Slice.plain.filter(workload_uid=high.uid).values_list("device__uid", flat=True)) == [
        hold.grants[0][0]
    ]
    assert state(one) == "pending"
    assert state(rival) == "placed"
    assert rows_of(third.cache) == read_anew()
    third.run()
    assert not NominatedRoom.objects.filter(workload=high).exists()


@pytest.mark.req("ELA-807")
def test_room_kept_for_work_that_does_not_want_it_any_more_is_given_back(pool, submit, alice, acme):
    node = WorkingNode()
    low = submit()
    running(node, low)
    high = submit("high", priority=9, preemptible=False)
    cycle_run(actor=SYSTEM)
    assert NominatedRoom.objects.count() == 1
    workload_halt(actor=alice, tenant=acme, workload_uid=high.uid, reason="enough")
    node.turn()
    cycle_run(actor=SYSTEM)
    assert not NominatedRoom.objects.exists()
    assert state(low) == "placed"


@pytest.mark.req("ELA-807", "ELA-808", "ELA-814")
def test_a_leader_that_dies_between_two_victims_is_followed_by_one_that_finishes(pool, submit):
    node = WorkingNode(devices=2)
    lows = [submit("low"), submit("low")]
    running(node, *lows)
    gang = submit("gang", priority=9, preemptible=False, shares=2, distinct_devices=True)
    cache = leading()
    plan = plan_kept(cache.state, int(timezone.now().timestamp()), 1)
    assert len(plan.preemptions) == 2
    holds = {hold.request_id: hold for hold in plan.nominated_holds}
    nominated_room_keep(actor=SYSTEM, before={}, after=holds, keys=cache.keys)
    workload_preempt(actor=SYSTEM, preemption=plan.preemptions[0])
    cycle_run(actor=SYSTEM)
    assert [state(row) for row in lows] == ["stopping", "stopping"]
    assert NominatedRoom.objects.get().workload_id == gang.pk
    node.turn()
    cycle_run(actor=SYSTEM)
    assert state(gang) == "placed"
    for row in lows:
        row.refresh_from_db()
        assert (row.state, row.preemptions) == ("pending", 1)


@pytest.mark.req("ELA-807")
def test_room_that_is_kept_though_nothing_leaves_it_is_given_up(pool, submit):
    node = WorkingNode()
    low = submit()
    running(node, low)
    policy_set(actor=SYSTEM, changes={"has_preemption": False})
    high = submit("high", priority=9, preemptible=False)
    NominatedRoom.objects.create(
        workload=high, since_at=timezone.now(),
        grants=[["n1-d0", node.uid, 100, 1024, False, "", "", 0, 0]],
    )  # fmt: skip
    cycle_run(actor=SYSTEM)
    assert (state(low), state(high)) == ("running", "pending")
    assert not NominatedRoom.objects.exists()


# --- who is spared -----------------------------------------------------------------------------------------------


@pytest.mark.req("ELA-805")
def test_who_has_not_run_its_least_time_is_spared(pool, submit):
    policy_set(actor=SYSTEM, changes={"min_run_s": 300})
    node = WorkingNode(devices=2)
    old, young = submit("old"), submit("young")
    running(node, old, young)
    node.ran(young, 100)
    Workload.plain.filter(pk=old.pk).update(priority=3)
    submit("high", priority=9, preemptible=False)
    cycle_run(actor=SYSTEM)
    assert (state(old), state(young)) == ("stopping", "running")


@pytest.mark.req("ELA-801", "ELA-802")
def test_work_of_a_queue_that_does_not_preempt_waits_and_so_does_work_of_equal_rank(pool, submit):
    node = WorkingNode()
    low = submit(priority=3)
    running(node, low)
    queue_make(
        actor=SYSTEM, code="calm", name_en="Calm", name_zh="静", changes={"preempts": False, "priority": 9}
    )
    calm = submit("calm", priority=9, preemptible=False, queue="calm")
    equal = submit("equal", priority=3, preemptible=False)
    cycle_run(actor=SYSTEM)
    assert list(map(state, (low, calm, equal))) == ["running", "pending", "pending"]


@pytest.mark.req("ELA-812")
def test_who_was_preempted_often_enough_is_spared(pool, submit):
    policy_set(actor=SYSTEM, changes={"max_preemptions": 1})
    node = WorkingNode()
    low = submit()
    running(node, low)
    high = submit("high", priority=9, preemptible=False)
    cycle_run(actor=SYSTEM)
    node.turn()
    cycle_run(actor=SYSTEM)
    assert (state(low), state(high)) == ("pending", "placed")
    node.turn()
    for uid in node.runs:
        node.runs[uid] = "exited"
    node.turn()
    running(node, low)
    last = submit("last", priority=9, preemptible=False)
    cycle_run(actor=SYSTEM)
    assert (state(low), state(last)) == ("running", "pending")
