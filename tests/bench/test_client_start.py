"""How long a person waits for `weir --help`: next to an interpreter that does nothing, in one run."""

import os
import subprocess
import sys

ROUNDS = 15
# 12 ms for an interpreter, 150 ms for the help: what feels immediate.
MOST = 12.5


def _best_s(*words: str) -> float:
    """Seconds of processor time, of which another process on the machine takes nothing away."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _round in range(ROUNDS):
        process = subprocess.Popen([sys.executable, *words], env=env, stdout=subprocess.DEVNULL)
        _pid, status, used = os.wait4(process.pid, 0)
        assert status == 0
        times.append(used.ru_utime + used.ru_stime)
    return min(times)


def test_help_is_there_at_once():
    nothing, told = _best_s("-c", "pass"), _best_s("-m", "weir", "--help")
    print(f"python -c pass {nothing * 1000:.0f} ms, weir --help {told * 1000:.0f} ms: {told / nothing:.1f} x")
    assert told < MOST * nothing
