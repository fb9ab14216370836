"""The client as a data scientist gets it: from the portal, over a real connection, into an environment of its own."""

import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from portal.devstack import client_wheel
from tests.harness.webs import running_web

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("web")]
BARE = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "WEIR_"))}


@pytest.fixture(scope="module")
def web(django_db_setup) -> Iterator[str]:
    client_wheel.build_old()
    with running_web() as (url, _process):
        httpx.get(f"{url}/healthz", timeout=120)
        yield url


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=BARE, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture
def clean(tmp_path) -> Path:
    """A virtual environment with the packages that ours stand on, and neither ours nor the checkout."""
    run(sys.executable, "-m", "venv", tmp_path / "own", cwd=tmp_path)
    site = next((tmp_path / "own").glob("lib/python*/site-packages"))
    # A folder named so is searched, and no .pth file in it is read: the checkout stays out.
    (site / "third-party.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return tmp_path / "own" / "bin"


def test_the_portal_hands_out_a_client_that_installs_without_an_index(web, clean, tmp_path):
    wheel = next(client_wheel.DIST.glob("*.whl"))
    address = f"{web}/client/{wheel.name}"
    answer = httpx.get(address, timeout=60)
    digest = hashlib.sha256(answer.content).hexdigest()
    assert answer.content == wheel.read_bytes()
    pip = (clean / "python", "-m", "pip", "install", "--no-index", "--no-deps", "--no-cache-dir")
    run(*pip, f"weir-client @ {address}#sha256={digest}", cwd=tmp_path)
    assert "shares of accelerators" in run(clean / "weir", "--help", cwd=tmp_path)
    where = run(
        clean / "python",
        "-c",
        "import weir, weir_wire.wire as w; print(weir.__file__, w.__file__)",
        cwd=tmp_path,
    )
    assert where.count(str(clean.parent)) == 2
    forged = subprocess.run(
        [*pip, "--force-reinstall", f"weir-client @ {address}#sha256={'0' * 64}"],
        env=BARE, capture_output=True, text=True,
    )  # fmt: skip
    assert forged.returncode
    assert "DO NOT MATCH" in forged.stderr


def test_only_the_wheel_is_handed_out(web):
    for name in ("weir_client-9.9.9-py3-none-any.whl", "inputs.sha256", "..%2fpyproject.toml"):
        assert httpx.get(f"{web}/client/{name}", timeout=60).status_code == 404
    assert httpx.get(f"{web}/client/", timeout=60).headers["location"].startswith("/login/")


def test_the_same_tree_gives_the_same_bytes_and_an_old_wheel_goes(tmp_path):
    """Two web servers of one version must not contradict each other's digest."""
    (tmp_path / "weir_client-0.0.1-py3-none-any.whl").touch()
    assert client_wheel.build_old(tmp_path)
    assert not client_wheel.build_old(tmp_path)
    (built,) = tmp_path.glob("*.whl")
    first = built.read_bytes()
    built.unlink()
    assert client_wheel.build_old(tmp_path)
    assert built.read_bytes() == first
    with zipfile.ZipFile(built) as packed:
        tops = {name.partition("/")[0] for name in packed.namelist()}
    assert {top for top in tops if "dist-info" not in top} == {"weir", "weir_wire"}
