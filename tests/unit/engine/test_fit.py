"""Each way of not fitting has its own reason, with figures that are right."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from apps.scheduling.engine.cycle.explain import explain, sentence
from apps.scheduling.engine.model.types import (
    Device,
    Node,
    Queue,
    QueueState,
    Reason,
    ReasonCode,
    Request,
    Snapshot,
)
from tests.unit.engine.pools import ask, device, holding, only, placed, pool, reasons, run

C = ReasonCode


def one(node: dict[str, Any] | None = None, card: dict[str, Any] | None = None) -> Snapshot:
    """A pool of one device on one node, each as said."""
    cards = (device("n0", 0, **(card or {})),)
    return replace(pool(0), nodes=(Node("n0", **(node or {})),), devices=cards)


CASES: list[tuple[str, Snapshot, Request, ReasonCode, dict[str, Any], bool]] = [
    ("no share", one(), ask(1, shares=0), C.REQUEST_INVALID, {"field": "shares", "value": 0}, True),
    ("no compute", one(), ask(1, 0), C.REQUEST_INVALID, {"field": "compute_percent", "value": 0}, True),
    ("101 %", one(), ask(1, 101), C.REQUEST_INVALID, {"field": "compute_percent", "value": 101}, True),
    ("negative memory", one(), ask(1, mib=-1), C.REQUEST_INVALID, {"field": "memory_mib", "value": -1}, True),
    ("half a whole card", one(), ask(1, exclusive=True), C.REQUEST_INVALID, {"field": "exclusive"}, True),
    ("no queue", one(), ask(1, queue_id="x"), C.QUEUE_UNKNOWN, {"queue": "x"}, True),
    ("no device", replace(one(), devices=()), ask(1), C.POOL_EMPTY, {}, True),
    ("device pin", one(), ask(1, device_id="n9/9"), C.DEVICE_PIN, {"asked": "n9/9"}, True),
    ("node pin", one(), ask(1, node_id="n9"), C.NODE_PIN, {"asked": "n9"}, True),
    ("group", one(), ask(1, resource_group="lab"), C.RESOURCE_GROUP, {"asked": "lab"}, True),
    ("vendor", one(card={"vendor": "a"}), ask(1, vendor="b"), C.VENDOR, {"asked": "b", "devices": 1}, True),
    ("model", one(card={"model": "a"}), ask(1, model="b"), C.MODEL, {"asked": "b"}, True),
    ("label", one(), ask(1, labels=frozenset({("zone", "b")})), C.LABEL, {"asked": "zone=b"}, True),
    ("node away", one(node={"ready": False}), ask(1), C.NODE_NOT_READY, {"devices": 1}, False),
    ("node drained", one(node={"schedulable": False}), ask(1), C.NODE_CLOSED, {"devices": 1}, False),
    ("disabled", one(card={"enabled": False}), ask(1), C.DEVICE_DISABLED, {"devices": 1}, False),
    ("unhealthy", one(card={"healthy": False}), ask(1), C.DEVICE_UNHEALTHY, {"devices": 1}, False),
    (
        "card in use",
        replace(one(), running=(holding("w", "n0/0", 1),)),
        ask(1, 100, exclusive=True),
        C.CARD_NOT_IDLE,
        {"devices": 1},
        False,
    ),
    (
        "compute short",
        replace(one(), running=(holding("w", "n0/0", 70),)),
        ask(1, 31),
        C.COMPUTE_PERCENT,
        {"asked": 31, "free": 30, "devices": 1},
        False,
    ),
    (
        "memory short",
        replace(one(), running=(holding("w", "n0/0", 10, 9_000),)),
        ask(1, 10, 1_001),
        C.MEMORY_MIB,
        {"asked": 1_001, "free": 1_000, "devices": 1},
        False,
    ),
    (
        "memory beyond the card",
        one(),
        ask(1, 1, 10_001),
        C.MEMORY_MIB,
        {"asked": 10_001, "free": 10_000},
        True,
    ),
    ("too many", one(), ask(1, 60, shares=2), C.COUNT, {"asked": 2, "free": 1}, True),
    ("too many devices", one(), ask(1, 10, shares=2, distinct_devices=True), C.COUNT, {"free": 1}, True),
    (
        "too many on a node",
        pool(2),
        ask(1, 60, shares=2, single_node=True),
        C.COUNT_ON_ONE_NODE,
        {"free": 1},
        True,
    ),
]


@pytest.mark.req("ELA-409")
@pytest.mark.parametrize(
    ("snapshot", "request_", "code", "figures", "permanent"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_reason(
    snapshot: Snapshot, request_: Request, code: ReasonCode, figures: dict[str, Any], permanent: bool
) -> None:
    made = run(snapshot, request_)
    (refusal,) = made.refusals
    assert refusal.reason.code is code
    assert {name: refusal.reason.get(name) for name in figures} == figures
    assert refusal.permanent is permanent
    told = explain(made, "r1")
    assert told is not None
    assert told.sentence == sentence(refusal.reason.code, dict(refusal.reason.params))
    assert told.sentence.endswith(".")
    in_cores = refusal.reason.code is C.HOST_CPU
    shown = {name: f"{value / 1000:g}" if in_cores else str(value) for name, value in figures.items()}
    assert all(shown[name] in told.sentence for name in ("asked", "free") if name in shown)


def test_every_reason_has_a_sentence() -> None:
    figures: dict[str, str | int | bool | None] = dict.fromkeys(
        ("field", "value", "queue", "state", "tenant", "holder", "limit", "used", "kept", "asked", "head"), 7
    )
    figures |= dict.fromkeys(
        ("first", "second", "late_s", "wait_s", "reservation", "count", "each", "model"), 7
    )
    figures |= dict.fromkeys(("asked_percent", "asked_mib", "percent", "mib"), 7)
    figures |= {"devices": 7, "free": 7, "dimension": "memory_mib"}
    for code in ReasonCode:
        assert "%(" not in sentence(code, figures)


def test_a_placed_request_has_no_explanation() -> None:
    assert explain(run(pool(), ask(1)), "r1") is None


@pytest.mark.req("PLAT-AICFG-23", "ELA-401")
def test_a_queue_of_a_resource_group_uses_only_its_nodes() -> None:
    nodes = (Node("n0"), Node("n1", resource_groups=frozenset({"lab", "all"})))
    snapshot = replace(pool(2), nodes=nodes, queues=(Queue("q", resource_group="lab"),))
    made = run(snapshot, ask(1, 60), ask(2, 60))
    assert only(made).grants[0].node_id == "n1"
    assert reasons(made)["r2"].code is C.COMPUTE_PERCENT


def test_labels_of_node_and_device_count_together() -> None:
    cards = (device("n0", 0), device("n0", 1, labels=frozenset({("link", "nv")})))
    snapshot = replace(pool(), nodes=(Node("n0", labels=frozenset({("zone", "a")})),), devices=cards)
    asked = ask(1, labels=frozenset({("zone", "a"), ("link", "nv")}))
    assert only(run(snapshot, asked)).grants[0].device_id == "n0/1"


@pytest.mark.req("ELA-601", "ELA-609", "PLAT-CLU-66")
@pytest.mark.parametrize("state", [QueueState.DOWN, QueueState.INACTIVE])
def test_only_a_queue_that_is_up_starts_work(state: QueueState) -> None:
    made = run(replace(pool(), queues=(Queue("q", state=state),)), ask(1))
    assert reasons(made)["r1"] == Reason(C.QUEUE_NOT_UP, (("queue", "q"), ("state", state.value)))


@pytest.mark.req("ELA-608")
def test_only_admitted_tenants_are_served() -> None:
    made = run(
        replace(pool(), queues=(Queue("q", tenants=frozenset({"globex"})),)),
        ask(1),
        ask(2, tenant_id="globex"),
    )
    assert placed(made) == ["r2"]
    assert reasons(made)["r1"].code is C.TENANT_NOT_ADMITTED


@pytest.mark.req("POOL-12.5")
@pytest.mark.parametrize(("permille", "expected"), [(1000, ["r1"]), (1500, ["r1", "r2"])])
def test_oversubscription_is_a_ratio_of_the_device(permille: int, expected: list[str]) -> None:
    card = device("n0", 0, oversubscription_permille=permille, memory_oversubscription_permille=permille)
    made = run(replace(pool(), devices=(card,)), ask(1, 70, 7_000), ask(2, 70, 7_000))
    assert placed(made) == expected


def test_a_whole_card_leaves_nothing_however_far_it_is_oversold() -> None:
    card = device("n0", 0, oversubscription_permille=3000, memory_oversubscription_permille=3000)
    made = run(replace(pool(), devices=(card,)), ask(1, 100, exclusive=True), ask(2, 1, 1))
    assert placed(made) == ["r1"]
    assert only(made).grants[0].memory_mib == card.memory_mib


def test_work_on_a_vanished_device_neither_fits_nor_breaks() -> None:
    snapshot = replace(pool(), running=(holding("gone", "n7/0"),))
    assert placed(run(snapshot, ask(1, 100))) == ["r1"]


def test_a_device_that_lost_memory_takes_no_more() -> None:
    snapshot = replace(
        pool(), devices=(Device("n0/0", "n0", 500),), running=(holding("w", "n0/0", 10, 1_000),)
    )
    assert reasons(run(snapshot, ask(1, 10, 1)))["r1"].get("free") == 0


@pytest.mark.req("PLAT-OPS-22")
@pytest.mark.parametrize("sliced", [True, False, None])
def test_work_on_the_host_alone_takes_nothing_of_a_device(sliced: bool | None) -> None:
    nodes = tuple(Node(f"n{i}", host_cpu_milli=2000, host_memory_mib=4096) for i in range(2))
    devices = tuple(device(f"n{i}", 0, sliced=sliced) for i in range(2))
    host = ask(1, 0, 0, shares=3, host_cpu_milli=1000, host_memory_mib=1024)
    made = run(replace(pool(), nodes=nodes, devices=devices), host, ask(2, 0, 0, host_cpu_milli=1500))
    placement = only(made)
    assert placement.request_id == "r1"
    assert sorted(Counter(grant.node_id for grant in placement.grants).values()) == [1, 2]
    shares = {(each.compute_percent, each.memory_mib, each.host_cpu_milli) for each in placement.grants}
    assert shares == {(0, 0, 1000)}
    assert reasons(made)["r2"].code is ReasonCode.HOST_CPU
