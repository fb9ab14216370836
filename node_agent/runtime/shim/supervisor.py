"""The process that stands over one slice's work: limits it, measures it, vouches for its time.

It outlives the agent; the work does not outlive it. Run as `python -m node_agent.runtime.shim.supervisor <folder>`.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from node_agent.files import SliceFolder, read_json, write_json
from node_agent.runtime import proc
from node_agent.runtime.records.meter import NS, Meter, clock_ns
from node_agent.runtime.records.slice_records import Control, ShimState, SliceSpec
from node_agent.runtime.records.usage_book import UsageBook
from node_agent.runtime.sandbox import become_subreaper
from node_agent.runtime.shim import ending
from node_agent.runtime.shim.checkpoint import LAST_S, CheckpointControl
from node_agent.runtime.shim.elastic_size import SizeControl
from node_agent.runtime.shim.end_signal import EndSignal
from node_agent.runtime.shim.ending import End
from node_agent.runtime.shim.measures.device_meter import SessionMeter, device_meter_make
from node_agent.runtime.shim.measures.kernel_limits import KernelLimits
from node_agent.runtime.shim.measures.metrics import metrics_open
from node_agent.runtime.shim.output import Output
from node_agent.runtime.shim.packages import NotInstalled, PackageInstallation
from node_agent.runtime.shim.programs.executions import executions_open
from node_agent.runtime.shim.programs.service import ServiceControl
from node_agent.runtime.shim.programs.workload_process import Work, surroundings_of
from node_agent.runtime.shim.session import SessionControl
from node_agent.runtime.shim.sharing.share import Share
from node_agent.web.service_place import ServicePlace

WATCH_S = 0.1
STATE_S = 1.0
READY_S = 120
EXIT_BUSY = 3


class Shim:
    """One slice's keeper. `run` returns the process's exit code once the work has ended."""

    def __init__(self, folder: SliceFolder, spec: SliceSpec) -> None:
        self._folder, self._spec = folder, spec
        self._state = _first_state(spec)
        self._session: dict[str, Any] = spec.session or {}
        self._size = spec.size
        self._warning = EndSignal(spec.warning)
        self._end: End | None = None
        self._held = KernelLimits()
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
        try:
            self._start()
        except (
            NotInstalled,
            OSError,
            subprocess.SubprocessError,
            ValueError,
            KeyError,
            RuntimeError,
        ) as error:
            self._held.remove()
            end = error.end if isinstance(error, NotInstalled) else ending.unstarted(error)
            self._state.state, self._state.reason_code, self._state.reason = end.state, end.code, end.reason
            self._save()
            return 1
        while self._work.exit_code() is None or self._is_started_again():
            self._turn()
        self._finish()
        self._held.remove()
        return 0

    def _start(self) -> None:
        spec, now_ns = self._spec, clock_ns()
        self._control = SessionControl(self._folder.work, spec, now_ns) if spec.is_session else None
        self._sizes = SizeControl(self._folder.work, spec.work_uid) if spec.size is not None else None
        self._tell_size([])
        device_meter = device_meter_make(spec.vendor, spec.metered_uid or spec.device_uid, spec.cores)
        if self._control is not None:
            device_meter = SessionMeter(device_meter, self._control)
            self._control.tell(self._session, spec.compute_percent, spec.memory_mib)
        if spec.packages is not None:
            self._packages = PackageInstallation(spec, self._folder, device_meter, self._state, self._save)
            spec = self._spec = self._packages.run(lambda: bool(self.stop_wanted))
            now_ns = clock_ns()
        self._held.take(spec, device_meter, self._state)
        group, host = self._held.share, self._held.host
        # Before the work starts: where nothing can be written down, nothing runs.
        self._book = UsageBook(
            self._folder.journal,
            self._meter(datetime.now(UTC), now_ns),
            compute_percent=spec.compute_percent,
            memory_mib=spec.memory_mib,
        )
        # Before the work starts: it may save itself at once.
        self._checkpoints = CheckpointControl(
            self._folder.work, spec.checkpoint, lambda text: self._output.note(text)
        )
        self._metrics = metrics_open(spec, self._folder, lambda text: self._output.note(text))
        self._work = Work(spec, self._folder, device_meter, group, host)
        # Building its namespaces takes seconds on a busy node: that is not the work's time, and nobody watched it.
        started_at, now_ns = datetime.now(UTC), clock_ns()
        self._book.meter = self._meter(started_at, now_ns)
        self._output = Output(self._work.output_fd, self._folder.log, limit_bytes=spec.log_limit_bytes)
        if host is not None:
            self._output.note(host.describe())
        self._executions = executions_open(spec, self._folder, self._work, self._output)
        self._share = Share(spec, self._work, device_meter, group, now_ns)
        self._started_ns = now_ns
        if self._control is None:
            self._share.begin(now_ns)
        self._state.state, self._state.started_at = "running", started_at.isoformat()
        self._service = self._service_open(now_ns)
        self._tell_program()
        self._save()

    def _tell_program(self) -> None:
        """Which process its program is, and how it is with a service."""
        self._state.work_pid, self._state.work_start_ticks = self._work.pid, self._work.start_ticks
        if self._service is not None:
            self._state.service = self._service.report()

    def _service_open(self, now_ns: int) -> ServiceControl | None:
        if self._spec.service is None:
            return None
        within = self._work.connect if self._work.network is not None else None
        place = ServicePlace(surroundings_of(self._spec, self._folder).web_socket, within=within)
        return ServiceControl(self._spec.service, self._work, place, self._output, now_ns)

    def _is_started_again(self) -> bool:
        """Its program has ended: whether it is a service that goes on."""
        if self._service is None or self._end is not None:
            return False
        if not self._service.is_down:
            now_ns = clock_ns()
            self._end = self._service.ended(self._own_end(self._work.exit_code() or 0), now_ns)
            if self._end is not None:
                self._output.note(self._end.reason)
            self._observe(now_ns)
        return self._end is None

    def _meter(self, started_at: datetime, now_ns: int) -> Meter:
        spec = self._spec
        return Meter(started_at, now_ns, period_s=spec.meter_s, run_timeout_s=spec.run_timeout_s)

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
        watched = [self._output.fd] if self._is_output_open else []
        if self._work.exit_code() is None:
            watched.append(self._work.exit_fd)
        asked = self._executions.fds if self._executions is not None else []
        ready, _, _ = select.select([*watched, *asked], [], [], wait_s)
        if self._output.fd in ready:
            self._is_output_open = self._output.copy()
        if self._executions is not None:
            self._executions.look()

    def _watch(self, now_ns: int) -> None:
        self._work.look()
        for note in self._work.network_news():
            self._output.note(note)
        has_news = self._control is not None and self._control.look(now_ns)
        if self._sizes is not None and self._sizes.look():
            self._state.size_step, has_news = self._sizes.confirmed_step, True
        # Held still it answers nobody, and is none the worse.
        is_looked_at = self._service is not None and self._end is None and not self._work.is_held
        if self._service is not None and is_looked_at and self._service.look(now_ns):
            has_news = True
        self._hear_checkpoint(now_ns)
        if not self._share.is_begun and self._control is not None and self._control.is_ready:
            self._share.begin(now_ns)
        self._share.look(now_ns)
        self._book.note_memory(self._share.memory_used_mib)
        if self._ended_ns is None:
            self._book.see(now_ns, self._share.cpu_s)
        self._read_control()
        self._check_ends(now_ns)
        self._tell_session()
        if self._metrics is not None:
            self._metrics.look(now_ns)
        if has_news or now_ns >= self._state_at_ns:
            self._observe(now_ns)

    # ---- ends ----

    def _due_ns(self, now_ns: int) -> int | None:
        """When a time-out falls due; None where none is pending."""
        if self._end is not None:
            return None
        left_ns = self._book.meter.remaining_ns(now_ns)
        dues = [] if left_ns is None else [now_ns + left_ns]
        if left_ns is not None and self._warning.before_ns is not None:
            dues.append(now_ns + left_ns - self._warning.before_ns)
        if self._spec.idle_timeout_s is not None:
            dues.append(self._last_use_ns() + self._spec.idle_timeout_s * NS)
        return min(dues, default=None)

    def _last_use_ns(self) -> int:
        if self._control is None:
            return self._share.idle.last_use_ns
        # A session that is still starting is not idle.
        return self._control.last_use_ns if self._control.is_ready else clock_ns()

    def _check_ends(self, now_ns: int) -> None:
        if self.stop_wanted:
            self._stop(ending.stopped(self.stop_wanted), self._spec.grace_s)
        if self._share.has_exceeded_memory:
            self._fail(ending.out_of_memory(self._share.limit_mib), now_ns)
        self._check_run_time(now_ns)
        self._check_idle(now_ns)
        if self._end is None and (end := self._work.disk_end()) is not None:
            self._stop(end, 0)
        if self._end is None and (end := self._work.host_end()) is not None:
            self._fail(end, now_ns)
        if self._control is not None and self._end is None:
            self._check_session(self._control, now_ns)
        if self._ask_at_ns is not None and (now_ns >= self._ask_at_ns or self._checkpoints.is_over):
            self._ask_to_end(now_ns)
        if self._kill_at_ns is not None and now_ns >= self._kill_at_ns:
            self._work.kill()

    def _check_run_time(self, now_ns: int) -> None:
        left_ns = self._book.meter.remaining_ns(now_ns)
        if left_ns is not None and self._end is None:
            self._warning.look(left_ns, self._work.pid, self._output)
        if left_ns is not None and left_ns <= 0 and self._ended_ns is None:
            self._expire(now_ns, now_ns + left_ns, ending.run_timeout(self._book.meter.run_timeout_s or 0))

    def _check_idle(self, now_ns: int) -> None:
        limit_s = self._spec.idle_timeout_s
        if limit_s is None or self._end is not None:
            return
        due_ns = self._last_use_ns() + limit_s * NS
        if now_ns >= due_ns:
            self._expire(due_ns, due_ns, ending.idle_timeout(limit_s))

    def _expire(self, close_ns: int, end_ns: int, end: End) -> None:
        """Nothing is held and billed past the instant at which a time-out fell due."""
        self._book.close(close_ns, self._share.cpu_s, is_final=True)
        self._ended_ns = end_ns
        self._stop(end, self._spec.grace_s)

    def _check_session(self, control: SessionControl, now_ns: int) -> None:
        if control.end:
            self._stop(ending.session_end(control.end), self._spec.grace_s)
        elif not control.is_ready and now_ns - self._started_ns > READY_S * NS:
            self._stop(ending.unready(READY_S), 0)

    def _fail(self, end: End, now_ns: int) -> None:
        """It has to end at once; a service is started again."""
        if self._service is not None and self._end is None:
            self._service.fail("memory_exceeded", end.reason, 0, now_ns)
        else:
            self._stop(end, 0)

    def _stop(self, end: End, grace_s: int, *, saves: bool = False) -> None:
        """Ask the work to end and kill it after its grace; its time counts until it is gone. With `saves` the grace is
        for it to save itself first."""
        if self._end is not None:
            return
        self._end = end
        self._state.state, self._state.reason = "stopping", end.reason
        self._kill_at_ns = clock_ns() + grace_s * NS
        told = f"{end.reason}: the resource is released"
        if self._control is not None:
            self._share.let_go()
            self._control.notify(end.code, told)
        self._output.note(told)
        self._save()
        self._work.hold_end()
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
            self._state.checkpoint_at = self._book.meter.instant(now_ns).isoformat()

    # ---- what is desired of it ----

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
        self._session = control.session or self._session
        self._size = control.size or self._size
        self._tell_size(self._work.pids)
        if control.state == "stopped":
            self._stop(
                ending.stopped("stopped as asked by the server"), self._spec.grace_s, saves=control.saves
            )
        elif self._end is None:
            state.reason, self._refused = "", None
            self._extend(control.run_timeout_s)
            if (control.compute_percent, control.memory_mib) != (share.compute_percent, share.memory_mib):
                self._resize(control)
        self._save()

    def _extend(self, run_timeout_s: int | None) -> None:
        """It may run longer, or less long, in all; its program is warned before its new end."""
        meter = self._book.meter
        if run_timeout_s is not None and run_timeout_s != meter.run_timeout_s:
            meter.extend(run_timeout_s)
            self._warning = EndSignal(self._spec.warning)
            self._output.note(f"it may run for {run_timeout_s} s in all")

    def _resize(self, control: Control) -> None:
        share, book, state = self._share, self._book, self._state
        refusal = share.resize(control.compute_percent, control.memory_mib)
        # What is still wanted is tried again every second: the work may free memory.
        self._refused = control if refusal else None
        state.reason = f"not resized: {refusal}"[:500] if refusal else ""
        if refusal:
            return
        # What was held until now is billed as it was held.
        book.close(clock_ns(), self._share.cpu_s, is_final=False)
        book.compute_percent, book.memory_mib = share.compute_percent, share.memory_mib
        state.compute_percent, state.memory_mib = share.compute_percent, share.memory_mib

    def _tell_session(self) -> None:
        """A full disk delays what the worker hears; the next look tells it again."""
        if self._control is None:
            return
        try:
            share = self._share
            self._control.tell(self._session, share.compute_percent, share.quota_mib, share.turn)
        except OSError as error:
            self._state.reason = f"the session cannot be told: {error.strerror}; look at the node's disk"

    def _tell_size(self, pids: list[int]) -> None:
        """A full disk delays what the work hears; the next change tells it again."""
        if self._sizes is None or self._size is None:
            return
        try:
            if pids:
                self._work.meet(self._size)
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
        share.tell(state)
        if (disk := self._work.disk) is not None:
            state.disk_used_mib, state.disk_limit_mib = disk.used_mib, disk.limit_mib
            state.has_scratch_disk = disk.is_reserved
        if self._control is not None:
            state.session = self._control.report(now_ns)
        self._tell_program()
        self._save()

    def _save(self) -> None:
        if not self._state_write() and self._state.is_terminal:
            ending.until_written(self._state_write, lambda: bool(self.stop_wanted))

    def _state_write(self) -> bool:
        try:
            write_json(self._folder.state, self._state.to_json(), durable=self._state.is_terminal)
        except OSError:
            return False
        return True

    # ---- the end ----

    def _finish(self) -> None:
        now_ns, meter, state = clock_ns(), self._book.meter, self._state
        code = self._work.exit_code() or 0
        self._hear_checkpoint(now_ns)
        self._work.kill()
        if self._executions is not None:
            self._executions.close()
        self._work.close_output()
        self._output.drain()
        if self._metrics is not None:
            self._metrics.finish()
        if self._ended_ns is None:
            self._ended_ns = now_ns + min(meter.remaining_ns(now_ns) or 0, 0)
            self._book.see(now_ns, self._share.cpu_s)
            self._book.close(now_ns, self._share.cpu_s, is_final=True)
        end = self._end or self._own_end(code)
        state.state, state.reason_code, state.reason, state.exit_code = end.state, end.code, end.reason, code
        state.ended_at = meter.instant(self._ended_ns).isoformat()
        state.use_forget()
        if self._end is None:
            self._output.note(end.reason)
        for note in self._work.network_cost():
            self._output.note(note)
        # Room for the last words first.
        self._work.close(makes_room=end.code == "disk_exceeded")
        ending.until_written(self._book.write, lambda: bool(self.stop_wanted))
        if self._share.peer_usage is not None:
            self._share.peer_usage.close()
        self._save()

    def _own_end(self, code: int) -> End:
        if self._control is not None and self._control.look(clock_ns()) and self._control.end:
            return ending.session_end(self._control.end)
        return self._work.own_end(code, self._output.tail, self._share.limit_mib)


def _first_state(spec: SliceSpec) -> ShimState:
    return ShimState(
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
    # From here on they are in this process alone.
    spec = replace(spec, secrets=read_json(folder.secrets) or {})
    folder.secrets.unlink(missing_ok=True)
    become_subreaper()
    shim = Shim(replace(folder, home=Path(spec.home) if spec.home else None), spec)
    signal.signal(signal.SIGTERM, lambda *_: setattr(shim, "stop_wanted", "stopped on its node"))
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return shim.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
