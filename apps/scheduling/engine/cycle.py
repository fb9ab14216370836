"""One scheduling cycle: `plan` turns a snapshot into what is to be started, and why the rest waits."""

from __future__ import annotations

from apps.scheduling.engine.types import Plan, Snapshot
from apps.scheduling.engine.warm import Warm


def plan(snapshot: Snapshot, *, now: int, seed: int) -> Plan:
    """Judge every waiting request once; `now` in seconds since 1970. The same arguments give the same plan.

    Raises ValueError when the snapshot contradicts itself: a cycle in the tree of queues, a second request or
    queue of one identity.
    """
    return Warm(snapshot).plan_last(now, seed)
