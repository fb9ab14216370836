from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.work_observation import (
    EXACT,
    PROGRESS,
    amounts_of,
    rounds,
    rounds_of,
    whole_log,
)

# Takes memory without end: it dies of it.
GREEDY = (
    "python",
    "-c",
    "held = []\nwhile True: held.append(bytearray(8 * 2**20)); print('HELD', 8 * len(held), flush=True)",
)


class FaultIsolation(TestCase):
    """One of two tasks on a card dies of memory; the other computes on, its limits unchanged (POOL-12.24)."""

    number = "12.24"
    seconds = 15

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        body = {"device": device["uid"], "compute_percent": 40}
        good = pool.started(memory_mib=256, argv=list(PROGRESS), **body)
        before = amounts_of(good)
        alone_mib = pool.device(device["uid"])["held_mib"]
        count = len(rounds(pool, good))
        dead = pool.ended(pool.submit(memory_mib=192, argv=list(GREEDY), **body))
        printed = whole_log(pool, dead)
        say.step("S1", "two tasks on one card", f"both ran on {device['uid']}", started=dead["started_at"])
        say.expect("E2", "HELD" in printed, "the faulty task had taken memory before it ended")
        end = f"{dead['state']}, {dead['reason_code']}: {dead['reason']}"
        say.step("S2", "one takes memory until it may not", end)
        text = f"the faulty task ended: {end}"
        say.expect("E2", dead["state"] == "failed" and "memory" in printed.lower() + end.lower(), text)
        self._other(pool, say, good, before, count)
        now = pool.until("the memory to be reclaimed", lambda: _reclaimed(pool, device, alone_mib))
        say.expect(
            "E2", now == alone_mib, f"the dead task's memory is reclaimed: the card holds {now} MiB again"
        )

    @staticmethod
    def _other(pool: CaseContext, say: Record, good: dict, before: tuple, count: int) -> None:
        """It computes on: ten rounds more than when the faulty one began, and some after its end."""
        ended = len(rounds_of(whole_log(pool, good)))
        rows = rounds(pool, good, max(count + 10, ended + 3))
        found = pool.work(good)
        say.step("S3", "the other task", f"{found['state']}, {len(rows)} rounds", rounds_before=count)
        say.expect("E2", found["state"] == "running", f"the other task is {found['state']}")
        exact = {row.total for row in rows} == {str(EXACT)} and len({row.process for row in rows}) == 1
        say.expect("E2", exact, f"all its {len(rows)} results are right, by one process")
        say.expect("E2", amounts_of(found) == before, f"its limits are {amounts_of(found)} as before")


def _reclaimed(pool: CaseContext, device: dict, held_mib: int) -> int | None:
    now = pool.device(device["uid"])["held_mib"]
    return now if now <= held_mib else None
