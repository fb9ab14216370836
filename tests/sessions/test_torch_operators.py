"""PyTorch's own operator database (OpInfo), float32, at most two samples an operator: equal to local or refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the device weir needs PyTorch")

ROOT = Path(__file__).parents[2]
LEAST_FORWARD, LEAST_BACKWARD = 1230, 985
# What the device refuses, each with an error that says so: a tensor's storage cannot be replaced.
REFUSED_FORWARD = {"resize_": 1, "resize_as_": 2}
REFUSED_BACKWARD: dict[str, int] = {}


@pytest.mark.timeout(900)
@pytest.mark.req("POOL-12.3")
def test_the_operator_database_is_equal_or_refused():
    run = subprocess.run(
        [sys.executable, "-m", "tests.sessions.opinfo"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
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
