"""Why a work ends: the state, code and sentence its slice is reported with."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

_REFUSED_ALLOCATION = re.compile(r"^(\S*MemoryError\b|.*std::bad_alloc|.*Cannot allocate memory)", re.M)
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


def run_timeout(seconds: int) -> End:
    return End("exited", "run_timeout", f"run time of {seconds} s reached")


def idle_timeout(seconds: int) -> End:
    return End("exited", "idle_timeout", f"idle for {seconds} s")


def out_of_memory(limit_mib: int) -> End:
    return End("failed", "memory_exceeded", f"memory limit of {limit_mib} MiB exceeded")


def stopped(reason: str) -> End:
    return End("exited", "stopped", reason)


def session_end(word: str) -> End:
    """A session that ends by its worker's own wish."""
    return End("exited", "completed", _SESSION_ENDS.get(word, f"the session ended: {word}"))


def unready(seconds: int) -> End:
    return End("failed", "crashed", f"the session's server did not start within {seconds} s; look at its log")


def own_end(
    exit_code: int, output_tail: str, *, limit_mib: int, is_out_of_memory: bool, holds_data: bool
) -> End:
    """A work that ended unasked."""
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
