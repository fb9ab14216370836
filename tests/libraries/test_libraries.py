"""Programs of libraries that nobody here wrote, on the device as on the CPU: a sample here, all by `make libraries`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

for name in ("torch", "transformers", "peft", "accelerate", "lightning"):
    pytest.importorskip(name, reason="the libraries' programs: `make libraries` installs them")

ROOT = Path(__file__).parents[2]
# Of so many programs of a library one is run here.
SAMPLE = {"transformers": 120, "peft": 23, "accelerate": 4, "lightning": 5, "trainer": 6}


@pytest.mark.req("POOL-12.3")
def test_programs_of_other_people_s_libraries_give_what_they_give_on_the_cpu():
    run = subprocess.run(
        [sys.executable, "-m", "tests.libraries", *(f"{name}/{every}" for name, every in SAMPLE.items())],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    for name, result in json.loads(run.stdout.splitlines()[-1]).items():
        print(f"{name}: {result['equal']} of {result['samples']} programs equal")
        assert result["samples"], name
        assert not result["failed"]
