"""OpenSSH's own clients beside running work, the whole way through command, portal, tunnel and shim."""

import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portal.devstack.demo_order import Journey
from portal.devstack.stack import Stack
from tests.journeys.test_executions_command import WEIR, beside
from tests.journeys.test_image_builds import base, weir

__all__ = ["base", "beside", "weir"]
pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("portal"), pytest.mark.req("PLAT-CMP-10")]


class Client:
    """OpenSSH's clients, with what `weir ssh-config` has written."""

    def __init__(self, no: str, env: dict[str, str], folder: Path) -> None:
        self.no, self.env, self.file = no, env, folder / "ssh_config"
        written = subprocess.run(
            [*WEIR, "ssh-config", no], env=env, check=True, capture_output=True, timeout=120
        ).stdout
        self.file.write_bytes(written)

    def run(self, program: str, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [program, "-F", str(self.file), *words],
            env=self.env,
            input=stdin,
            capture_output=True,
            timeout=180,
        )


@pytest.fixture(autouse=True)
def installed() -> None:
    if missing := [name for name in ("ssh", "scp", "sftp", "rsync") if not shutil.which(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")


@pytest.fixture
def client(beside: tuple[str, dict[str, str]], tmp_path: Path) -> Client:
    return Client(*beside, tmp_path)


def test_commands_files_and_ports_by_openssh(client: Client, tmp_path: Path) -> None:
    done = client.run("ssh", client.no, "cat; echo wrong >&2; exit 7", stdin=b"right" * 50_000)
    assert (done.returncode, done.stdout) == (7, b"right" * 50_000)
    assert b"wrong" in done.stderr
    shown = client.run("ssh", "-tt", client.no, "tty; echo status-$?")
    assert b"/dev/pts/" in shown.stdout
    large = tmp_path / "large"
    large.write_bytes(os.urandom(3_000_000))
    assert client.run("scp", str(large), f"{client.no}:by-scp").returncode == 0
    assert client.run("scp", f"{client.no}:by-scp", str(tmp_path / "back")).returncode == 0
    assert (tmp_path / "back").read_bytes() == large.read_bytes()
    shell = f"ssh -F {client.file}"
    if b"rsync" in client.run("ssh", client.no, "command -v rsync").stdout:
        there = ["rsync", "-a", "-e", shell, str(large), f"{client.no}:synced/"]
        assert subprocess.run(there, env=client.env, capture_output=True, timeout=180).returncode == 0
        assert client.run("ssh", client.no, "cmp by-scp synced/large && echo same").stdout == b"same\n"
    _ports(client)


def _ports(client: Client) -> None:
    """The work serves its folder on a port that it has written down."""
    remote = client.run("ssh", client.no, "cat port").stdout.decode()
    local = 28_000 + os.getpid() % 1000
    words = ["ssh", "-F", str(client.file), "-N", "-L", f"{local}:localhost:{remote}", client.no]
    forwarding = subprocess.Popen(words, env=client.env)
    try:
        end_s = time.monotonic() + 60
        while not (found := _fetched(local)):
            assert time.monotonic() < end_s, "nobody listens"
            time.sleep(0.2)
        assert found == remote
    finally:
        forwarding.terminate()
        forwarding.wait(30)
    refused = client.run("ssh", "-W", "example.org:80", client.no)
    assert b"only ports of the work itself" in refused.stderr


def _fetched(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/port", timeout=20) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def test_keys_are_this_persons_and_this_works_alone(client: Client, tmp_path: Path) -> None:
    own = next((tmp_path / "ssh").iterdir())
    assert own.stat().st_mode & 0o777 == 0o700
    assert {
        path.name: path.stat().st_mode & 0o777 for path in own.iterdir() if path.name != "known_hosts"
    } == {
        "host": 0o600,
        "own": 0o600,
    }
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    kept = (own / "own").read_bytes()
    try:
        text = client.file.read_text().replace(str(own / "own"), str(other))
        client.file.write_text(text)
        assert client.run("ssh", client.no, "true").returncode == 255
        assert (own / "own").read_bytes() == kept
    finally:
        client.file.write_text(client.file.read_text().replace(str(other), str(own / "own")))
    nobody = client.run(
        "ssh", "-o", f"ProxyCommand={' '.join(WEIR)} ssh-proxy W-0000000000", client.no, "true"
    )
    assert nobody.returncode == 255
    assert b"Traceback" not in nobody.stderr


@pytest.fixture
def in_container(
    journey: Journey, stack: Stack, weir: Callable[..., str], base: str, tmp_path: Path
) -> Iterator[Client]:
    """Work in an image that has nothing of SSH."""
    alice = journey.person("alice")
    script = ["/bin/sh", "-c", "echo inside > own; sleep 600"]
    work = alice.workload_submit(name="ssh", argv=script, compute_percent=10, memory_mib=256, image=base)
    journey.wait("its start", lambda: alice.workload(work["uid"])["state"] == "running")
    env = {**os.environ, "WEIR_CONFIG": str(tmp_path / "alice.json")}
    yield Client(work["no"], env, tmp_path)
    alice.workload_stop(work["uid"])


@pytest.mark.skipif(os.geteuid() != 0, reason="containers are started by root alone")
@pytest.mark.req("POOL-8.2c")
def test_an_image_needs_nothing_of_it(in_container: Client, tmp_path: Path) -> None:
    client = in_container
    assert client.run("ssh", client.no, "cat /srv/stays $HOME/own").stdout == b"staysinside\n"
    (tmp_path / "sent").write_bytes(b"sent")
    assert client.run("scp", str(tmp_path / "sent"), f"{client.no}:/srv/sent").returncode == 0
    assert client.run("ssh", client.no, "cat /srv/sent").stdout == b"sent"
    shown = client.run("sftp", client.no, stdin=b"ls /srv\nls /root/.ssh\n")
    assert b"/srv/stays" in shown.stdout
