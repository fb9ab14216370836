from datetime import datetime

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.people import SCHEMA
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase

QUEUE = "conformance"


class Queue(TestCase):
    """Short of resources, tasks wait; the one of higher priority is served first (POOL-12.10)."""

    number = "12.10"
    seconds = 20

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        self._queue(pool)
        body = {"queue": QUEUE, "device": device["uid"], "compute_percent": 100, "memory_mib": 256}
        first = pool.started(priority=5, **body)
        say.step("S1", "task 1: the whole card", first["state"])
        second = pool.submit(priority=1, **body)
        say.step("S2", "task 2, priority 1", second["state"])
        third = pool.submit(priority=9, **body)
        say.step("S3", "task 3, priority 9", third["state"])
        for work in (second, third):
            waiting = pool.until("its place in the queue", lambda work=work: self._waiting(pool, work))
            text = f"place {waiting['position']}, priority {waiting['priority']}: {waiting['reason']}"
            say.step("S4", f"{waiting['name']} in the queue", text)
            is_queued = waiting["state"] == "pending" and bool(waiting["reason"]) and waiting["position"]
            say.expect("E2", is_queued, f"it is {waiting['state']}, {text}")
        ahead = (pool.work(third)["position"] or 0) < (pool.work(second)["position"] or 0)
        say.expect("E2", ahead, "task 3 stands before task 2")
        pool.halt(first)
        third = pool.in_state(third, "running")
        still = pool.work(second)
        say.expect("E3", still["state"] == "pending", f"task 3 runs, task 2 is {still['state']}")
        pool.halt(third)
        second = pool.in_state(second, "running")
        say.expect("E4", second["state"] == "running", "task 2 runs after task 3 has ended")
        self._order(pool, say, [first, third, second])

    @staticmethod
    def _queue(pool: CaseContext) -> None:
        """A queue that serves by priority, for the test's tenant alone; made once, shut between runs."""
        pool.note("queue", QUEUE)
        settings = {"state": "up", "ordering": "priority", "tenants": [SCHEMA]}
        if any(row["code"] == QUEUE for row in pool.operator.all("queues")):
            pool.operator.call("PATCH", f"queues/{QUEUE}", settings)
        else:
            names = {"code": QUEUE, "name_en": "Conformance test", "name_zh": "合规测试"}
            pool.operator.post("queues", {**names, **settings})

    @staticmethod
    def _waiting(pool: CaseContext, work: dict) -> dict | None:
        """The work once the scheduler has looked at it, or has given it a place."""
        found = pool.work(work)
        return found if found["state"] != "pending" or (found["reason"] and found["position"]) else None

    @staticmethod
    def _order(pool: CaseContext, say: Record, works: list[dict]) -> None:
        """Start and end of each, from the portal's own instants."""
        one, three, two = (pool.work(work) for work in works)
        instants = [
            one["started_at"],
            one["ended_at"],
            three["started_at"],
            three["ended_at"],
            two["started_at"],
        ]
        order = [datetime.fromisoformat(instant) for instant in instants]
        text = " ≤ ".join(instant.strftime("%H:%M:%S.%f")[:-3] for instant in order)
        say.step("S4", "run 1, end 1, run 3, end 3, run 2", text)
        say.expect("E4", order == sorted(order), f"in order: {text}")
