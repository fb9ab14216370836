"""A child is stopped with all it started, and nothing but that."""

import os
import sys
import time
from pathlib import Path

import pytest

from apps.kernel.process_identity import ProcessIdentity
from portal.devstack.servers.managed_process import Child
from portal.devstack.servers.processes import wait_until

_PARENT = """
import subprocess, sys, time
inner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(inner.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def family(tmp_path: Path):
    child = Child("family", [sys.executable, "-c", _PARENT], os.environ, tmp_path, stop_timeout_s=60)
    child.start()
    yield child
    child.stop()


def _grandchild(child: Child) -> ProcessIdentity:
    assert wait_until(lambda: bool(child.last_lines()), timeout_s=60)
    found = ProcessIdentity.of(int(child.last_lines()[0]))
    assert found is not None
    return found


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_its_children_go_with_it(family: Child, way: str) -> None:
    grandchild = _grandchild(family)
    getattr(family, way)()
    assert wait_until(lambda: not grandchild.is_alive(), timeout_s=60)
    assert family.pid is None
    assert not family.pid_path.exists()


def test_a_death_is_noticed_and_its_children_are_ended(family: Child) -> None:
    grandchild = _grandchild(family)
    assert not family.has_died()
    assert family.pid is not None
    os.kill(family.pid, 9)
    assert wait_until(family.has_died, timeout_s=60)
    assert wait_until(lambda: not grandchild.is_alive(), timeout_s=60)


def test_one_left_by_a_killed_stack_is_ended_first(family: Child, tmp_path: Path) -> None:
    _grandchild(family)
    assert family.pid is not None
    old = ProcessIdentity.of(family.pid)
    assert old is not None
    successor = Child("family", [sys.executable, "-c", "import time; time.sleep(60)"], os.environ, tmp_path)
    successor.start()
    assert not old.is_alive()
    assert successor.pid is not None
    successor.stop()


def test_stopping_twice_is_harmless(family: Child) -> None:
    family.stop()
    began_s = time.monotonic()
    family.stop()
    assert time.monotonic() - began_s < family.stop_timeout_s
