from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.waiting import oversubscribe
from apps.conformance.test_cases.work_observation import devices_of


class Affinity(TestCase):
    """Tasks of one affinity share a card under over-subscription, though the policy balances (POOL-12.9)."""

    number = "12.9"
    seconds = 12

    def run(self, pool: CaseContext, say: Record) -> None:
        devices = pool.take(2)
        for device in devices:
            pool.device_kept(device)
            oversubscribe(pool, device, 2000)
        group = pool.group(devices)
        body = {
            "resource_group": group,
            "compute_percent": 100,
            "memory_mib": 256,
            "placing": "device_balanced",
        }
        near = [pool.started(affinity=pool.label, **body) for _task in range(2)]
        for name, work in zip(("S1", "S2"), near, strict=True):
            say.step(
                name, "a task of 100 % with affinity, under a balancing policy", ", ".join(devices_of(work))
            )
        cards = {uid for work in near for uid in devices_of(work)}
        say.step("S3", "the cards of both", ", ".join(sorted(cards)))
        say.expect("E2", len(cards) == 1, f"with affinity both are on {', '.join(sorted(cards))}")
        for work in near:
            pool.halt(work)
        far = [pool.started(**body) for _task in range(2)]
        cards = {uid for work in far for uid in devices_of(work)}
        say.step("S3", "the same without affinity", ", ".join(sorted(cards)))
        say.expect("E2", len(cards) == 2, f"without affinity they are on {len(cards)} cards")
