"""Beside running work from a terminal: the whole way through command, portal, tunnel and shim."""

import os
import pty
import select
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from portal.devstack.demo_order import Journey
from portal.devstack.stack import Stack
from tests.harness.portal import password_of

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("portal"), pytest.mark.req("PLAT-CMP-10")]
WEIR = (sys.executable, "-m", "weir")
# Serves its folder, on a port that it writes down.
SERVES = """
import http.server, pathlib
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
pathlib.Path("port").write_text(str(server.server_port))
server.serve_forever()
"""


@pytest.fixture
def beside(stack: Stack, journey: Journey, tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Alice's running work, and the environment of her shell."""
    alice = journey.person("alice")
    work = alice.workload_submit(
        name="beside", argv=["python", "-c", SERVES], compute_percent=40, memory_mib=512
    )
    journey.wait("its start", lambda: alice.workload(work["uid"])["state"] == "running")
    env = {**os.environ, "WEIR_CONFIG": str(tmp_path / "alice.json"), "WEIR_PASSWORD": password_of(stack)}
    login = ("login", f"http://127.0.0.1:{stack.options.port}", "-u", "alice")
    subprocess.run([*WEIR, *login], env=env, check=True, capture_output=True)
    yield work["no"], env
    alice.workload_stop(work["uid"])


@pytest.fixture
def weir(beside: tuple[str, dict[str, str]]) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    def run(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*WEIR, *words], env=beside[1], input=stdin, capture_output=True, timeout=60)

    return run


def test_a_command_beside_the_work_and_files_there_and_back(
    beside: tuple[str, dict[str, str]],
    weir: Callable[..., subprocess.CompletedProcess[bytes]],
    tmp_path: Path,
) -> None:
    no = beside[0]
    done = weir("exec", "-i", no, "--", "sh", "-c", "cat; echo wrong >&2; exit 7", stdin=b"right" * 50_000)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"right" * 50_000, b"wrong\n")
    assert weir("exec", no, "--", "no-such-program").returncode == 127
    assert weir("exec", no, "--share", "1", "--", "true").returncode == 1
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/large").write_bytes(os.urandom(3_000_000))
    (folder / "deep/link").symlink_to("large")
    (folder / "out").symlink_to("/etc/hostname")
    assert weir("cp", str(folder), f"{no}:kept").returncode == 0
    assert weir("exec", no, "--", "readlink", "kept/out").stdout == b"/etc/hostname\n"
    back = weir("cp", f"{no}:kept", str(tmp_path / "back"))
    assert back.returncode == 0, back.stderr
    assert b"leads out of the folder" in back.stderr
    assert (tmp_path / "back/deep/link").read_bytes() == (folder / "deep/large").read_bytes()
    assert not (tmp_path / "back/out").is_symlink()
    refused = weir("cp", f"{no}:nowhere", str(tmp_path / "x"))
    assert refused.returncode == 1
    assert b"nowhere" in refused.stderr
    assert b"Traceback" not in refused.stderr


def test_a_port_and_a_shell(
    beside: tuple[str, dict[str, str]], weir: Callable[..., subprocess.CompletedProcess[bytes]]
) -> None:
    no, env = beside
    port = weir("exec", no, "--", "cat", "port").stdout.decode()
    leading = subprocess.Popen(
        [*WEIR, "port-forward", no, f"0:{port}", "0:1"], env=env, stderr=subprocess.PIPE
    )
    try:
        assert leading.stderr is not None
        here, nobody = (leading.stderr.readline().decode().split()[0] for _ in range(2))
        for _time in range(3):
            assert urllib.request.urlopen(f"http://{here}/port", timeout=30).read().decode() == port
        with pytest.raises(OSError, match=r".+"):
            urllib.request.urlopen(f"http://{nobody}/", timeout=30)
        assert b"Nothing of the work's listens" in leading.stderr.readline()
    finally:
        leading.terminate()
        leading.wait(30)
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [*WEIR, "ssh", no], env | {"TERM": "xterm"})
    shown, end_s, is_typed = b"", time.monotonic() + 60, False
    with suppress(OSError):
        while time.monotonic() < end_s:
            if select.select([fd], [], [], 0.2)[0]:
                shown += os.read(fd, 4096)
            if b"$ " in shown and not is_typed:
                is_typed = bool(os.write(fd, "echo 堰-$((6*7)); exit 5\n".encode()))
    assert "堰-42" in shown.decode(), shown
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
