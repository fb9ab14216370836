"""How tests look at work: what it was given, what it sees itself, how fast it runs."""

import json
from dataclasses import dataclass
from typing import Any

from apps.conformance.harness.case_context import CaseContext

Json = dict[str, Any]
INSIDE = (
    "python",
    "-c",
    "import json, os, time\n"
    "print('INSIDE', json.dumps([os.environ.get('WEIR_COMPUTE_PERCENT'), os.environ.get('WEIR_MEMORY_MIB')]),"
    " flush=True)\n"
    "time.sleep(600)",
)
# Computes a known sum and tells it, again and again; tells its process, when that began, and the processor time that
# it used. Between two lines it computes without pause, or rests.
_ROUNDS = (
    "import os, time\n"
    "began, rounds = time.time(), 0\n"
    "while True:\n"
    "    until = time.time() + {compute_s}\n"
    "    while True:\n"
    "        total = sum(range(20000)); rounds += 1\n"
    "        if time.time() >= until: break\n"
    "    print('ROUND', os.getpid(), round(began, 3), rounds, total, round(time.time(), 3),"
    " round(time.process_time(), 4), flush=True)\n"
    "    time.sleep({rest_s})"
)
PROGRESS = ("python", "-c", _ROUNDS.format(compute_s=0, rest_s=0.2))
THROUGHPUT = ("python", "-c", _ROUNDS.format(compute_s=0.1, rest_s=0))
EXACT = sum(range(20000))


@dataclass(frozen=True)
class ProgressLine:
    """A line of `PROGRESS` or `THROUGHPUT`: times in seconds, `total` as printed."""

    pid: str
    began: str
    rounds: int
    total: str
    at_s: float
    processor_s: float

    @property
    def process(self) -> tuple[str, str]:
        """What tells the process from every other: its number and when it began."""
        return self.pid, self.began


def amounts_of(work: Json) -> tuple[int, int]:
    """Compute percent and memory MiB of the work's first share, as granted."""
    grant = work["grants"][0]
    return grant["compute_percent"], grant["memory_mib"]


def devices_of(work: Json) -> list[str]:
    return [grant["device_uid"] for grant in work["grants"]]


def nodes_of(work: Json) -> list[str]:
    return [grant["node"] for grant in work["grants"]]


def inside(pool: CaseContext, work: Json) -> tuple[int, int]:
    """What a program that runs `INSIDE` sees of its own share."""
    line = next(row for row in pool.says(work, '"]').splitlines() if row.startswith("INSIDE"))
    percent, mib = json.loads(line.removeprefix("INSIDE "))
    return int(percent), int(mib)


def rounds_of(printed: str) -> list[ProgressLine]:
    """The whole lines of `PROGRESS` or `THROUGHPUT`, in order."""
    rows = [line.split() for line in printed.splitlines(keepends=True) if line.endswith("\n")]
    return [
        ProgressLine(pid, began, int(rounds), total, float(at_s), float(processor_s))
        for _word, pid, began, rounds, total, at_s, processor_s in (
            row for row in rows if len(row) == 7 and row[0] == "ROUND"
        )
    ]


def rounds(pool: CaseContext, work: Json, least: int = 1) -> list[ProgressLine]:
    """Wait until the work has told so many rounds; all it told."""

    def look() -> list[ProgressLine] | None:
        found = rounds_of(whole_log(pool, work))
        return found if len(found) >= least else None

    return pool.until(f"{least} rounds of {work['name']}", look)


def whole_log(pool: CaseContext, work: Json) -> str:
    """All that work printed, piece by piece."""
    text, offset = "", 0
    while True:
        part = pool.client.log(work["uid"], offset)
        if not part["text"]:
            return text
        text, offset = text + part["text"], part["next_offset"]
