"""PyTorch's databases on a session of the card: equal to what is computed without a session, or refused.

Operators forwards are compared with the card itself; all else with the CPU, whose random numbers are others and whose
sums are rounded otherwise.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.sessions.workers import ROOT

pytest.importorskip("torch", reason="PyTorch is not here")
pytest.importorskip("expecttest", reason="PyTorch's databases need expecttest")

# One sample in so many, times so many for the larger databases; 1 runs all operators. In so many processes at once.
EVERY = int(os.environ.get("WEIR_CARD_EVERY", "10"))
TIMES = {"operators": 1, "modules": 31, "optimizers": 11}
PROCESSES = int(os.environ.get("WEIR_CARD_PROCESSES", "2"))
LEAST = {"forward": 0.96, "backward": 0.96, "modules": 0.93, "optimizers": 0.97}


def compared(database: str, every: int, first: int) -> subprocess.Popen[str]:
    asked = [f"{database}/{every}/{first}", "--device", "cuda:0"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.sessions.databases", *asked]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes)  # type: ignore[call-overload,no-any-return]


@pytest.mark.req("POOL-12.3")
@pytest.mark.parametrize("database", TIMES)
def test_a_database_is_equal_or_refused(card, database):
    step = EVERY * TIMES[database]
    started = [compared(database, step * PROCESSES, step * number) for number in range(PROCESSES)]
    found: dict[str, dict] = {}
    for process in started:
        out, err = process.communicate(timeout=900)
        assert process.returncode == 0, err[-3000:]
        for name, part in json.loads(out.splitlines()[-1]).items():
            row = found.setdefault(name, {"samples": 0, "equal": 0, "failed": []})
            for key, value in part.items():
                row[key] += value
    for name, row in found.items():
        print(f"\n{name}: {row['equal']} of {row['samples']} equal")
        for failed in row["failed"]:
            print("   ", *failed)
    for name, row in found.items():
        assert row["equal"] >= LEAST[name] * row["samples"]
