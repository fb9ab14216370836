"""The running work of a slice: start it in its sandbox, signal and measure its whole tree, end it."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from node_agent.runtime import limits, proc
from node_agent.runtime.cgroup import Cgroup
from node_agent.runtime.checkpoint import checkpoint_environment
from node_agent.runtime.files import SliceFolder
from node_agent.runtime.gauge import Gauge
from node_agent.runtime.records import SliceSpec
from node_agent.runtime.size import size_environment

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Work:
    """The process tree of one slice. Raises OSError or SubprocessError where it cannot start."""

    def __init__(self, spec: SliceSpec, folder: SliceFolder, gauge: Gauge, group: Cgroup | None) -> None:
        self._gauge, self._group, self._spec, self._home = gauge, group, spec, folder.work
        self.holds_data = gauge.holds_data and group is None
        read_fd, write_fd = os.pipe()
        try:
            self._process = self._popen(_command(spec), write_fd)
        except BaseException:
            os.close(read_fd)
            os.close(write_fd)
            raise
        # What runs beside the work later writes where it does.
        self.output_fd, self._write_fd = read_fd, write_fd
        self._beside_pid = 0
        self.pid = self._process.pid
        self.start_ticks = proc.start_ticks(self.pid)
        self.exit_fd = os.pidfd_open(self.pid)
        self.pids = [self.pid]
        self._cpu_s = 0.0
        self._is_paused = False

    def _popen(self, argv: list[str], write_fd: int, **env: str) -> subprocess.Popen[bytes]:
        spec = self._spec
        return subprocess.Popen(
            argv,
            cwd=self._home,
            env=environment(spec, self._home) | env,
            stdin=subprocess.DEVNULL,
            stdout=write_fd,
            stderr=write_fd,
            start_new_session=True,
            close_fds=True,
            preexec_fn=limits.sandbox(
                spec, self._group, data_limit_mib=spec.memory_mib if self.holds_data else None
            ),
        )

    def beside(self, argv: list[str]) -> subprocess.Popen[bytes]:
        """Run a command of the work's beside it, under the same limits; `WEIR_WORK_PID` names the work's program.
        Raises OSError or SubprocessError."""
        process = self._popen(_resolved(argv), self._write_fd, WEIR_WORK_PID=str(self.pid))
        self._beside_pid = process.pid
        return process

    def look(self) -> None:
        """See which processes the work has now."""
        self._reap_orphans()
        self.pids = proc.descendants(os.getpid())

    def cpu_seconds(self) -> float:
        """CPU seconds of the tree since the start; never falls."""
        self._cpu_s = max(self._cpu_s, proc.cpu_seconds(self.pids))
        return self._cpu_s

    def used_s(self, cpu_s: float, running_s: float) -> float:
        """Seconds of the whole device used since the start."""
        return self._gauge.used_s(self.pids, cpu_s, running_s)

    def memory_mib(self, limit_mib: int) -> int:
        """Memory of the device held now, in MiB."""
        if self._group is not None and not self._spec.is_session:
            return self._group.memory_mib()
        return self._gauge.memory_mib(self.pids, limit_mib)

    def limit_memory(self, memory_mib: int, room_mib: int | None) -> None:
        """Hold each process's data to the limit, and to what it has now plus the room there is.

        In a control group the kernel holds the limit of all together: here only the room counts.
        """
        if not self._gauge.holds_data:
            return
        limit_mib = memory_mib if self._group is None else None
        for pid in self.pids:
            has_room_mib = None if room_mib is None else proc.data_mib(pid) + room_mib
            most = [item for item in (limit_mib, has_room_mib) if item is not None]
            limits.data_limit(pid, min(most, default=None))

    def pause(self, is_wanted: bool) -> None:
        """Stop or continue the whole tree; children made in between are caught at the next step."""
        if is_wanted or self._is_paused:
            proc.send(self.pids, signal.SIGSTOP if is_wanted else signal.SIGCONT)
        self._is_paused = is_wanted

    def ask_to_end(self) -> None:
        """SIGTERM to the whole tree."""
        self.look()
        proc.send(self.pids, signal.SIGTERM)
        self.pause(False)

    def kill(self) -> None:
        """End the whole tree at once, and take back every process of it."""
        for _ in range(100):
            self.look()
            if not self.pids:
                return
            proc.send(self.pids, signal.SIGKILL)
            self.exit_code(wait_s=0.05)
            time.sleep(0.01)

    def close_output(self) -> None:
        """Nothing more is run beside it: its output ends with its last process."""
        os.close(self._write_fd)

    def exit_code(self, wait_s: float = 0.0) -> int | None:
        """The exit code of the first process (negative: the signal that ended it); None while it runs."""
        if not wait_s:
            return self._process.poll()
        try:
            return self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return None

    def has_run_out_of_memory(self) -> bool:
        return self._group is not None and self._group.has_run_out_of_memory()

    def _reap_orphans(self) -> None:
        for pid in self.pids:
            if pid not in (self.pid, self._beside_pid):
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    continue


def _command(spec: SliceSpec) -> list[str]:
    if spec.is_session:
        return [sys.executable, "-m", "node_agent.sessions.worker"]
    return _resolved(spec.argv)


def _resolved(argv: list[str]) -> list[str]:
    program, *rest = argv
    return [sys.executable if program == "python" else program, *rest]


def environment(spec: SliceSpec, home: Path) -> dict[str, str]:
    """All the work may know of its surroundings; what identifies and limits the slice cannot be overridden.

    A session runs our own program: nothing of the tenant's reaches its environment.
    """
    threads = str(math.ceil(spec.cores * spec.compute_percent / 100)) if spec.vendor == "cpu" else "1"
    thread_counts = {f"{name}_NUM_THREADS": threads for name in ("OMP", "OPENBLAS", "MKL")}
    own = {
        "HOME": str(home),
        "WEIR_SLICE": spec.slice_uid,
        "WEIR_COMPUTE_PERCENT": str(spec.compute_percent),
        "WEIR_MEMORY_MIB": str(spec.memory_mib),
    }
    if spec.size is not None:
        own |= size_environment(spec.size, home)
    if not spec.is_session:
        own |= checkpoint_environment(home)
    defaults = {"PATH": _PATH, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", **thread_counts}
    if spec.lib_dir:
        defaults["PYTHONPATH"] = spec.lib_dir
    return defaults | ({} if spec.is_session else spec.env) | own | spec.driver_env
