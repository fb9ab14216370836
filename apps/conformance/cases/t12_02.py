from apps.conformance.cases.base import Case
from apps.conformance.cases.seen import PROGRESS, amounts_of, rate_of, rounds_of, whole_log
from apps.conformance.running.ground import Ground
from apps.conformance.running.record import Record

START = (40, 256)
LOW, HIGH, FOLLOWS, LOOKS = 10, 60, 1.6, 8
STEPS = ((41, 257), (40, 256), (80, 512), (20, 192))
# Takes 16 MiB at a time until it is refused, and says how many it got; then lives on.
EATER = (
    "python",
    "-c",
    "import os, time\n"
    "print('PID', os.getpid(), flush=True)\n"
    "while True:\n"
    "    held = []\n"
    "    try:\n"
    "        while len(held) < 64: held.append(bytearray(16 * 2**20))\n"
    "        print('HELD', 16 * len(held), 'all', flush=True)\n"
    "    except MemoryError:\n"
    "        print('HELD', 16 * len(held), 'refused', flush=True)\n"
    "    del held\n"
    "    time.sleep(0.5)",
)


class Resize(Case):
    """Amounts change while the work runs: the same process goes on (POOL-12.2)."""

    number = "12.2"
    seconds = 25

    def run(self, pool: Ground, say: Record) -> None:
        (device,) = pool.take(fits=lambda row: row["memory_mib"] >= 1024)
        work = pool.started(
            device=device["uid"], compute_percent=START[0], memory_mib=START[1], argv=list(PROGRESS)
        )
        pid, began, *_rest = pool.until("a round", lambda: rounds_of(whole_log(pool, work)) or None)[0]
        say.step("S1", f"a task with {START[0]} % and {START[1]} MiB", f"process {pid} runs", started=began)
        for percent, mib in STEPS:
            self._resize(pool, say, work, percent, mib)
        self._follows(pool, say, work)
        last = rounds_of(whole_log(pool, work))[-1]
        same = (last[0], last[1]) == (pid, began)
        say.expect("E2", same, f"process {pid}, begun at {began}, is process {last[0]}, begun at {last[1]}")
        found = pool.work(work)
        kept = found["started_at"] == work["started_at"] and found["state"] == "running"
        say.expect("E2", kept, f"the task is {found['state']} and started at {found['started_at']} as before")
        pool.halt(work)
        self._memory(pool, say, device)

    @staticmethod
    def _resize(pool: Ground, say: Record, work: dict, percent: int, mib: int) -> None:
        pool.client.post(f"workloads/{work['uid']}/resize", {"compute_percent": percent, "memory_mib": mib})
        found = pool.work(work)
        given = amounts_of(found)
        say.step("S2", f"{percent} % and {mib} MiB", f"{given[0]} % and {given[1]} MiB")
        say.expect("E2", given == (percent, mib), f"after asking {percent} % and {mib} MiB it has {given}")

    def _follows(self, pool: Ground, say: Record, work: dict) -> None:
        """Throughput follows the share. On a busy machine a single look may say little: then it looks again."""
        ratio = 0.0
        for _look in range(LOOKS):
            low, high = (self._rate(pool, work, percent) for percent in (LOW, HIGH))
            ratio = high / low
            seen = f"{low:.0f} and {high:.0f} rounds a second"
            say.step("S2", f"throughput with {LOW} % and with {HIGH} %", seen)
            if ratio > FOLLOWS:
                break
        say.expect("E2", ratio > FOLLOWS, f"{HIGH} % gives {ratio:.2f} times the throughput of {LOW} %")

    @staticmethod
    def _rate(pool: Ground, work: dict, percent: int) -> float:
        pool.client.post(f"workloads/{work['uid']}/resize", {"compute_percent": percent, "memory_mib": 256})
        pool.sleep(1.5)
        return rate_of(pool, work, 3)

    @staticmethod
    def _memory(pool: Ground, say: Record, device: dict) -> None:
        """Memory beyond the new limit is refused, and given again when the limit rises."""
        work = pool.started(device=device["uid"], compute_percent=20, memory_mib=128, argv=list(EATER))
        small = _held(pool, work, 0)
        pool.client.post(f"workloads/{work['uid']}/resize", {"compute_percent": 20, "memory_mib": 512})
        large = _held(pool, work, 128)
        say.step("S2", "memory with 128 MiB, then 512 MiB", f"{small} MiB, then {large} MiB could be held")
        found = f"with 128 MiB {small} MiB could be held, with 512 MiB {large} MiB; the rest was refused"
        say.expect("E2", small < 128 < large < 512, found)
        pids = {line for line in whole_log(pool, work).splitlines() if line.startswith("PID")}
        say.expect("E2", len(pids) == 1, "the process that was refused memory lives on")


def _held(pool: Ground, work: dict, above: int) -> int:
    def look() -> int | None:
        lines = [line.split() for line in whole_log(pool, work).splitlines() if line.startswith("HELD")]
        found = [int(words[1]) for words in lines if len(words) == 3]
        return found[-1] if found and found[-1] > above else None

    return pool.until(f"more than {above} MiB to be held", look)
