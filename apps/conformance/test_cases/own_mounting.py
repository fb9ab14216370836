from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.scripts import BEGIN, Script, session

FIRST = BEGIN + "a = torch.randn(256, 256).to('weir:0')\nfloat((a @ a)[0, 0])\ntime.sleep(60)"


class MountedLate(TestCase):
    """A share is held from the start and mounted with its first use (POOL-7.6c)."""

    number = "7.6c"
    seconds = 20

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        work, shares = session(pool, device=device["uid"], compute_percent=30, memory_mib=256)
        pool.sleep(3)
        found = pool.work(work)["grants"][0]
        held = pool.device(device["uid"])["held_percent"]
        text = f"{held} % of the card is held, mounted: {found['mounted']}, in use {found['memory_used_mib']} MiB"
        say.step("S1", "a session without work", text)
        is_only_held = held == 30 and not found["mounted"] and not found["memory_used_mib"]
        say.expect("E2", is_only_held, text)
        Script(pool, FIRST, shares)
        mounted = pool.until("the share to be mounted", lambda: _mounted(pool, work))
        text = f"mounted: {mounted['mounted']}, in use {mounted['memory_used_mib']} MiB"
        say.step("S2", "its first computation", text)
        say.expect("E3", mounted["mounted"], text)


def _mounted(pool: CaseContext, work: dict) -> dict | None:
    grant = pool.work(work)["grants"][0]
    return grant if grant["mounted"] and grant["memory_used_mib"] is not None else None
