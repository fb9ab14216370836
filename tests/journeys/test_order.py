"""The whole order through real processes: undisturbed, and again while its processes are killed."""

import time
from datetime import datetime
from decimal import Decimal
from itertools import pairwise

import pytest

from portal.devstack.demo_order import AMOUNTS, Journey
from portal.devstack.stack import Stack

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("portal")]
RUN_S = 15
PATIENCE_S = 300


def ended(journey: Journey, order: dict) -> dict:
    """The order's resource once it has ended by itself."""
    user = journey.person("alice")

    def look():
        found = user.workload(order["workload"])
        return found if found["state"] in ("finished", "failed", "lost") else None

    return journey.wait("the end of the work", look, PATIENCE_S)


def billed(journey: Journey, order: dict) -> Decimal:
    """Make and pay the bill; what this order cost on it."""
    bill = journey.settle(order)
    assert bill["state"] == "paid"
    lines = [line for line in bill["lines"] if line["order_no"] == order["no"]]
    return sum((Decimal(line["amount"]) for line in lines), Decimal(0))


def intervals_check(journey: Journey, order: dict, seconds: int) -> None:
    """Whole, contiguous, and exactly as long as it ran: nothing lost, nothing twice."""
    usage = sorted(journey.person("alice").usage(order["workload"]), key=lambda record: record["seq"])
    assert [record["seq"] for record in usage] == list(range(1, len(usage) + 1))
    assert all(before["end_at"] == after["start_at"] for before, after in pairwise(usage))
    assert sum(record["seconds"] for record in usage) == seconds


@pytest.mark.req("PLAT-SVC-1")
@pytest.mark.req("PLAT-APPLY-6")
@pytest.mark.req("PLAT-TODO-5")
@pytest.mark.req("PLAT-OPS-22")
@pytest.mark.req("PLAT-OPS-32")
@pytest.mark.req("PLAT-APPLY-20")
def test_from_the_catalogue_to_the_paid_bill(journey):
    """Journey 1 of annex C as `make run` tells it: it checks its own sums on the way."""
    bill = journey.tell()
    assert bill["state"] == "paid"
    assert Decimal(bill["total"]) > 0


@pytest.mark.req("ELA-108")
def test_the_bill_is_the_same_when_everything_is_killed_on_the_way(stack: Stack, journey):
    journey.duration_s = RUN_S
    calm = journey.order_made("alice", "dan", AMOUNTS, "undisturbed")
    assert ended(journey, calm)["state"] == "finished"
    intervals_check(journey, calm, RUN_S)
    price = billed(journey, calm)
    assert price > 0

    rough = journey.order_made("alice", "dan", AMOUNTS, "everything dies")
    node = journey.person("alice").workload(rough["workload"])["slices"][0]["node"]
    stack.kill(node)
    stack.kill("worker")
    time.sleep(2)
    stack.restart("worker")
    stack.restart(node)
    for _ in range(4):
        # Rating runs every two seconds: these deaths fall before, into and after it.
        time.sleep(1.3)
        stack.kill("worker")
        stack.restart("worker")
    stack.kill("web")
    stack.restart("web")
    assert ended(journey, rough)["state"] == "finished"
    intervals_check(journey, rough, RUN_S)
    assert billed(journey, rough) == price


@pytest.mark.req("PLAT-OBS-6")
def test_a_dead_agent_is_an_alarm_and_bills_nothing_until_the_time_is_vouched_for(stack: Stack, journey):
    journey.duration_s = 600
    user, admin = journey.person("alice"), journey.person("admin")
    held_before = journey.quota_in_use(user)
    order = journey.order_made("alice", "dan", AMOUNTS, "the agent dies")
    part = user.workload(order["workload"])["slices"][0]
    stack.kill(part["node"])
    alarm = journey.wait(
        "the alarm",
        lambda: next((a for a in admin.alarms("firing") if part["node"] in a["title"]), None),
        PATIENCE_S,
    )
    assert alarm["level"] == "critical"
    before = user.usage(order["workload"])
    time.sleep(4)
    assert user.usage(order["workload"]) == before
    stack.restart(part["node"])
    journey.wait(
        "the resolution", lambda: all(a["uid"] != alarm["uid"] for a in admin.alarms("firing")), PATIENCE_S
    )
    journey.wait("the vouched time", lambda: len(user.usage(order["workload"])) > len(before), PATIENCE_S)
    journey.end(order, "alice", "dan")
    usage = user.usage(order["workload"])
    ran = user.workload(order["workload"])
    length = datetime.fromisoformat(ran["ended_at"]) - datetime.fromisoformat(ran["started_at"])
    # The shim outlived the agent and vouched for the whole time, to the second.
    assert abs(sum(record["seconds"] for record in usage) - length.total_seconds()) <= 1
    intervals_check(journey, order, sum(record["seconds"] for record in usage))
    assert journey.quota_in_use(user) == held_before
