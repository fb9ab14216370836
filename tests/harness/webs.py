"""A web process on a test's database: the API as callers meet it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from portal.devstack.servers.servers import redis_url
from tests.harness import database
from tests.harness.schedulers import database_url
from tests.plugin import ENVIRONMENT

_START_S = 120


@contextmanager
def web() -> Iterator[str]:
    """The address of a web process as `make run` starts it; it is stopped in good order."""
    with running_web() as (url, _process):
        yield url


@contextmanager
def running_web(**variables: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A web server with more environment variables: its address and its process."""
    environment = {
        **os.environ,
        **ENVIRONMENT,
        "DJANGO_SETTINGS_MODULE": "portal.settings.dev",
        "WEIR_DATABASE_URL": database_url(),
        "WEIR_REDIS_URL": redis_url(database.VAR, 15),
        "WEIR_VAR_DIR": str(database.VAR),
        **variables,
    }
    with socket.create_server(("127.0.0.1", 0)) as listening:
        fd, port = listening.fileno(), listening.getsockname()[1]
        command = [sys.executable, "-m", "portal.web", "--fd", str(fd)]
        process = subprocess.Popen(command, env=environment, pass_fds=[fd])
    try:
        _answers_wait(process, port)
        yield f"http://localhost:{port}", process
    finally:
        process.terminate()
        process.wait(timeout=60)


def _answers_wait(process: subprocess.Popen, port: int) -> None:
    end_s = time.monotonic() + _START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > end_s:
                raise
            time.sleep(0.1)
