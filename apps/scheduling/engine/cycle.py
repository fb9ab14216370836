"""One scheduling cycle: `plan` turns a snapshot into placements and refusals."""

from __future__ import annotations

from apps.scheduling.engine.types import Plan, Snapshot


def plan(snapshot: Snapshot, *, now: int, seed: int) -> Plan:
    """Judge every waiting request once; `now` in seconds since 1970. The same arguments give the same plan."""
    return Plan()
