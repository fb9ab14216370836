"""A process is known by its pid and its start: what a recycled pid names is left alone."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from apps.kernel.process_identity import ProcessIdentity
from portal.devstack.servers.processes import (
    end,
    identity_read,
    identity_write,
    last_lines,
    text_write,
    wait_until,
)


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def test_identity_survives_the_file(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    identity_write(tmp_path / "run" / "a.pid", sleeper.pid)
    found = identity_read(tmp_path / "run" / "a.pid")
    assert found == ProcessIdentity.of(sleeper.pid)
    assert found is not None
    assert found.is_alive()


def test_a_recycled_pid_is_left_alone(sleeper: subprocess.Popen[bytes]) -> None:
    mine = ProcessIdentity.of(sleeper.pid)
    assert mine is not None
    predecessor = replace(mine, start_tick=mine.start_tick - 1)
    assert not predecessor.is_alive()
    assert end(predecessor, ((signal.SIGKILL, 0.1),))
    assert sleeper.poll() is None


def test_a_zombie_is_not_alive() -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    identity = ProcessIdentity.of(process.pid)
    assert identity is not None
    assert wait_until(lambda: not identity.is_alive(), timeout_s=60)
    process.wait()


def test_end_goes_on_to_the_stronger_signal() -> None:
    stubborn = (
        "import signal, sys, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    identity = ProcessIdentity.of(process.pid)
    assert identity is not None
    assert end(identity, ((signal.SIGTERM, 0.2), (signal.SIGKILL, 60)))
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', "12\n"])
def test_a_torn_pid_file_names_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.pid").write_text(text)
    assert identity_read(tmp_path / "a.pid") is None


def test_secrets_are_their_owners_only(tmp_path: Path) -> None:
    text_write(tmp_path / "key", "secret")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_last_lines_are_the_end_of_a_long_log(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\n\n".join(f"line {number}" for number in range(5000)))
    assert last_lines(tmp_path / "log", 2) == ["line 4998", "line 4999"]
    assert last_lines(tmp_path / "none") == []
