"""Work arriving over simulated days, judged by the engine at fixed steps: what the benches of fairness and of
fragmentation run on. Past use fades and is told to the engine as the service layer would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from apps.scheduling.engine.cycle.planner import plan_kept
from apps.scheduling.engine.model.types import (
    Device,
    Node,
    Policy,
    Queue,
    Request,
    RunningWorkload,
    Snapshot,
    Typical,
)
from apps.scheduling.engine.resources.workload_mix import tally
from apps.scheduling.engine.state.scheduler_state import SchedulerState

QUEUE = "work"
CARD_MIB = 81_920
WHOLE = 100
MIX_EVERY_S = 6 * 3600


@dataclass(frozen=True, slots=True)
class Job:
    """Work that comes at `at_s` and runs for `runs_s`: so many shares of so many percent, all on one node."""

    at_s: int
    runs_s: int
    tenant_id: str
    compute_percent: int = WHOLE
    shares: int = 1
    priority: int = 0


@dataclass(slots=True)
class Outcome:
    """`used`: card-percent-seconds by tenant. `waits`: seconds to the start, by place in the list of jobs; what had
    not started by the end has none. `seen`: what the observer said, step by step."""

    used: Counter[str] = field(default_factory=Counter)
    waits: dict[int, int] = field(default_factory=dict)
    seen: list[int] = field(default_factory=list)


def pool(nodes: int, cards: int) -> tuple[tuple[Node, ...], tuple[Device, ...]]:
    """So many equal nodes of so many equal cards."""
    ids = [f"n{i:05}" for i in range(nodes)]
    devices = tuple(Device(f"{node}-d{k}", node, CARD_MIB) for node in ids for k in range(cards))
    return tuple(Node(node) for node in ids), devices


class Simulation:
    """One pool, one policy, and the jobs as they come."""

    def __init__(
        self,
        nodes: int,
        cards: int,
        policy: Policy,
        jobs: Sequence[Job],
        weights: dict[str, int] | None = None,
    ) -> None:
        node_rows, devices = pool(nodes, cards)
        self.warm = SchedulerState(Snapshot(node_rows, devices, (Queue(QUEUE),), policy=policy))
        self._jobs = sorted(jobs, key=lambda job: job.at_s)
        self._weights = weights or {}
        self._past: dict[str, float] = {}
        self._ends: dict[str, int] = {}
        self._mix: tuple[Typical, ...] = ()
        self._arrived = 0

    def run(
        self, until_s: int, step_s: int, observe: Callable[[SchedulerState], int] = lambda warm: 0
    ) -> Outcome:
        """All steps up to `until_s`."""
        outcome = Outcome()
        fade = 0.5 ** (step_s / self.warm.policy.half_life_s)
        for now in range(0, until_s, step_s):
            self._end(now)
            self._arrive(now)
            self._start(now, outcome)
            self._account(step_s, fade, outcome)
            outcome.seen.append(observe(self.warm))
        return outcome

    def _end(self, now: int) -> None:
        for work_id in [work_id for work_id, end in self._ends.items() if end <= now]:
            del self._ends[work_id]
            self.warm.running_drop(work_id)

    def _arrive(self, now: int) -> None:
        requests = []
        while self._arrived < len(self._jobs) and self._jobs[self._arrived].at_s <= now:
            requests.append(self._request(self._arrived))
            self._arrived += 1
        for request in requests:
            self.warm.request_put(request)
        self._mix = tally(requests, self._mix)
        if now % MIX_EVERY_S == 0:
            self.warm.mix_put(self._mix)

    def _request(self, at: int) -> Request:
        job = self._jobs[at]
        mib = CARD_MIB * job.compute_percent // WHOLE
        return Request(
            f"j{at:06}", job.tenant_id, QUEUE, at, job.compute_percent, mib, job.shares, priority=job.priority,
            exclusive=job.compute_percent == WHOLE, single_node=True, submitted_at_s=job.at_s, duration_s=job.runs_s,
        )  # fmt: skip

    def _start(self, now: int, outcome: Outcome) -> None:
        self.warm.shares_put({tenant: int(used) for tenant, used in self._past.items()}, self._weights)
        for placement in plan_kept(self.warm, now, seed=1).placements:
            at = int(placement.request_id[1:])
            job = self._jobs[at]
            self.warm.request_drop(placement.request_id)
            self.warm.running_put(
                RunningWorkload(
                    placement.request_id, job.tenant_id, QUEUE, placement.grants, now + job.runs_s,
                    priority=job.priority, started_at_s=now,
                )
            )  # fmt: skip
            self._ends[placement.request_id] = now + job.runs_s
            outcome.waits[at] = now - job.at_s

    def _account(self, step_s: int, fade: float, outcome: Outcome) -> None:
        for tenant, used in self._past.items():
            self._past[tenant] = used * fade
        for work in self.warm.running.values():
            percent = sum(grant.compute_percent for grant in work.grants)
            outcome.used[work.tenant_id] += percent * step_s
            self._past[work.tenant_id] = self._past.get(work.tenant_id, 0) + percent * step_s / WHOLE
