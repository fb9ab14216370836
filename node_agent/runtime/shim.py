"""The process that stands over one slice's work: limits it, measures it, vouches for its time.

It outlives the agent; the work does not outlive it. Run as `python -m node_agent.runtime.shim <folder>`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from node_agent.runtime import limits, proc
from node_agent.runtime.cgroup import Cgroup, cgroup_make
from node_agent.runtime.files import SliceFolder, read_json, write_json
from node_agent.runtime.gauge import gauge_make
from node_agent.runtime.journal import JournalWriter
from node_agent.runtime.meter import NS, Meter, Span
from node_agent.runtime.output import Output
from node_agent.runtime.records import Control, ShimState, SliceSpec
from node_agent.runtime.throttle import STEP_MAX_S, Throttle
from node_agent.runtime.work import Work

WATCH_S = 0.1
STATE_S = 1.0
WINDOW = 6
EXIT_BUSY = 3
SAVE_TRIES = 20
_REFUSED_ALLOCATION = re.compile(r"^(\S*MemoryError\b|.*std::bad_alloc|.*Cannot allocate memory)", re.M)


class End:
    """Why a work ends: the state, code and sentence it is reported with."""

    def __init__(self, state: str, code: str, reason: str) -> None:
        self.state, self.code, self.reason = state, code, reason


class Shim:
    """One slice's keeper. `run` returns the process's exit code once the work has ended."""

    def __init__(self, folder: SliceFolder, spec: SliceSpec) -> None:
        self._folder, self._spec = folder, spec
        self._state = ShimState(
            spec.slice_uid,
            spec.generation,
            spec.device_uid,
            spec.compute_percent,
            spec.memory_mib,
            shim_pid=os.getpid(),
            shim_start_ticks=proc.start_ticks(os.getpid()),
            boot_id=proc.boot_id(),
            work_uid=spec.work_uid,
        )
        self._end: End | None = None
        self._kill_at_ns: int | None = None
        self._ended_ns: int | None = None
        self._control_seen: tuple[int, int] | None = None
        self._samples: deque[tuple[int, float]] = deque(maxlen=WINDOW)
        self._cpu_closed_s = 0.0
        self._peak_mib = 0
        self._running_ns = 0
        self._may_run = True
        self._is_output_open = True
        self._unwritten: deque[dict[str, Any]] = deque()
        self.stop_wanted = ""
        self._watch_at_ns = self._state_at_ns = 0

    # ---- life ----

    def run(self) -> int:
        """Start the work, stand over it, report its end."""
        self._save()
        self._journal = JournalWriter(self._folder.journal)
        group: Cgroup | None = None
        try:
            group = self._start()
        except (OSError, subprocess.SubprocessError, ValueError, KeyError, RuntimeError) as error:
            self._state.state, self._state.reason_code = "failed", "crashed"
            self._state.reason = f"the work could not be started: {error}"[:500]
            self._save()
            return 1
        while self._work.exit_code() is None:
            self._turn()
        self._finish()
        if group is not None:
            group.remove()
        return 0

    def _start(self) -> Cgroup | None:
        spec = self._spec
        gauge = gauge_make(spec.vendor, spec.device_uid, spec.cores)
        group = cgroup_make(f"{spec.slice_uid}-{os.getpid()}") if gauge.holds_data else None
        if group is not None:
            group.limit_compute(spec.compute_percent, spec.cores)
            group.limit_memory(spec.memory_mib)
        self._is_grouped = group is not None
        self._state.memory_enforced_by = "cgroup-v2" if group else gauge.memory_enforced_by
        self._state.compute_enforced_by = "cgroup-v2" if group else gauge.compute_enforced_by
        started_at, now_ns = datetime.now(UTC), clock_ns()
        self._work = Work(spec, self._folder, gauge, group)
        self._meter = Meter(started_at, now_ns, period_s=spec.meter_s, run_timeout_s=spec.run_timeout_s)
        self._output = Output(self._work.output_fd, self._folder.log, limit_bytes=spec.log_limit_bytes)
        speed = (os.cpu_count() or 1) / spec.cores if gauge.holds_data else 1.0
        self._throttle = Throttle(spec.compute_percent, speed=speed, now_s=now_ns / NS, used_s=0.0)
        self._turned_ns = now_ns
        self._state.state, self._state.started_at = "running", started_at.isoformat()
        self._state.work_pid, self._state.work_start_ticks = self._work.pid, self._work.start_ticks
        self._save()
        return group

    def _turn(self) -> None:
        """One look at everything; then wait for output, the end, or the next look."""
        now_ns = clock_ns()
        self._running_ns += (now_ns - self._turned_ns) if self._may_run else 0
        self._turned_ns = now_ns
        if now_ns >= self._watch_at_ns:
            self._watch_at_ns = now_ns + int(WATCH_S * NS)
            self._watch(now_ns)
        wait_s = self._share(now_ns)
        left_ns = self._meter.remaining_ns(now_ns)
        if left_ns is not None and self._end is None:
            wait_s = min(wait_s, max(left_ns / NS, 0.0))
        watched = [self._work.exit_fd, *([self._output.fd] if self._is_output_open else [])]
        ready, _, _ = select.select(watched, [], [], wait_s)
        if self._output.fd in ready:
            self._is_output_open = self._output.copy()

    def _watch(self, now_ns: int) -> None:
        self._work.look()
        if self._ended_ns is None:
            span = self._meter.see(now_ns)
            self._record(span, is_final=self._meter.is_used_up)
        self._read_control()
        if self.stop_wanted:
            self._stop_asked(self.stop_wanted)
        self._check_memory()
        self._check_time(now_ns)
        if now_ns >= self._state_at_ns:
            self._state_at_ns = now_ns + int(STATE_S * NS)
            self._measure(now_ns)
            self._save()

    # ---- limits ----

    def _share(self, now_ns: int) -> float:
        """Hold the compute share; returns how long to wait before the next look."""
        if self._is_grouped:
            return STEP_MAX_S
        verdict = self._throttle.step(now_ns / NS, self._used_s())
        self._may_run = verdict.may_run
        self._work.pause(not verdict.may_run)
        return min(verdict.ask_again_s, WATCH_S)

    def _used_s(self) -> float:
        return self._work.used_s(self._work.cpu_seconds(), self._running_ns / NS)

    def _check_memory(self) -> None:
        limit_mib = self._state.memory_mib
        used_mib = self._work.memory_mib(limit_mib)
        self._peak_mib = max(self._peak_mib, used_mib)
        self._state.memory_used_mib = used_mib
        if used_mib > limit_mib and not self._is_grouped and self._end is None:
            self._stop(_out_of_memory(limit_mib), grace_s=0)

    def _check_time(self, now_ns: int) -> None:
        left_ns = self._meter.remaining_ns(now_ns)
        if left_ns is not None and left_ns <= 0 and self._ended_ns is None:
            seconds = self._spec.run_timeout_s
            self._record(self._meter.close(now_ns), is_final=True)
            self._ended_ns = now_ns + left_ns
            if self._end is None:
                self._stop(
                    End("exited", "run_timeout", f"run time of {seconds} s reached"), self._spec.grace_s
                )
        if self._kill_at_ns is not None and now_ns >= self._kill_at_ns:
            self._work.kill()

    def _read_control(self) -> None:
        try:
            stat = self._folder.control.stat()
        except OSError:
            return
        if (stat.st_ino, stat.st_mtime_ns) == self._control_seen:
            return
        self._control_seen = (stat.st_ino, stat.st_mtime_ns)
        try:
            control = Control.from_json(read_json(self._folder.control) or {})
        except (TypeError, ValueError):
            return
        if control.generation >= self._state.generation:
            self._apply(control)

    def _apply(self, control: Control) -> None:
        state = self._state
        state.generation = control.generation
        if control.state == "stopped":
            self._stop_asked("stopped as asked by the server")
        elif (control.compute_percent, control.memory_mib) != (state.compute_percent, state.memory_mib):
            # What was held until now is billed as it was held.
            self._record(self._meter.close(clock_ns()), is_final=False)
            self._resize(control)
        self._save()

    def _resize(self, control: Control) -> None:
        try:
            self._work.resize(control.compute_percent, control.memory_mib)
        except OSError as error:
            self._state.reason = f"not resized: the kernel refused: {error.strerror}"
            return
        self._throttle.resize(control.compute_percent)
        self._state.compute_percent, self._state.memory_mib = control.compute_percent, control.memory_mib

    def _stop_asked(self, reason: str) -> None:
        # The work is killed after its grace; its time counts until it is gone.
        if self._end is None:
            self._stop(End("exited", "stopped", reason), self._spec.grace_s)

    def _stop(self, end: End, grace_s: int) -> None:
        self._end = end
        self._state.state, self._state.reason = "stopping", end.reason
        self._kill_at_ns = clock_ns() + grace_s * NS
        self._save()
        if grace_s:
            self._work.ask_to_end()
        else:
            self._work.kill()

    # ---- measures ----

    def _record(self, span: Span | None, *, is_final: bool) -> None:
        if span is None:
            return
        cpu_s = self._work.cpu_seconds()
        self._unwritten.append(
            {
                "span": span,
                "compute_percent": self._state.compute_percent,
                "memory_mib": self._state.memory_mib,
                "cpu_seconds": cpu_s - self._cpu_closed_s,
                "memory_peak_mib": self._peak_mib,
                "final": is_final,
            }
        )
        self._cpu_closed_s, self._peak_mib = cpu_s, self._state.memory_used_mib or 0
        self._write_journal()

    def _write_journal(self) -> None:
        """A full disk delays the vouching, it does not end the work."""
        with contextlib.suppress(OSError):
            while self._unwritten:
                self._journal.append(**self._unwritten[0])
                self._unwritten.popleft()

    def _measure(self, now_ns: int) -> None:
        self._samples.append((now_ns, self._used_s()))
        (first_ns, first_s), (last_ns, last_s) = self._samples[0], self._samples[-1]
        if last_ns > first_ns:
            self._state.delivered_percent = round(100 * NS * (last_s - first_s) / (last_ns - first_ns), 2)

    def _save(self) -> None:
        is_last = self._state.is_terminal
        for _ in range(SAVE_TRIES if is_last else 1):
            try:
                write_json(self._folder.state, self._state.to_json(), durable=is_last)
                return
            except OSError:
                time.sleep(0.5 if is_last else 0)

    # ---- the end ----

    def _finish(self) -> None:
        now_ns = clock_ns()
        code = self._work.exit_code()
        self._work.kill()
        self._output.drain()
        if self._ended_ns is None:
            self._ended_ns = now_ns + min(self._meter.remaining_ns(now_ns) or 0, 0)
            self._record(self._meter.see(now_ns), is_final=False)
            self._record(self._meter.close(now_ns), is_final=True)
        end = self._end or self._own_end(code or 0)
        state = self._state
        state.state, state.reason_code, state.reason, state.exit_code = end.state, end.code, end.reason, code
        state.ended_at = self._meter.instant(self._ended_ns).isoformat()
        state.delivered_percent, state.memory_used_mib = None, None
        self._output.note(end.reason)
        self._write_journal()
        self._save()

    def _own_end(self, code: int) -> End:
        if self._work.has_run_out_of_memory():
            return _out_of_memory(self._state.memory_mib)
        if code == 0:
            return End("exited", "completed", "the work finished")
        if self._work.holds_data and _REFUSED_ALLOCATION.search(self._output.tail):
            return _out_of_memory(self._state.memory_mib)
        if code < 0:
            return End("failed", "crashed", f"the work was ended by {signal.Signals(-code).name}")
        return End("failed", "crashed", f"the work ended with exit code {code}")


def clock_ns() -> int:
    """A clock that never jumps and also counts a suspend."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _out_of_memory(limit_mib: int) -> End:
    return End("failed", "memory_exceeded", f"memory limit of {limit_mib} MiB exceeded")


def main(path: str) -> int:
    """Exit code 3: another shim has this slice, or its work has run already."""
    folder = SliceFolder(Path(path))
    spec = SliceSpec.from_json(read_json(folder.spec) or {})
    lock = os.open(folder.lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return EXIT_BUSY
    if folder.state.exists():
        return EXIT_BUSY
    limits.become_subreaper()
    shim = Shim(folder, spec)
    signal.signal(signal.SIGTERM, lambda *_: setattr(shim, "stop_wanted", "stopped on its node"))
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return shim.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
