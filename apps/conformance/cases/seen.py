"""How tests look at work: what it was given, what it sees itself, how fast it runs."""

import json
from typing import Any

from apps.conformance.running.ground import Ground

Json = dict[str, Any]
INSIDE = (
    "python",
    "-c",
    "import json, os, time\n"
    "print('INSIDE', json.dumps([os.environ.get('WEIR_COMPUTE_PERCENT'), os.environ.get('WEIR_MEMORY_MIB')]),"
    " flush=True)\n"
    "time.sleep(600)",
)
# Computes a known sum and tells it, again and again; tells its process and when that began.
PROGRESS = (
    "python",
    "-c",
    "import os, time\n"
    "began, rounds = time.time(), 0\n"
    "while True:\n"
    "    total, until = 0, time.time() + 0.2\n"
    "    while time.time() < until:\n"
    "        total = sum(range(20000)); rounds += 1\n"
    "    print('ROUND', os.getpid(), round(began, 3), rounds, total, round(time.time(), 3), flush=True)",
)
EXACT = sum(range(20000))


def amounts_of(work: Json) -> tuple[int, int]:
    """Compute percent and memory MiB of the work's first share, as granted."""
    grant = work["grants"][0]
    return grant["compute_percent"], grant["memory_mib"]


def devices_of(work: Json) -> list[str]:
    return [grant["device_uid"] for grant in work["grants"]]


def nodes_of(work: Json) -> list[str]:
    return [grant["node"] for grant in work["grants"]]


def inside(pool: Ground, work: Json) -> tuple[int, int]:
    """What a program that runs `INSIDE` sees of its own share."""
    line = next(row for row in pool.says(work, "INSIDE").splitlines() if row.startswith("INSIDE"))
    percent, mib = json.loads(line.removeprefix("INSIDE "))
    return int(percent), int(mib)


def rounds_of(printed: str) -> list[list[str]]:
    """The lines of `PROGRESS`: process, its begin, rounds so far, the sum, the time."""
    return [
        line.split()[1:]
        for line in printed.splitlines()
        if line.startswith("ROUND") and len(line.split()) == 6
    ]


def rate_of(pool: Ground, work: Json, seconds: float) -> float:
    """Rounds a second over some time from now on."""
    before = _last(pool, work)
    pool.sleep(seconds)
    after = pool.until("more rounds", lambda: _later(pool, work, before))
    return (int(after[2]) - int(before[2])) / (float(after[4]) - float(before[4]))


def _last(pool: Ground, work: Json) -> list[str]:
    return pool.until("a round", lambda: (rounds_of(whole_log(pool, work)) or [None])[-1])


def _later(pool: Ground, work: Json, before: list[str]) -> list[str] | None:
    last = _last(pool, work)
    return last if float(last[4]) > float(before[4]) else None


def whole_log(pool: Ground, work: Json) -> str:
    """All that work printed, piece by piece."""
    text, offset = "", 0
    while True:
        part = pool.client.log(work["uid"], offset)
        if not part["text"]:
            return text
        text, offset = text + part["text"], part["next_offset"]
