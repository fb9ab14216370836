"""The process that stands over one slice's work: limits it, measures it, vouches for its time.

It outlives the agent; the work does not outlive it. Run as `python -m node_agent.runtime.shim <folder>`.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from node_agent.runtime import ending, limits, proc
from node_agent.runtime.books import Books
from node_agent.runtime.cgroup import Cgroup, cgroup_make
from node_agent.runtime.checkpoint import LAST_S, CheckpointDesk
from node_agent.runtime.ending import End
from node_agent.runtime.files import SliceFolder, read_json, write_json
from node_agent.runtime.gauge import Gauge, SessionGauge, gauge_make
from node_agent.runtime.meter import NS, Meter
from node_agent.runtime.output import Output
from node_agent.runtime.records import Control, ShimState, SliceSpec
from node_agent.runtime.session import SessionDesk
from node_agent.runtime.share import Share
from node_agent.runtime.size import SizeDesk
from node_agent.runtime.work import Work

WATCH_S = 0.1
STATE_S = 1.0
READY_S = 120
EXIT_BUSY = 3
SAVE_TRIES = 20


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
            driver=spec.driver,
        )
        self._wish: dict[str, Any] = spec.session or {}
        self._size = spec.size
        self._end: End | None = None
        self._kill_at_ns: int | None = None
        self._ask_at_ns: int | None = None
        self._ended_ns: int | None = None
        self._control_seen: tuple[int, int] | None = None
        self._refused: Control | None = None
        self._is_output_open = True
        self.stop_wanted = ""
        self._watch_at_ns = self._state_at_ns = 0

    # ---- life ----

    def run(self) -> int:
        """Start the work, stand over it, report its end."""
        self._save()
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
        spec, now_ns = self._spec, clock_ns()
        self._desk = SessionDesk(self._folder.work, spec, now_ns) if spec.is_session else None
        self._sizes = SizeDesk(self._folder.work, spec.work_uid) if spec.size is not None else None
        self._tell_size([])
        gauge = gauge_make(spec.vendor, spec.gauge_uid or spec.device_uid, spec.cores)
        if self._desk is not None:
            gauge = SessionGauge(gauge, self._desk)
            self._desk.tell(self._wish, spec.compute_percent, spec.memory_mib)
        group = self._group(gauge)
        started_at, now_ns = datetime.now(UTC), clock_ns()
        meter = Meter(started_at, now_ns, period_s=spec.meter_s, run_timeout_s=spec.run_timeout_s)
        self._books = Books(
            self._folder.journal, meter, compute_percent=spec.compute_percent, memory_mib=spec.memory_mib
        )
        self._work = Work(spec, self._folder, gauge, group)
        self._output = Output(self._work.output_fd, self._folder.log, limit_bytes=spec.log_limit_bytes)
        self._checkpoints = CheckpointDesk(self._folder.work, spec.checkpoint, self._output.note)
        self._share = Share(spec, self._work, gauge, group, now_ns)
        self._started_ns = now_ns
        if self._desk is None:
            self._share.begin(now_ns)
        self._state.state, self._state.started_at = "running", started_at.isoformat()
        self._state.work_pid, self._state.work_start_ticks = self._work.pid, self._work.start_ticks
        self._save()
        return group

    def _group(self, gauge: Gauge) -> Cgroup | None:
        """A control group where the kernel lets us; says who enforces what."""
        spec, state = self._spec, self._state
        group = cgroup_make(f"{spec.slice_uid}-{os.getpid()}") if gauge.is_cpu else None
        if group is not None and gauge.holds_data:
            group.limit_memory(spec.memory_mib)
        holder = "cgroup-v2" if group else ""
        memory_holder = holder if gauge.holds_data else ""
        state.memory_enforced_by = memory_holder or spec.memory_enforced_by or gauge.memory_enforced_by
        state.compute_enforced_by = holder or spec.compute_enforced_by or gauge.compute_enforced_by
        return group

    def _turn(self) -> None:
        """One look at everything; then wait for output, the end, or the next look."""
        now_ns = clock_ns()
        due_ns = self._due_ns(now_ns)
        if now_ns >= min(self._watch_at_ns, due_ns or now_ns + NS):
            self._watch_at_ns = now_ns + int(WATCH_S * NS)
            self._watch(now_ns)
        wait_s = min(self._share.step(now_ns), WATCH_S)
        due_ns = self._due_ns(now_ns)
        if due_ns is not None:
            wait_s = min(wait_s, max((due_ns - clock_ns()) / NS, 0.0))
        watched = [self._work.exit_fd, *([self._output.fd] if self._is_output_open else [])]
        ready, _, _ = select.select(watched, [], [], wait_s)
        if self._output.fd in ready:
            self._is_output_open = self._output.copy()

    def _watch(self, now_ns: int) -> None:
        self._work.look()
        has_news = self._desk is not None and self._desk.look(now_ns)
        if self._sizes is not None and self._sizes.look():
            self._state.size_step, has_news = self._sizes.confirmed_step, True
        self._hear_checkpoint(now_ns)
        if not self._share.is_begun and self._desk is not None and self._desk.is_ready:
            self._share.begin(now_ns)
        self._share.look(now_ns)
        self._books.note_memory(self._share.memory_used_mib)
        if self._ended_ns is None:
            self._books.see(now_ns, self._share.cpu_s)
        self._read_control()
        self._check_ends(now_ns)
        self._tell_session()
        if has_news or now_ns >= self._state_at_ns:
            self._observe(now_ns)

    # ---- ends ----

    def _due_ns(self, now_ns: int) -> int | None:
        """When a time-out falls due; None where none is pending."""
        if self._end is not None:
            return None
        left_ns = self._books.meter.remaining_ns(now_ns)
        dues = [] if left_ns is None else [now_ns + left_ns]
        if self._spec.idle_timeout_s is not None:
            dues.append(self._last_use_ns() + self._spec.idle_timeout_s * NS)
        return min(dues, default=None)

    def _last_use_ns(self) -> int:
        if self._desk is None:
            return self._share.idle.last_use_ns
        # A session that is still starting is not idle.
        return self._desk.last_use_ns if self._desk.is_ready else clock_ns()

    def _check_ends(self, now_ns: int) -> None:
        if self.stop_wanted:
            self._stop(ending.stopped(self.stop_wanted), self._spec.grace_s)
        if self._share.has_exceeded_memory:
            self._stop(ending.out_of_memory(self._share.memory_mib), 0)
        self._check_run_time(now_ns)
        self._check_idle(now_ns)
        if self._desk is not None and self._end is None:
            self._check_session(self._desk, now_ns)
        if self._ask_at_ns is not None and (now_ns >= self._ask_at_ns or self._checkpoints.is_over):
            self._ask_to_end(now_ns)
        if self._kill_at_ns is not None and now_ns >= self._kill_at_ns:
            self._work.kill()

    def _check_run_time(self, now_ns: int) -> None:
        left_ns = self._books.meter.remaining_ns(now_ns)
        if left_ns is not None and left_ns <= 0 and self._ended_ns is None:
            self._expire(now_ns, now_ns + left_ns, ending.run_timeout(self._spec.run_timeout_s or 0))

    def _check_idle(self, now_ns: int) -> None:
        limit_s = self._spec.idle_timeout_s
        if limit_s is None or self._end is not None:
            return
        due_ns = self._last_use_ns() + limit_s * NS
        if now_ns >= due_ns:
            self._expire(due_ns, due_ns, ending.idle_timeout(limit_s))

    def _expire(self, close_ns: int, end_ns: int, end: End) -> None:
        """Nothing is held and billed past the instant at which a time-out fell due."""
        self._books.close(close_ns, self._share.cpu_s, is_final=True)
        self._ended_ns = end_ns
        self._stop(end, self._spec.grace_s)

    def _check_session(self, desk: SessionDesk, now_ns: int) -> None:
        if desk.end:
            self._stop(ending.session_end(desk.end), self._spec.grace_s)
        elif not desk.is_ready and now_ns - self._started_ns > READY_S * NS:
            self._stop(ending.unready(READY_S), 0)

    def _stop(self, end: End, grace_s: int, *, saves: bool = False) -> None:
        """Ask the work to end and kill it after its grace; its time counts until it is gone. With `saves` the grace is
        for it to save itself first."""
        if self._end is not None:
            return
        self._end = end
        self._state.state, self._state.reason = "stopping", end.reason
        self._kill_at_ns = clock_ns() + grace_s * NS
        told = f"{end.reason}: the resource is released"
        if self._desk is not None:
            self._share.let_go()
            self._desk.notify(end.code, told)
        self._output.note(told)
        self._save()
        if saves and grace_s and self._checkpoints.begin(self._work, grace_s):
            self._ask_at_ns, self._kill_at_ns = self._kill_at_ns, None
        elif grace_s:
            self._work.ask_to_end()
        else:
            self._work.kill()

    def _ask_to_end(self, now_ns: int) -> None:
        """It has saved itself, or its grace for that is over."""
        self._ask_at_ns, self._kill_at_ns = None, now_ns + min(self._spec.grace_s, LAST_S) * NS
        self._work.ask_to_end()

    def _hear_checkpoint(self, now_ns: int) -> None:
        if self._checkpoints.look():
            self._state.checkpoint_at = self._books.meter.instant(now_ns).isoformat()

    # ---- wishes ----

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
        share, state = self._share, self._state
        state.generation = control.generation
        self._wish = control.session or self._wish
        self._size = control.size or self._size
        self._tell_size(self._work.pids)
        if control.state == "stopped":
            self._stop(
                ending.stopped("stopped as asked by the server"), self._spec.grace_s, saves=control.saves
            )
        elif self._end is None:
            state.reason, self._refused = "", None
            if (control.compute_percent, control.memory_mib) != (share.compute_percent, share.memory_mib):
                self._resize(control)
        self._save()

    def _resize(self, control: Control) -> None:
        share, books, state = self._share, self._books, self._state
        refusal = share.resize(control.compute_percent, control.memory_mib)
        # What is still wanted is tried again every second: the work may free memory.
        self._refused = control if refusal else None
        state.reason = f"not resized: {refusal}"[:500] if refusal else ""
        if refusal:
            return
        # What was held until now is billed as it was held.
        books.close(clock_ns(), self._share.cpu_s, is_final=False)
        books.compute_percent, books.memory_mib = share.compute_percent, share.memory_mib
        state.compute_percent, state.memory_mib = share.compute_percent, share.memory_mib

    def _tell_session(self) -> None:
        """A full disk delays what the worker hears; the next look tells it again."""
        if self._desk is None:
            return
        try:
            self._desk.tell(self._wish, self._share.compute_percent, self._share.quota_mib)
        except OSError as error:
            self._state.reason = f"the session cannot be told: {error.strerror}; look at the node's disk"

    def _tell_size(self, pids: list[int]) -> None:
        """A full disk delays what the work hears; the next wish tells it again."""
        if self._sizes is None or self._size is None:
            return
        try:
            self._sizes.tell(self._size, pids)
        except OSError as error:
            self._state.reason = (
                f"the work cannot be told its size: {error.strerror}; look at the node's disk"
            )

    # ---- what is told ----

    def _observe(self, now_ns: int) -> None:
        self._state_at_ns = now_ns + int(STATE_S * NS)
        share, state = self._share, self._state
        if self._refused is not None and self._end is None:
            self._resize(self._refused)
        share.measure(now_ns)
        state.delivered_percent, state.memory_used_mib = share.delivered_percent, share.memory_used_mib
        state.mounted = share.is_mounted
        if self._desk is not None:
            state.session = self._desk.report(now_ns)
        self._save()

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
        now_ns, meter, state = clock_ns(), self._books.meter, self._state
        code = self._work.exit_code() or 0
        self._hear_checkpoint(now_ns)
        self._work.kill()
        self._work.close_output()
        self._output.drain()
        if self._ended_ns is None:
            self._ended_ns = now_ns + min(meter.remaining_ns(now_ns) or 0, 0)
            self._books.see(now_ns, self._share.cpu_s)
            self._books.close(now_ns, self._share.cpu_s, is_final=True)
        end = self._end or self._own_end(code)
        state.state, state.reason_code, state.reason, state.exit_code = end.state, end.code, end.reason, code
        state.ended_at = meter.instant(self._ended_ns).isoformat()
        state.delivered_percent, state.memory_used_mib = None, None
        if self._end is None:
            self._output.note(end.reason)
        self._books.write()
        if self._share.ledger is not None:
            self._share.ledger.close()
        self._save()

    def _own_end(self, code: int) -> End:
        if self._desk is not None and self._desk.look(clock_ns()) and self._desk.end:
            return ending.session_end(self._desk.end)
        return ending.own_end(
            code,
            self._output.tail,
            limit_mib=self._share.memory_mib,
            is_out_of_memory=self._work.has_run_out_of_memory(),
            holds_data=self._work.holds_data,
        )


def clock_ns() -> int:
    """A clock that never jumps and also counts a suspend."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


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
