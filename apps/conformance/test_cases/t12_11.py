from apps.conformance.catalogue import tolerances
from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.scripts import BEGIN, Script, session

IDLE_S = 30
# Early by what the clock of the last line says, late by what a busy machine takes to tell.
EARLY_S, LATE_S = tolerances.IDLE_EARLY.value, tolerances.IDLE_LATE.value
# Computes, rests 5 seconds, computes once more (which begins the time anew), and only waits from then on.
TWICE = (
    BEGIN
    + """
a = torch.randn(128, 128).to('weir:0')
print('FIRST', float((a @ a)[0, 0].cpu() * 0), flush=True)
time.sleep(5)
float((a @ a)[0, 0])
print('LAST', flush=True)
time.sleep(600)
"""
)


class IdleTimeout(TestCase):
    """30 seconds after its last use of the card, a task loses it and its terminal says so (POOL-12.11)."""

    number = "12.11"
    is_waiting = True
    seconds = 50

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        body = {"device": device["uid"], "compute_percent": 20, "memory_mib": 256}
        work, shares = session(pool, idle_timeout_s=IDLE_S, **body)
        say.step("S1", f"a task with an idle timeout of {IDLE_S} s", work["state"], idle_timeout_s=IDLE_S)
        set_s = work["idle_timeout_s"]
        say.expect("E2", set_s == IDLE_S, f"its idle timeout is {set_s} s")
        script = Script(pool, TWICE, shares)
        script.says("FIRST")
        last_at, _line = script.says("LAST")
        say.step("S2", "a computation, and another 5 s later", "both done")
        told_at, told = script.says("released", patience_s=IDLE_S + 270)
        waited_s = told_at - last_at
        ended = pool.ended(work)
        say.step("S3", "the terminal after the last use", told, seconds=round(waited_s, 2))
        text = f"{waited_s:.1f} s after the last use the terminal says: {told}"
        is_met = -EARLY_S <= waited_s - IDLE_S <= LATE_S
        say.expect("E2", is_met, f"{text} (tolerance {EARLY_S:.0f} s before, {LATE_S:.0f} s after)")
        say.expect(
            "E2", ended["reason_code"] == "idle_timeout", f"the task is {ended['state']}: {ended['reason']}"
        )
        held = pool.until("the card to be free", lambda: _free(pool, device))
        say.expect("E2", held == "free", "the allocation is given back")


def _free(pool: CaseContext, device: dict) -> str | None:
    found = pool.device(device["uid"])
    return "free" if not found["held_percent"] and not found["held_mib"] else None
