"""Running a vendor's management tool: never longer than its time, never more output than we can hold."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence

from node_agent.readable import is_readable

TIMEOUT_S = 10.0
OUTPUT_BYTES = 1024 * 1024
_ENVIRONMENT = {"LANG": "C", "LC_ALL": "C", "TERM": "dumb"}


class ToolError(Exception):
    """A tool gave no usable answer; the text says which and why."""


def tool_run(command: Sequence[str], *, timeout_s: float = TIMEOUT_S, limit_bytes: int = OUTPUT_BYTES) -> str:
    """What the tool prints. Raises ToolError; leaves no process behind."""
    name = os.path.basename(command[0])
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | _ENVIRONMENT,
        )
    except OSError as error:
        raise ToolError(f"{name} cannot be started: {error.strerror}") from error
    try:
        data = _read(process, name, time.monotonic() + timeout_s, timeout_s, limit_bytes)
    finally:
        _end(process)
    if process.returncode:
        raise ToolError(f"{name} ended with exit code {process.returncode}")
    return data.decode(errors="replace")


def _read(
    process: subprocess.Popen[bytes], name: str, until_s: float, timeout_s: float, limit_bytes: int
) -> bytes:
    assert process.stdout is not None
    data = bytearray()
    fd = process.stdout.fileno()
    while True:
        left_s = until_s - time.monotonic()
        if left_s <= 0 or not is_readable(fd, left_s):
            raise ToolError(f"{name} has not answered for {timeout_s:.0f} s")
        piece = os.read(fd, 65_536)
        if not piece:
            break
        data += piece
        if len(data) > limit_bytes:
            raise ToolError(f"{name} prints more than {limit_bytes} bytes")
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(until_s - time.monotonic(), 0.1))
    return bytes(data)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the tool with all it started, unless it has ended by itself."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
    if process.stdout is not None:
        process.stdout.close()
