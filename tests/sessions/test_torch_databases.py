"""PyTorch's own databases of operators, modules and optimizers: on the device equal to the CPU, or refused."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the device weir needs PyTorch")

ROOT = Path(__file__).parents[2]
LEAST_FORWARD, LEAST_BACKWARD = 1230, 985
# What the device refuses, each with an error that says so: a tensor's storage cannot be replaced.
REFUSED_FORWARD = {"resize_": 1, "resize_as_": 2}
REFUSED_BACKWARD: dict[str, int] = {}
# One sample of so many, in seconds; all of them: docs/remote-accelerator.md. No multiples of the number of checks, so
# that each check has its turn.
SAMPLE = {"modules": 307, "optimizers": 97, "derivatives": 113}
LEAST = {"modules": 200, "optimizers": 28, "derivatives": 40}


def compared(*databases: str) -> Any:
    """What `python -m tests.sessions.databases` says of them."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.sessions.databases", *databases],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.timeout(900)
@pytest.mark.req("POOL-12.3")
def test_the_operator_database_is_equal_or_refused():
    found = compared("operators")
    for name, least, refused in (
        ("forward", LEAST_FORWARD, REFUSED_FORWARD),
        ("backward", LEAST_BACKWARD, REFUSED_BACKWARD),
    ):
        result = found[name]
        print(f"{name}: {result['equal']} of {result['samples']} samples equal")
        counted: dict[str, int] = {}
        for operator, kind, message in result["failed"]:
            assert kind == "refused", (operator, message)
            counted[operator] = counted.get(operator, 0) + 1
        assert counted == refused, result["failed"]
        assert result["equal"] >= least


@pytest.mark.req("POOL-12.3")
def test_of_modules_optimizers_and_derivatives_none_is_wrong_and_one_in_a_hundred_is_refused_at_most():
    found = compared(*(f"{name}/{every}" for name, every in SAMPLE.items()))
    for name, result in found.items():
        print(f"{name}: {result['equal']} of {result['samples']} samples equal")
        assert not [one for one in result["failed"] if one[1] != "refused"]
        assert result["equal"] >= 0.99 * result["samples"]
        assert result["samples"] >= LEAST[name]
