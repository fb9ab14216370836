"""Nothing passes by being skipped: a run says what it did not check, and fails where it could have."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.database import ROOT
from tests.skipping import ALLOWED, Skip, told

TESTS = {
    "test_one": """
import pytest
pytest.importorskip("no_such_package", reason="no card reader is installed")
@pytest.mark.req("PLAT-TEN-8")
def test_never(): ...
""",
    "test_two": """
import pytest
@pytest.mark.req("POOL-12.3", "ELA-810")
@pytest.mark.skipif(True, reason="no card reader is installed")
def test_not_here(): ...
def test_passes(): ...
""",
    "test_three": f"""
import pytest
def test_allowed():
    pytest.skip("{next(iter(ALLOWED))}: errno 1")
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = req(*ids): shown\n")
    for name, text in TESTS.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def run(folder: Path, *arguments: str, require_all: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.plugin", "-p", "no:django", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "WEIR_TEST_REQUIRE_ALL": require_all}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


LEFT_OUT = (
    "no card reader is installed: 1 test, all of test_one.py; not shown here: ELA-810, PLAT-TEN-8, POOL-12.3"
)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_says_what_it_did_not_check(folder: Path, workers: str):
    status, text = run(folder, "-n", workers, require_all="0")
    assert status == 0, text
    assert LEFT_OUT in text


def test_where_all_is_required_a_skip_fails_unless_it_is_allowed(folder: Path):
    status, text = run(folder, require_all="1")
    assert status == 1
    assert text.count(LEFT_OUT) == 2
    status, text = run(folder, "test_three.py", require_all="1")
    assert status == 0, text
    assert next(iter(ALLOWED)) in text


def test_each_reason_is_told_once_with_how_many_it_hit():
    skips = [Skip(f"a.py::test_{number}", "no root", frozenset({"PLAT-TEN-8"})) for number in range(3)]
    assert told(skips) == ["no root: 3 tests; not shown here: PLAT-TEN-8"]
