"""Small pools and requests for the engine's tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.cycle.planner import plan
from apps.scheduling.engine.model.types import (
    Device,
    Grant,
    Node,
    Placement,
    Policy,
    Queue,
    Reason,
    Request,
    RunningWorkload,
    Snapshot,
)

CARD_MIB = 10_000


def device(node_id: str, number: int, **more: Any) -> Device:
    """The node's device `number`, of 10,000 MiB unless said otherwise."""
    return Device(**{"id": f"{node_id}/{number}", "node_id": node_id, "memory_mib": CARD_MIB, **more})


def pool(nodes: int = 1, cards: int = 1, **more: Any) -> Snapshot:
    """Equal nodes n0, n1, … with equal devices n0/0, n0/1, … and one queue "q"."""
    ids = [f"n{i}" for i in range(nodes)]
    return replace(
        Snapshot(
            nodes=tuple(Node(node_id) for node_id in ids),
            devices=tuple(device(node_id, k) for node_id in ids for k in range(cards)),
            queues=(Queue("q"),),
        ),
        **more,
    )


def ask(seq: int, percent: int = 50, mib: int = 1_000, **more: Any) -> Request:
    """Request r<seq> of tenant acme in queue q."""
    fields = {"id": f"r{seq}", "tenant_id": "acme", "queue_id": "q", "submitted_seq": seq}
    return Request(**{**fields, "compute_percent": percent, "memory_mib": mib, **more})


def holding(name: str, device_id: str, percent: int = 50, mib: int = 1_000, **more: Any) -> RunningWorkload:
    """Work of tenant acme in queue q that holds one share of a device."""
    grant = Grant(device_id, device_id.split("/")[0], percent, mib, more.pop("exclusive", False))
    return RunningWorkload(**{"id": name, "tenant_id": "acme", "queue_id": "q", "grants": (grant,), **more})


def run(snapshot: Snapshot, *requests: Request, now: int = 0, seed: int = 1) -> Plan:
    """The plan for these requests on the snapshot."""
    return plan(replace(snapshot, requests=requests), now=now, seed=seed)


def placed(made: Plan) -> list[str]:
    """Identities of the placed requests, in the order of judging."""
    return [placement.request_id for placement in made.placements]


def reasons(made: Plan) -> dict[str, Reason]:
    """Reason by request."""
    return {refusal.request_id: refusal.reason for refusal in made.refusals}


def only(made: Plan) -> Placement:
    """The plan's one placement."""
    (placement,) = made.placements
    return placement


def on_nodes(made: Plan) -> list[str]:
    """Node of each share granted, in the order of judging."""
    return [grant.node_id for placement in made.placements for grant in placement.grants]


def with_policy(snapshot: Snapshot, **more: Any) -> Snapshot:
    """The snapshot under a policy."""
    return replace(snapshot, policy=Policy(**more))
