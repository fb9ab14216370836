"""A runner is known by its process for certain, whatever the clock says."""

import os
import subprocess
import sys
from dataclasses import asdict

from apps.conformance.runner_process import is_dead, mark
from apps.kernel.process_identity import ProcessIdentity


def test_a_runner_lives_as_long_as_its_process() -> None:
    assert not is_dead(mark())
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    identity = ProcessIdentity.of(process.pid)
    assert identity is not None
    runner = {**mark(), **asdict(identity)}
    assert not is_dead(runner)
    process.kill()
    process.wait()
    assert is_dead(runner)
    assert not is_dead({**runner, "host": "elsewhere"})


def test_a_runner_that_was_killed_is_dead_before_its_parent_takes_notice() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    identity = ProcessIdentity.of(process.pid)
    assert identity is not None
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert is_dead({**mark(), **asdict(identity)})
    finally:
        process.wait()
