from datetime import datetime

from apps.conformance.catalogue.tolerances import RUN_TIME
from apps.conformance.harness.case_context import BUSY, CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase

RUN_S = 30
TOLERANCE_S = RUN_TIME.value


class RunTimeout(TestCase):
    """After 30 seconds of running a task ends, its terminal says so, the card is free (POOL-12.12)."""

    number = "12.12"
    is_waiting = True
    seconds = 45

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        body = {"device": device["uid"], "compute_percent": 2, "memory_mib": 256, "argv": list(BUSY)}
        work = pool.started(run_timeout_s=RUN_S, **body)
        say.step("S1", f"a busy task with a run timeout of {RUN_S} s", work["state"], run_timeout_s=RUN_S)
        set_s = work["run_timeout_s"]
        say.expect("E2", set_s == RUN_S, f"its run timeout is {set_s} s")
        ended = pool.ended(work, patience_s=RUN_S + 270)
        ran_s = (_at(ended["ended_at"]) - _at(ended["started_at"])).total_seconds()
        printed = pool.says(work, "[weir]")
        told = next(line for line in printed.splitlines() if "[weir]" in line)
        say.step(
            "S2", "its end", f"{ended['state']}: {ended['reason']}", seconds=round(ran_s, 2), terminal=told
        )
        met = abs(ran_s - RUN_S) <= TOLERANCE_S
        say.expect("E2", met, f"it ran {ran_s:.1f} s (tolerance {TOLERANCE_S:.0f} s)")
        code = ended["reason_code"]
        say.expect("E2", code == "run_timeout", f"it ended with {code}: {ended['reason']}")
        say.expect("E2", bool(told), f"the terminal says: {told}")
        free = pool.until("the card to be free", lambda: not pool.device(device["uid"])["held_percent"])
        say.expect("E2", free, "the card is free again")


def _at(instant: str) -> datetime:
    return datetime.fromisoformat(instant)
