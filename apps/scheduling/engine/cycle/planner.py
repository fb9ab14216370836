"""One scheduling cycle: what is to be started, and why the rest waits."""

from __future__ import annotations

from apps.scheduling.engine.cycle.cycle_pass import CyclePass
from apps.scheduling.engine.cycle.gc_pause import unsearched
from apps.scheduling.engine.cycle.plan import Plan
from apps.scheduling.engine.model.types import Snapshot
from apps.scheduling.engine.state.pass_state import PassState
from apps.scheduling.engine.state.scheduler_state import SchedulerState


def plan(snapshot: Snapshot, *, now: int, seed: int) -> Plan:
    """Judge every waiting request once; `now` in seconds since 1970. The same arguments give the same plan.

    Raises ValueError when the snapshot contradicts itself: a cycle in the tree of queues, a second request or
    queue of one identity.
    """
    with unsearched():
        state = SchedulerState(snapshot)
        state.settle()
        return CyclePass(PassState(state, now, seed)).run()


def plan_kept(state: SchedulerState, now: int, seed: int) -> Plan:
    """Judge all that waits on a state that is kept between cycles, and leave it as it was; `now` in seconds since
    1970."""
    with unsearched():
        state.settle()
        passing = PassState(state, now, seed)
        try:
            return CyclePass(passing).run()
        finally:
            passing.undo()
