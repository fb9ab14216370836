from collections.abc import Callable
from dataclasses import dataclass

from apps.conformance.catalogue import tolerances
from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.work_observation import (
    THROUGHPUT,
    ProgressLine,
    amounts_of,
    rounds,
    whole_log,
)

START = (40, 256)
LOW, HIGH = int(tolerances.RESIZE_LOW.value), int(tolerances.RESIZE_HIGH.value)
HELD, FOLLOWS = tolerances.RESIZE_HELD.value, tolerances.RESIZE_FOLLOWS.value
WINDOW_S = 2.0
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


class Resize(TestCase):
    """Amounts change while the work runs: the same process goes on (POOL-12.2)."""

    number = "12.2"
    seconds = 25

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take(fits=lambda row: row["memory_mib"] >= 1024)
        work = pool.started(
            device=device["uid"], compute_percent=START[0], memory_mib=START[1], argv=list(THROUGHPUT)
        )
        first = rounds(pool, work)[0]
        text = f"process {first.pid} runs"
        say.step("S1", f"a task with {START[0]} % and {START[1]} MiB", text, started=first.began)
        for percent, mib in STEPS:
            self._resize(pool, say, work, percent, mib)
        self._follows(pool, say, work, device["cores"] or 1)
        last = rounds(pool, work)[-1]
        text = f"process {first.pid}, begun at {first.began}, is process {last.pid}, begun at {last.began}"
        say.expect("E2", last.process == first.process, text)
        found = pool.work(work)
        kept = found["started_at"] == work["started_at"] and found["state"] == "running"
        say.expect("E2", kept, f"the task is {found['state']} and started at {found['started_at']} as before")
        pool.halt(work)
        self._memory(pool, say, device)

    @staticmethod
    def _resize(pool: CaseContext, say: Record, work: dict, percent: int, mib: int) -> None:
        pool.client.post(f"workloads/{work['uid']}/resize", {"compute_percent": percent, "memory_mib": mib})
        found = pool.work(work)
        given = amounts_of(found)
        say.step("S2", f"{percent} % and {mib} MiB", f"{given[0]} % and {given[1]} MiB")
        say.expect("E2", given == (percent, mib), f"after asking {percent} % and {mib} MiB it has {given}")

    @staticmethod
    def _follows(pool: CaseContext, say: Record, work: dict, cores: int) -> None:
        """Throughput follows the share: both looks wait until the change is felt.

        What holds it back is told by the processor time that it used, which on a busy machine is less, never more;
        what it gains is a ratio within the run.
        """
        body = {"memory_mib": START[1]}
        pool.client.post(f"workloads/{work['uid']}/resize", {**body, "compute_percent": LOW})
        low = pool.until(
            f"{LOW} % to be felt", lambda: _felt(pool, work, cores, lambda it: it.percent <= LOW * HELD)
        )
        pool.client.post(f"workloads/{work['uid']}/resize", {**body, "compute_percent": HIGH})
        high = pool.until(
            f"{HIGH} % to be felt", lambda: _felt(pool, work, cores, lambda it: it.rate > low.rate * FOLLOWS)
        )
        for percent, it in ((LOW, low), (HIGH, high)):
            seen = f"{it.rate:.0f} rounds a second with {it.percent:.1f} % of the card's processors"
            say.step("S2", f"throughput with {percent} %", seen)
        text = (
            f"with {LOW} % it got {low.percent:.1f} % of the card's processors (at most {LOW * HELD:.0f} %)"
        )
        say.expect("E2", low.percent <= LOW * HELD, text)
        ratio = high.rate / low.rate
        text = f"{HIGH} % gives {ratio:.2f} times the throughput of {LOW} % (more than {FOLLOWS})"
        say.expect("E2", ratio > FOLLOWS, text)

    @staticmethod
    def _memory(pool: CaseContext, say: Record, device: dict) -> None:
        """Memory beyond the new limit is refused, and given again when the limit rises."""
        work = pool.started(device=device["uid"], compute_percent=20, memory_mib=128, argv=list(EATER))
        small = _held_memory_mib(pool, work, 0)
        pool.client.post(f"workloads/{work['uid']}/resize", {"compute_percent": 20, "memory_mib": 512})
        large = _held_memory_mib(pool, work, 128)
        say.step("S2", "memory with 128 MiB, then 512 MiB", f"{small} MiB, then {large} MiB could be held")
        found = f"with 128 MiB {small} MiB could be held, with 512 MiB {large} MiB; the rest was refused"
        say.expect("E2", small < 128 < large < 512, found)
        pids = {line for line in whole_log(pool, work).splitlines() if line.startswith("PID")}
        say.expect("E2", len(pids) == 1, "the process that was refused memory lives on")


@dataclass(frozen=True)
class _Speed:
    """Rounds a second, and percent of the card's processors that they took."""

    rate: float
    percent: float


def _felt(pool: CaseContext, work: dict, cores: int, is_it: Callable[[_Speed], bool]) -> _Speed | None:
    """How fast the work was over the last seconds, once that is as looked for."""
    found = _speed(rounds(pool, work, 2), cores)
    return found if found and is_it(found) else None


def _speed(progress: list[ProgressLine], cores: int) -> _Speed | None:
    last = progress[-1]
    first = next((row for row in reversed(progress) if last.at_s - row.at_s >= WINDOW_S), None)
    if first is None:
        return None
    wall_s, processor_s = last.at_s - first.at_s, last.processor_s - first.processor_s
    return _Speed((last.rounds - first.rounds) / wall_s, 100 * processor_s / wall_s / cores)


def _held_memory_mib(pool: CaseContext, work: dict, above: int) -> int:
    def look() -> int | None:
        lines = [line.split() for line in whole_log(pool, work).splitlines() if line.startswith("HELD")]
        found = [int(words[1]) for words in lines if len(words) == 3]
        return found[-1] if found and found[-1] > above else None

    return pool.until(f"more than {above} MiB to be held", look)
