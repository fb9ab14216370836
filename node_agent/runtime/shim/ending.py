"""Why a work ends: the state, code and sentence its slice is reported with."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

_WRITE_TRIES, _WRITE_WAIT_S = 20, 0.5
_REFUSED_ALLOCATION = re.compile(r"^(\S*MemoryError\b|.*std::bad_alloc|.*Cannot allocate memory)", re.M)
# One file alone reached the limit: the kernel refused to let it grow.
_REFUSED_FILE = re.compile(r"^OSError: \[Errno 27\]|File too large$|File size limit exceeded", re.M)
_SESSION_ENDS = {
    "detached": "the session had no client for too long",
    "closed": "the client closed the session",
    "done": "the session finished",
}


@dataclass(frozen=True, slots=True)
class End:
    """`state` and `code` are the protocol's; `reason` is for people."""

    state: str
    code: str
    reason: str


def until_written(write: Callable[[], bool], is_hurried: Callable[[], bool]) -> None:
    """What a shim has to say last is said however long the disk stays full; ten seconds where all work of the node is
    being ended."""
    for attempt in count():
        if write() or (is_hurried() and attempt >= _WRITE_TRIES):
            return
        time.sleep(_WRITE_WAIT_S)


def run_timeout(seconds: int) -> End:
    return End("exited", "run_timeout", f"run time of {seconds} s reached")


def idle_timeout(seconds: int) -> End:
    return End("exited", "idle_timeout", f"idle for {seconds} s")


def out_of_memory(limit_mib: int) -> End:
    return End("failed", "memory_exceeded", f"memory limit of {limit_mib} MiB exceeded")


def out_of_host_memory(limit_mib: int) -> End:
    """Work on a card used more of its host's memory than it may, in MiB."""
    return End("failed", "memory_exceeded", f"main memory limit of {limit_mib} MiB exceeded")


def out_of_disk(limit_mib: int) -> End:
    """It keeps more on the node's disk than it may, in MiB."""
    return End("failed", "disk_exceeded", f"disk limit of {limit_mib} MiB exceeded")


def volume_exceeded(path: str, used_mib: int, size_mib: int) -> End:
    """A volume holds more than it is large, both in MiB, and it may write there."""
    return End("failed", "volume_exceeded", f"{path} holds {used_mib} MiB and may hold {size_mib} MiB")


def disk_full() -> End:
    """It has to make room: the disk is the node's and every other work's too."""
    return End("failed", "disk_exceeded", "the node's disk is nearly full, and it kept the most on it")


def unstarted(error: Exception) -> End:
    return End("failed", "crashed", f"the work could not be started: {error}"[:500])


def stopped(reason: str) -> End:
    return End("exited", "stopped", reason)


def session_end(word: str) -> End:
    """A session that ends because its worker asks for it."""
    return End("exited", "completed", _SESSION_ENDS.get(word, f"the session ended: {word}"))


def unready(seconds: int) -> End:
    return End("failed", "crashed", f"the session's server did not start within {seconds} s; look at its log")


def service_failed(times: int, cause: str, *, code: str) -> End:
    """A service whose program has failed too often in a row."""
    return End("failed", code, f"the service failed {times} times in a row, the last time: {cause}"[:500])


def own_end(
    exit_code: int,
    output_tail: str,
    *,
    limit_mib: int,
    is_out_of_memory: bool,
    holds_data: bool,
    disk_mib: int = 0,
) -> End:
    """A work that ended unasked. `limit_mib` of memory and `disk_mib` of the disk were its limits."""
    if disk_mib and exit_code and (exit_code == -signal.SIGXFSZ or _REFUSED_FILE.search(output_tail)):
        return out_of_disk(disk_mib)
    has_asked_too_much = holds_data and exit_code != 0 and _REFUSED_ALLOCATION.search(output_tail)
    if is_out_of_memory or has_asked_too_much:
        return out_of_memory(limit_mib)
    if exit_code == 0:
        return End("exited", "completed", "the work finished")
    if exit_code < 0:
        return End("failed", "crashed", f"the work was ended by {_signal_name(-exit_code)}")
    return End("failed", "crashed", f"the work ended with exit code {exit_code}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
