import ssl
import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import httpx

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.upgrading import Releases, rolled, versions
from apps.conformance.test_cases.waiting import node_ready
from apps.conformance.test_cases.work_observation import PROGRESS, rounds

if TYPE_CHECKING:
    from weir.api_types import RolloutOut

# Between two requests of a thread of `_Load`.
PAUSE_S = 0.25


class GreyUpgrade(TestCase):
    """A node, then the control components and a node are upgraded while work and requests go on (POOL-12.22)."""

    number = "12.22"
    seconds = 60

    def run(self, pool: CaseContext, say: Record) -> None:
        releases = Releases(pool)
        agents = [pool.agent(devices="1x1:512") for _node in range(2)]
        nodes = [node_ready(pool, a.name) for a in agents]
        uids, names = [row["uid"] for row in nodes], [row["name"] for row in nodes]
        works = [
            pool.started(node=uid, compute_percent=10, memory_mib=128, argv=list(PROGRESS)) for uid in uids
        ]
        say.step("S1", "the versions", str(versions(pool, *names)))
        first = releases.add(f"{pool.label}-1")
        with _Load(pool) as load:
            found = rolled(pool, release=first, nodes=uids[:1])
        self._judge(pool, say, ("S2", "E2"), found, load, works)
        say.expect(
            "E2", versions(pool, *names)[names[0]] == first, f"{names[0]} runs {first}, {names[1]} another"
        )
        second = releases.add(f"{pool.label}-2")
        generations = _control(pool)
        with _Load(pool) as load:
            found = rolled(pool, release=second, nodes=uids[1:], server=True, batch=2)
        self._judge(pool, say, ("S3", "E3"), found, load, works)
        now = _control(pool)
        renewed = bool(now) and all(generation > min(generations.values()) for generation in now.values())
        say.expect("E3", renewed, f"the control components' generations went from {generations} to {now}")
        say.expect("E3", versions(pool, *names)[names[1]] == second, f"{names[1]} runs {second}")

    @staticmethod
    def _judge(
        pool: CaseContext, say: Record, names: tuple, found: "RolloutOut", load: "_Load", works: list
    ) -> None:
        step, expectation = names
        text = f"{found['state']} {found['reason']}".strip()
        say.step(
            step,
            "upgrade under load",
            text,
            requests=load.count,
            failed=load.failed,
            slowest_s=load.slowest_s,
        )
        say.expect(expectation, found["state"] == "done", f"the roll-out is {text}")
        evidence = f"{load.failed} of {load.count} requests failed meanwhile {load.problem}".strip()
        say.expect(expectation, load.failed == 0 and load.count > 0, evidence)
        for work in works:
            rows = rounds(pool, work)
            gaps = [after.at_s - before.at_s for before, after in pairwise(rows)]
            one = len({row.process for row in rows}) == 1 and pool.work(work)["state"] == "running"
            seen = f"task {work['name']} is one process throughout, its longest pause {max(gaps, default=0):.1f} s"
            say.expect(expectation, one, seen)


class _Load:
    """Requests all the time from several threads, each once: what fails is counted."""

    def __init__(self, pool: CaseContext) -> None:
        self.count, self.failed, self.slowest_s, self.problem = 0, 0, 0.0, ""
        self._pool, self._over = pool, threading.Event()
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _number in range(2)]
        self._lock = threading.Lock()
        # Made once: each costs more than a request does.
        self._trusted = ssl.create_default_context()

    def __enter__(self) -> "_Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self) -> None:
        headers = {"Authorization": f"Bearer {self._pool.people.tokens['conformance-client-1']}"}
        while not self._over.wait(PAUSE_S):
            began_s, problem = time.monotonic(), ""
            try:
                # A connection of its own each time, as a new visitor has.
                answer = httpx.get(
                    f"{self._pool.url}/api/v1/quota", headers=headers, timeout=120, verify=self._trusted
                )
                problem = "" if answer.is_success else str(answer.status_code)
            except httpx.HTTPError as error:
                problem = type(error).__name__
            with self._lock:
                self.count += 1
                self.failed += bool(problem)
                self.problem = problem or self.problem
                self.slowest_s = round(max(self.slowest_s, time.monotonic() - began_s), 2)


def _control(pool: CaseContext) -> dict[str, int]:
    """The generation that each running process of the control node was started for."""
    return {
        row["name"]: row["config_generation"]
        for row in pool.operator.all("components")
        if row["component"] in ("web", "worker", "beat") and row["state"] == "running"
    }
