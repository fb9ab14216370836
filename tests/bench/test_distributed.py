"""Training on two devices at once: from node to node, and by way of the processes; on this machine and 5 ms away.

`make bench ARGS="-k distributed"` prints a step's time, the best of four rounds, and the bytes that pass between client
and node in one.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the device weir needs PyTorch")

ROOT = Path(__file__).resolve().parents[2]
DELAY_S = 0.005
RANK = "tests.bench.distributed_rank"
_LINE = re.compile(r"step (?P<ms>[\d.]+) ms, client (?P<mib>[\d.]+) MiB")


def trained(backend: str, delay_s: float, folder: Path) -> tuple[float, float]:
    """Milliseconds of a step, the slower rank's, and MiB between one client and its node in each."""
    meeting = folder / f"{backend}-{delay_s}"
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client'}", "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", RANK, backend, str(rank), str(delay_s), str(meeting)],
            env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    told = [process.communicate(timeout=900) for process in started]
    found = [_LINE.search(out) for out, _err in told]
    assert all(found), told
    return max(float(one["ms"]) for one in found if one), max(float(one["mib"]) for one in found if one)


def test_a_step_of_distributed_data_parallel(tmp_path, capsys):
    rows = {
        (delay_s, backend): trained(backend, delay_s, tmp_path)
        for delay_s in (0.0, DELAY_S)
        for backend in ("gloo", "weir")
    }
    with capsys.disabled():
        for (delay_s, backend), (ms, mib) in rows.items():
            way = "node to node" if backend == "weir" else "by the processes"
            print(f"\nGPT 10 M on two devices, {delay_s * 1e3:.0f} ms away, {way}: {ms:.0f} ms a step,"
                  f" {mib:.2f} MiB with the client", end="")  # fmt: skip
        print()
    for delay_s in (0.0, DELAY_S):
        assert rows[delay_s, "weir"][1] < 1 < 40 < rows[delay_s, "gloo"][1]
        assert rows[delay_s, "weir"][0] < rows[delay_s, "gloo"][0]
