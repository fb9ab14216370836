"""Our side of SFTP, against OpenSSH's client, and against one that speaks nonsense."""

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.req("PLAT-CMP-10")
SERVER = [sys.executable, "-m", "node_agent.web.sftp"]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def sftp(tmp_path: Path) -> Callable[[str], tuple[int, str]]:
    """OpenSSH's client, which carries lines out against our server in a folder of its own; exit status and words."""
    if not shutil.which("sftp"):
        pytest.skip("openssh-client is not installed")
    (tmp_path / "there").mkdir()

    def act(lines: str) -> tuple[int, str]:
        batch = tmp_path / "batch"
        batch.write_text(f"cd {tmp_path}/there\n{lines}\n")
        done = subprocess.run(
            ["sftp", "-b", str(batch), "-D", " ".join(SERVER)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout + done.stderr

    return act


def test_openssh_brings_fetches_and_changes_files(sftp, tmp_path):
    (tmp_path / "big").write_bytes(os.urandom(3_000_000))
    os.utime(tmp_path / "big", (1_000_000_000, 1_000_000_000))
    code, said = sftp(
        "mkdir d\nput -p big d/big\nget d/big back\nrename d/big d/other\nln -s other d/link\nln d/other d/hard\n"
        "chmod 640 d/other\nls -l d\nmkdir d/empty\nrmdir d/empty\nrm d/hard"
    )
    assert code == 0, said
    there = tmp_path / "there/d"
    assert (tmp_path / "back").read_bytes() == (tmp_path / "big").read_bytes()
    assert {path.name for path in there.iterdir()} == {"other", "link"}
    assert os.readlink(there / "link") == "other"
    facts = (there / "other").stat()
    assert (facts.st_mode & 0o777, int(facts.st_mtime)) == (0o640, 1_000_000_000)
    assert "-rw-r-----" in said


def test_a_file_that_broke_off_goes_on_where_it_stopped(sftp, tmp_path):
    (tmp_path / "big").write_bytes(b"0123456789" * 1000)
    (tmp_path / "there/big").write_bytes(b"0123456789" * 400)
    assert sftp("reput big")[0] == 0
    assert (tmp_path / "there/big").read_bytes() == (tmp_path / "big").read_bytes()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rm none", "No such file"),
        ("get none", "not found"),
        ("rmdir full", "failure"),
        ("mkdir full", "failure"),
        ("chown 0 none", "No such file"),
    ],
)
def test_what_cannot_be_is_said_and_the_connection_goes_on(sftp, tmp_path, line, said):
    (tmp_path / "there/full/in").mkdir(parents=True)
    code, told = sftp(f"-{line}\nmkdir after")
    assert code == 0
    assert said.lower() in told.lower()
    assert (tmp_path / "there/after").is_dir()


def packet(kind: int, body: bytes) -> bytes:
    return struct.pack(">IB", len(body) + 1, kind) + body


def text(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


HELLO = packet(1, struct.pack(">I", 3))


@pytest.mark.parametrize(
    "nonsense",
    [
        struct.pack(">I", 2**31) + b"x" * 64,
        struct.pack(">I", 0),
        packet(3, struct.pack(">I", 1) + struct.pack(">I", 2**31)),
        packet(3, b""),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_who_speaks_no_sftp_is_left(nonsense, tmp_path):
    done = subprocess.run(
        SERVER, input=HELLO + nonsense, cwd=ROOT, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")


def test_handles_are_bounded_and_numbers_out_of_bounds_are_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    path = text(bytes(tmp_path / "file"))
    opened = b"".join(
        packet(3, struct.pack(">I", number) + path + struct.pack(">II", 1, 0)) for number in range(300)
    )
    odd = packet(5, struct.pack(">I", 400) + text(b"1") + struct.pack(">QI", 2**64 - 1, 10))
    unknown = packet(4, struct.pack(">I", 401) + text(b"nobody")) + packet(99, struct.pack(">I", 402))
    done = subprocess.run(
        SERVER, input=HELLO + opened + odd + unknown, cwd=ROOT, capture_output=True, timeout=60
    )
    assert done.returncode == 0
    kinds: dict[int, int] = {}
    at, said = 0, done.stdout
    while at < len(said):
        size, kind = struct.unpack_from(">IB", said, at)
        if kind != 2:
            kinds[struct.unpack_from(">I", said, at + 5)[0]] = kind
        at += 4 + size
    assert sum(kinds[number] == 102 for number in range(300)) == 256
    assert {kinds[number] for number in (400, 401, 402)} == {101}
