from concurrent.futures import ThreadPoolExecutor

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import CaseFailed, Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.waiting import oversubscribe
from apps.conformance.test_cases.work_observation import devices_of

SHARE = 70
# Computes a known sum for a second, then says it.
SUM = (
    "python",
    "-c",
    "import time\n"
    "until = time.time() + 1\n"
    "while time.time() < until: total = sum(range(20000))\n"
    "print('SUM', total, flush=True); time.sleep(600)",
)


class OverSubscription(TestCase):
    """Two tasks of 70 % compute and 70 % memory each on one card (POOL-12.5)."""

    number = "12.5"
    seconds = 15

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        memory_mib = device["memory_mib"] * SHARE // 100
        pool.device_kept(device)
        self._plain(pool, say, device, memory_mib)
        oversubscribe(pool, device, 2000)
        asked = f"{2 * SHARE} % and {2 * memory_mib} MiB on {device['memory_mib']} MiB"
        say.step("S1", "two tasks of 70 % compute and 70 % memory", asked, permille=2000)
        say.step("S2", "both directed to the same card", device["uid"])
        works = self._both(pool, device, memory_mib)
        say.step("S3", "both started at once", ", ".join(work["state"] for work in works))
        sums = [_sum(pool.says(work, "SUM")) for work in works]
        cards = {uid for work in works for uid in devices_of(work)}
        say.expect("E2", cards == {device["uid"]}, f"both run on {', '.join(sorted(cards))}")
        right = sum(range(20000))
        say.expect("E2", sums == [right, right], f"their results are {sums}, {right} is right")
        held = pool.device(device["uid"])
        text = (
            f"the card holds {held['held_percent']} % and {held['held_mib']} MiB of {held['memory_mib']} MiB"
        )
        say.expect("E2", held["held_percent"] > 100 and held["held_mib"] > held["memory_mib"], text)

    def _plain(self, pool: CaseContext, say: Record, device: dict, memory_mib: int) -> None:
        """With over-subscription off the second waits, whatever the card was set to before."""
        oversubscribe(pool, device, 1000)
        first, second = self._both(pool, device, memory_mib, is_first_only=True)
        waiting = pool.considered(second)
        say.step(
            "S3",
            "the same with over-subscription off",
            f"the second is {waiting['state']}: {waiting['reason']}",
        )
        say.expect("E2", waiting["state"] == "pending", f"without it the second waits: {waiting['reason']}")
        for work in (second, first):
            pool.halt(work)

    @staticmethod
    def _both(pool: CaseContext, device: dict, memory_mib: int, *, is_first_only: bool = False) -> list[dict]:
        body = {
            "device": device["uid"],
            "compute_percent": SHARE,
            "memory_mib": memory_mib,
            "argv": list(SUM),
        }
        if is_first_only:
            return [pool.started(**body), pool.submit(**body)]
        first = pool.submit(**body)
        with ThreadPoolExecutor(1) as other:
            second = other.submit(
                pool.client.post, "workloads", {**body, "name": pool.name(), "kind": "program"}
            )
            return [pool.in_state(work, "running") for work in (first, second.result())]


def _sum(printed: str) -> int:
    for line in printed.splitlines():
        if line.startswith("SUM"):
            return int(line.split()[1])
    raise CaseFailed("it printed no sum")
