"""The same thing tried several times at once, with real threads and commits: it happens once, and nothing breaks."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from threading import Barrier, Event
from time import sleep
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.models import F, Sum

from apps.billing.models import LedgerLeg
from apps.billing.services.rating import usage_rate
from apps.catalog.models import Coupon, CouponActivity, CouponRedemption
from apps.fleet.models import Device, Slice
from apps.fleet.services.nodes.node_liveness import nodes_check
from apps.kernel.actor import SYSTEM
from apps.orders.models import ApplicationForm
from apps.scheduling.models import QuotaHold, TenantQuota, Workload
from apps.scheduling.services.cycle.cycle_runner import cycle_run
from tests.contracts.test_bad_input import draft, line, refused
from tests.factories.world import good, rows, task_of, tick

pytestmark = pytest.mark.xdist_group("world")

API = "/api/v1"


@pytest.fixture(autouse=True)
def _open(world, django_db_blocker) -> Iterator[None]:
    """What these tests do is committed; the world is thrown away after the module."""
    with django_db_blocker.unblock():
        connection.set_schema_to_public()
        yield
        connection.set_schema_to_public()


def at_once(*calls: Any) -> list[Any]:
    """Start all calls in the same moment; their results, in order. An exception is a failure of the test."""
    gate = Barrier(len(calls))

    def run(call):
        try:
            gate.wait()
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def statuses(answers):
    return Counter(answer.status_code for answer in answers)


@pytest.mark.req("PLAT-APPLY-6")
def test_a_form_submitted_four_times_at_once_is_submitted_once(world):
    form = draft(world, world.api("alice"))
    clients = [world.api("alice") for _ in range(3)] + [world.page("alice")]
    paths = [f"{API}/application-forms/{form['uid']}/submit"] * 3 + [f"/forms/{form['uid']}/submit/"]
    answers = at_once(*[lambda c=c, p=p: c.post(p) for c, p in zip(clients, paths, strict=True)])
    counted = statuses(answers)
    assert counted[409] == 3
    assert counted[200] + counted[302] == 1
    form = good(world.api("alice").get(f"{API}/application-forms/{form['uid']}"))
    assert [run["state"] for run in form["processes"]] == ["running"]
    good(world.api("alice").post(f"{API}/application-forms/{form['uid']}/withdraw"))


@pytest.mark.req("PLAT-APPLY-3")
def test_one_idempotency_key_at_once_makes_one_form(world):
    connection.set_schema("acme")
    before = ApplicationForm.objects.count()
    connection.set_schema_to_public()
    body = {"lines": [line(world)], "duration_s": 3600}
    clients = [world.api("alice") for _ in range(4)]
    calls = [
        lambda c=c: c.post(f"{API}/application-forms", body, headers={"idempotency-key": "race"})
        for c in clients
    ]
    answers = at_once(*calls)
    assert statuses(answers) == {201: 4}
    assert len({answer.json()["uid"] for answer in answers}) == 1
    connection.set_schema("acme")
    assert ApplicationForm.objects.count() == before + 1


@pytest.mark.req("PLAT-TODO-5")
def test_of_decisions_and_a_withdrawal_at_once_one_counts(world):
    alice = world.api("alice")
    for _round in range(3):
        form = draft(world, alice)
        good(alice.post(f"{API}/application-forms/{form['uid']}/submit"))
        task = task_of(world.api("dan"), form["no"])["uid"]
        dan, olga, again = world.api("dan"), world.api("olga"), world.api("alice")
        decide, withdraw = f"{API}/tasks/{task}/decide", f"{API}/application-forms/{form['uid']}/withdraw"
        answers = at_once(
            partial(dan.post, decide, {"decision": "refuse", "comment": "Not now"}),
            partial(olga.post, decide, {"decision": "send_back"}),
            partial(again.post, withdraw),
        )
        assert statuses(answers) == {200: 1, 409: 2}
        state = good(alice.get(f"{API}/application-forms/{form['uid']}"))["state"]
        assert state in ("rejected", "draft")


@pytest.mark.req("PLAT-OPS-29")
def test_the_last_coupon_is_claimed_once(world):
    activity = CouponActivity.objects.get(uid=world.uids["acme"]["activity"])
    limit = Coupon.objects.of("acme").filter(activity=activity).count() + 1
    CouponActivity.objects.filter(pk=activity.pk).update(per_tenant_limit=limit)
    payers = [world.api("olga") for _ in range(4)]
    answers = at_once(*[lambda c=c: c.post(f"{API}/coupon-activities/{activity.uid}/claim") for c in payers])
    assert statuses(answers) == {201: 1, 409: 3}
    activity.refresh_from_db()
    assert activity.claimed_count == Coupon.objects.across().filter(activity=activity).count()


def bill(world):
    """A confirmed bill of acme over some more seconds of use."""
    row = Slice.objects.across().get(workload_uid=world.uids["acme"]["resource"])
    report = world.node.interval(wish(row), 1)
    later = report.model_copy(
        update={"start_at": row.usage_until, "end_at": row.usage_until + (report.end_at - report.start_at)}
    )
    world.node.sync(usage=[later])
    usage_rate(actor=SYSTEM)
    made = good(world.api("olga").post(f"{API}/bills", {}))
    good(world.api("olga").post(f"{API}/bills/{made['uid']}/confirm"))
    return made


def wish(row):
    fields = {"slice_uid": str(row.uid), "compute_percent": row.compute_percent, "memory_mib": row.memory_mib}
    return type("Wish", (), fields)


@pytest.mark.req("PLAT-OPS-32")
def test_a_coupon_used_twice_at_once_pays_no_more_than_it_holds(world):
    bills = [bill(world) for _ in range(2)]
    uid = world.uids["acme"]["coupon"]
    # Enough for one of the bills and a part of the other.
    row = Coupon.objects.across().get(uid=uid)
    left = Decimal(bills[0]["total"]) * Decimal("1.5")
    Coupon.objects.across().filter(uid=uid).update(remaining=left)
    paid = CouponRedemption.objects.across().filter(coupon=row).aggregate(sum=Sum("amount"))["sum"]
    payers = [world.api("olga") for _ in range(4)]
    calls = [
        lambda c=c, b=b: c.post(f"{API}/bills/{b['uid']}/pay", {"coupon": uid})
        for c, b in zip(payers, bills * 2, strict=True)
    ]
    answers = at_once(*calls)
    assert {answer.status_code for answer in answers} == {200, 409}
    for answer in answers:
        if answer.status_code == 409:
            refused(answer, 409)
    row.refresh_from_db()
    taken = CouponRedemption.objects.across().filter(coupon=row).aggregate(sum=Sum("amount"))["sum"] - paid
    assert 0 <= row.remaining == left - taken
    assert sum(answer.status_code == 200 for answer in answers) == 2
    assert LedgerLeg.objects.aggregate(sum=Sum("amount"))["sum"] == 0


@pytest.mark.req("ELA-1909")
def test_deposits_and_payments_at_once_lose_nothing(world):
    before = Decimal(good(world.api("olga").get(f"{API}/account"))["balance"])
    clients = [world.api("ops") for _ in range(5)]
    bodies = [{"amount": "10.00", "reference": f"P-{number // 2}"} for number in range(5)]
    calls = [
        lambda c=c, b=b: c.post(f"{API}/tenants/acme/deposit", b)
        for c, b in zip(clients, bodies, strict=True)
    ]
    assert statuses(at_once(*calls)) == {201: 5}
    assert Decimal(good(world.api("olga").get(f"{API}/account"))["balance"]) == before + 30


# --- nobody waits in a circle ----------------------------------------------------------------------------------


def ordered(world, alice):
    form = draft(world, alice)
    good(alice.post(f"{API}/application-forms/{form['uid']}/submit"))
    approved(world, form["no"])
    tick(world, 1)
    return good(alice.get(f"{API}/application-forms/{form['uid']}"))["orders"][0]


def approved(world, no):
    decided(world.api("dan"), world.api("dan"), no)
    decided(world.api("ops"), world.api("ops", "acme"), no)


def decided(reader, decider, no):
    uid = task_of(reader, no)["uid"]
    good(decider.post(f"{API}/tasks/{uid}/decide", {"decision": "approve"}))


def ending(world, order):
    """Ask for the end of an order and have it approved."""
    form = good(world.api("alice").post(f"{API}/orders/{order['uid']}/terminate", {"reason": "done"}))
    decided(world.api("dan"), world.api("dan"), form["no"])


def often(times, call):
    def run():
        for _time in range(times):
            call()

    return run


@pytest.mark.req("ELA-109")
def test_syncs_ends_cycles_rating_and_bills_at_once_never_stand_in_each_others_way(world):
    alice = world.api("alice")
    orders = [ordered(world, alice) for _ in range(3)]
    payer = world.api("olga")
    at_once(
        often(12, lambda: world.node.run_all(1)),
        *[lambda order=order: ending(world, order) for order in orders],
        often(12, lambda: cycle_run(actor=SYSTEM)),
        often(12, lambda: usage_rate(actor=SYSTEM)),
        often(6, lambda: nodes_check(actor=SYSTEM)),
        often(6, lambda: payer.post(f"{API}/bills", {}).status_code in (201, 409) or pytest.fail("bill")),
    )
    for _turn in range(3):
        tick(world, 1)
    works = Workload.objects.across().filter(uid__in=[order["workload"] for order in orders])
    assert {row.state for row in works} == {"finished"}
    states = {good(alice.get(f"{API}/orders/{order['uid']}"))["state"] for order in orders}
    assert states == {"terminated"}
    held_is_true()
    assert LedgerLeg.objects.aggregate(sum=Sum("amount"))["sum"] == 0


def held_is_true():
    """Devices hold what live slices hold, and the quota what live holders hold."""
    for device in Device.objects.all():
        live = (
            Slice.objects.across()
            .filter(device=device, final_at=None)
            .aggregate(percent=Sum("compute_percent"), mib=Sum("memory_mib"))
        )
        assert (device.held_percent, device.held_mib) == (live["percent"] or 0, live["mib"] or 0)
    held = (
        QuotaHold.objects.of("acme")
        .filter(item="compute_percent", state="used")
        .aggregate(sum=Sum("amount"))["sum"]
    )
    works = Workload.objects.of("acme").exclude(state__in=["finished", "failed", "lost"])
    assert held == works.aggregate(sum=Sum(F("compute_percent") * F("shares")))["sum"]


@pytest.mark.req("ELA-109")
def test_a_call_that_the_database_gave_up_says_so_and_has_changed_nothing(world):
    """A second transaction takes two rows the other way round, so that PostgreSQL gives up one of the two."""
    admin = world.api("admin")
    path = f"{API}/tenants/acme/quota"
    before = good(admin.get(path))
    taken = Event()

    def other_way_round():
        with transaction.atomic():
            mine = TenantQuota.plain.select_for_update().filter(tenant__schema_name="acme")
            mine.get(item="instances")
            taken.set()
            # The call waits first, so it is the one whose wait PostgreSQL looks into first.
            sleep(0.5)
            mine.get(item="gpu_memory_mib")

    def put():
        taken.wait()
        return admin.put(path, {"instances": 999, "gpu_memory_mib": 999_999})

    _none, answer = at_once(other_way_round, put)
    error = refused(answer, 503, code="busy")
    assert error["cure"]
    assert answer["Retry-After"] == "1"
    assert good(admin.get(path)) == before


def test_the_inbox_is_whole_after_all_of_that(world):
    assert rows(world.api("dan").get(f"{API}/tasks"))
