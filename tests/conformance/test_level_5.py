"""The acceptance test against a pool of several agents: level 5, and that a test can fail."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.local.bootstrap import ROOT
from portal.local.options import Options
from portal.local.stack import Stack
from tests.conformance.liar import Liar
from tests.harness.portal import own_environment, portal_folder

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("conformance"), pytest.mark.timeout(3600)]
# A slow and busy machine may take minutes.
PATIENCE_S = 300
SIMULATED = Options.model_fields["simulate"].default


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Two nodes with two CPU accelerators each and one with simulated ones; what restarts is started again."""
    over = threading.Event()
    with own_environment():
        folder = portal_folder(tmp_path_factory, "conformance")
        running = Stack.in_folder(folder, webs=2, node_devices=2, simulate=SIMULATED)
        running.start()
        tending = threading.Thread(target=lambda: _tend(running, over))
        tending.start()
        yield running
        over.set()
        tending.join()
        running.stop()


def _tend(stack: Stack, over: threading.Event) -> None:
    while not over.wait(0.5):
        stack.tend()


def examined(stack: Stack, folder: Path, *arguments: str) -> tuple[int, dict]:
    """Exit status and report of `manage.py conformance`."""
    file = folder / "report.json"
    command = [
        sys.executable,
        str(ROOT / "manage.py"),
        "conformance",
        "--format",
        "json",
        "--output",
        str(file),
    ]
    done = subprocess.run([*command, *arguments], env=stack.environment, capture_output=True, text=True)
    assert file.exists(), done.stdout + done.stderr
    print(done.stderr)
    return done.returncode, json.loads(file.read_text())["report"]


def told(report: dict, *outcomes: str) -> list[str]:
    """The tests that came out so, with the reason."""
    return [
        f"{row['number']} {row['outcome']}: {row['reason']}"
        for row in report["tests"]
        if row["outcome"] in outcomes
    ]


@pytest.mark.req(*(f"POOL-12.{number}" for number in range(1, 28)), "POOL-A-L5")
def test_the_pool_reaches_level_5(pool: Stack, tmp_path: Path):
    status, report = examined(pool, tmp_path, "--level", "5")
    assert told(report, "failed") == []
    skipped = told(report, "not_run")
    if skipped:
        # Without PyTorch there is no client for a remote card; nothing else is left out here.
        assert all("PyTorch is not installed" in line for line in skipped)
        pytest.skip("; ".join(skipped))
    assert (status, report["level_reached"], report["counts"]["passed"]) == (0, 5, 27)
    assert report["left_behind"] == []
    assert any(row["is_simulated"] for row in report["tests"] if row["number"] == "12.26")


@pytest.mark.parametrize(
    ("number", "path", "old", "new"),
    [
        ("12.1", "workloads", '"compute_percent":37', '"compute_percent":80'),
        ("12.7", "devices", '"model":"', '"model":"Another '),
        ("12.14", "workloads", '"memory_mib":2048', '"memory_mib":8192'),
    ],
)
def test_a_portal_that_answers_wrongly_does_not_pass(
    pool: Stack, tmp_path: Path, number: str, path: str, old: str, new: str
):
    with Liar(pool.options.port, path, old, new) as liar:
        status, report = examined(pool, tmp_path, "--test", number, "--url", liar.url)
    assert status == 1
    assert [row["outcome"] for row in report["tests"]] == ["failed"]
    assert report["level_reached"] == 0


def test_a_pool_that_lacks_something_is_told_so_and_does_not_pass(pool: Stack, tmp_path: Path):
    """The same portal, as it were one of a single node's devices: one node, one vendor."""
    with Liar(pool.options.port, "devices", "", "", only="node-1") as liar:
        status, report = examined(pool, tmp_path, "--test", "12.8", "--test", "12.26", "--url", liar.url)
    assert status == 1
    assert {row["outcome"] for row in report["tests"]} == {"not_run"}
    assert "2 nodes" in report["tests"][0]["reason"]
    assert "one vendor only" in report["tests"][1]["reason"]


def test_what_a_killed_run_left_is_found_by_the_next(pool: Stack, tmp_path: Path):
    command = [sys.executable, str(ROOT / "manage.py"), "conformance", "--test", "12.12"]
    killed = subprocess.Popen(
        [*command], env=pool.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _wait_for(pool, "Trace.objects.filter(kind='work').exists()")
    killed.kill()
    killed.wait()
    status, report = examined(pool, tmp_path, "--test", "12.7")
    assert (status, report["left_behind"]) == (0, [])
    assert _asked(pool, "not Trace.objects.exists()")


_IMPORTS = "from apps.conformance.models import ConformanceRun, Trace\n"


def _asked(pool: Stack, expression: str) -> bool:
    return "True" in pool.manage("shell", "-c", f"{_IMPORTS}print({expression})")


def _wait_for(pool: Stack, expression: str) -> None:
    """One process looks until it is so: each would have to load the whole portal first."""
    look = (
        f"{_IMPORTS}import time\nuntil = time.monotonic() + {PATIENCE_S}\n"
        f"while not ({expression}) and time.monotonic() < until: time.sleep(0.1)\nprint({expression})"
    )
    assert "True" in pool.manage("shell", "-c", look), f"{expression} did not come true"
