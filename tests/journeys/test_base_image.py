"""A base image of Debian packages: made on a machine of the centre, brought in, and work runs Python in it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from portal.devstack.demo_order import Journey
from portal.devstack.servers.registry_server import PROGRAM as REGISTRY
from portal.devstack.stack import Stack
from tests.harness.portal import password_of

ROOT = Path(__file__).parents[2]
MAKE = ROOT / "deploy" / "container" / "base-image"
pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("portal"), pytest.mark.req("POOL-8.2c")]
_NEEDED = (REGISTRY, "mmdebstrap", "skopeo", "runc", "umoci")
LOOKS = "import platform, sys; print('SEES', platform.freedesktop_os_release()['ID'], sys.executable)"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    if missing := [name for name in _NEEDED if not shutil.which(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    if os.geteuid() != 0:
        pytest.skip("containers are started by root alone")
    made = tmp_path / "debian.tar"
    subprocess.run([MAKE, made], check=True, timeout=400)
    return made


def test_work_runs_in_an_image_made_of_packages(
    stack: Stack, journey: Journey, archive: Path, tmp_path: Path
) -> None:
    again = subprocess.run([MAKE, archive], stderr=subprocess.PIPE, text=True)
    assert again.returncode == 1
    assert "is there already" in again.stderr
    alice, name = journey.person("alice"), f"debian-{uuid4().hex[:6]}"
    env = {**os.environ, "WEIR_CONFIG": str(tmp_path / "alice.json"), "WEIR_PASSWORD": password_of(stack)}

    def weir(*words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "weir", *words],
            env=env,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
        ).stdout

    weir("login", f"http://127.0.0.1:{stack.options.port}", "-u", "alice")
    alice.volume_make(name, 400)
    assert "ready" in weir("image", "import", str(archive), f"{name}:12", "--via", f"vol://{name}/")
    asked = {"name": name, "compute_percent": 20, "memory_mib": 512, "image": f"{name}:12"}
    asked |= {"argv": ["python3", "-c", LOOKS]}
    work = alice.workload_submit(**asked)
    journey.wait("its output", lambda: "SEES" in alice.log(work["uid"])["text"], 120)
    assert "SEES debian /usr/bin/python3\n" in alice.log(work["uid"])["text"]
