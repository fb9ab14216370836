"""The agent as it is installed on a node: the distribution alone, without the tree it was made of."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "node_agent" / "pyproject.toml").read_text())
pytestmark = [pytest.mark.journey, pytest.mark.req("POOL-9.1b")]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the agent's distribution and nothing else of ours, installed by the image's own line."""
    place = tmp_path_factory.mktemp("agent")
    for package in ("node_agent", "weir_wire"):
        shutil.copytree(ROOT / package, place / "src" / package, ignore=shutil.ignore_patterns("__pycache__"))
    image = (ROOT / "deploy" / "container" / "agent.Dockerfile").read_text()
    (source,) = re.findall(r'pip install --no-input "/src/(\w+)\$EXTRAS"', image)
    command = [sys.executable, "-m", "pip", "install", "--no-input", "--no-deps", "--no-build-isolation", "--quiet",
               "--target", str(place / "lib"), str(place / "src" / source)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, text=True)
    return place / "lib"


def python(installed: Path, code: str) -> str:
    command = [sys.executable, "-c", code]
    place = {"cwd": "/", "env": {"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin"}}
    done = subprocess.run(command, check=False, capture_output=True, text=True, **place)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_holds_every_module_of_the_agent(installed: Path) -> None:
    for package in ("node_agent", "weir_wire"):
        ours = {path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")}
        assert {path for path in ours if not (installed / path).exists()} == set()


def test_it_starts_and_serves_sessions(installed: Path) -> None:
    pytest.importorskip("torch", reason="no PyTorch here: WEIR_TORCH=1 make env-dev installs it")
    told = python(installed, "import node_agent.daemon, node_agent.sessions.worker as w; print(w.__file__)")
    assert told.startswith(str(installed))


def test_the_image_installs_pytorch_which_sessions_need(installed: Path) -> None:
    image = (ROOT / "deploy" / "container" / "agent.Dockerfile").read_text()
    (extra,) = re.findall(r'^ARG EXTRAS="\[(\w+)\]"$', image, re.M)
    needs = PROJECT["project"]["optional-dependencies"][extra]
    assert [need for need in needs if need.startswith("torch==")]
