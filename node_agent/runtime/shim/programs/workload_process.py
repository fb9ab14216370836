"""The running work of a slice: start it in its sandbox, signal and measure its whole tree, end it."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from node_agent.files import SliceFolder, write_atomic
from node_agent.runtime import proc
from node_agent.runtime.containers.bundle import Program
from node_agent.runtime.containers.container import Adopted, ContainerNamespaces
from node_agent.runtime.isolation.namespaces import Namespaces
from node_agent.runtime.isolation.view import Mounted
from node_agent.runtime.isolation.work_environment import Surroundings
from node_agent.runtime.limits.cgroup import Cgroup
from node_agent.runtime.limits.cgroup_v1 import CgroupV1
from node_agent.runtime.network.rules import NOWHERE, resolver_of_work
from node_agent.runtime.network.work_network import NetworkWanted, WorkNetwork
from node_agent.runtime.records.slice_records import SliceSpec
from node_agent.runtime.sandbox import data_limits, sandbox
from node_agent.runtime.shim import ending
from node_agent.runtime.shim.elastic_size import meeting_port_of
from node_agent.runtime.shim.ending import End
from node_agent.runtime.shim.measures.device_meter import DeviceMeter
from node_agent.runtime.shim.measures.disk import DiskWatch
from node_agent.runtime.shim.measures.kernel_limits import HostLimits
from node_agent.runtime.shim.programs.own_programs import OwnProgram, become, own_program
from node_agent.runtime.shim.programs.pauses import Pauses
from node_agent.runtime.shim.programs.work_command import PORT_VARIABLE, command_of, ported, resolved
from node_agent.runtime.shim.programs.work_variables import environment, packaged
from node_agent.runtime.volumes.sizes import VolumeSizes
from node_agent.web import work_socket as web_socket
from node_agent.web.service_place import port_free
from node_agent.web.terminal_device import control_take, shell_find, terminal_open

# A write that waits for room in the pipe is cut short when the work is stopped meanwhile, as its share is held where
# there is no cgroup; a program may not look (Python's unbuffered output does not). The most an account may ask for.
_PIPE_BYTES = 1024 * 1024
# A shell's word for going somewhere, if it can, and beginning there.
_BEGIN = 'cd "$1" 2>/dev/null; exec "$0"'
# So long the shim waits for all of a tree to have stopped: until then a new child may be born.
_HOLD_WAIT_S, _HOLD_TRIES = 0.5, 6
# So much processor time of its network is told of.
_NAMED_S = 1.0


@dataclass(frozen=True, slots=True)
class _Files:
    """What a process begins with; `is_terminal`: its standard input is a terminal that it is to control."""

    stdin: int
    stdout: int
    stderr: int
    is_terminal: bool = False


class Work:
    """The process tree of one slice. Raises OSError or SubprocessError where it cannot start."""

    def __init__(
        self,
        spec: SliceSpec,
        folder: SliceFolder,
        device_meter: DeviceMeter,
        group: Cgroup | CgroupV1 | None,
        host: HostLimits | None = None,
    ) -> None:
        self._host = host
        self._device_meter, self._group, self._spec, self._home = device_meter, group, spec, folder.work
        self.holds_data = device_meter.holds_data and group is None
        self._around = surroundings_of(spec, folder)
        self._around.make()
        others = folder.path.parent
        self.volumes = VolumeSizes(spec.volumes)
        self.network = self._network_open()
        self._root = self._around.image_root(spec.image) if spec.image is not None else None
        if self._root is not None:
            self._root.make()
        self.disk = DiskWatch.of(spec, self._around.kept, others)
        self._shm_mib = min(spec.limit_mib, proc.host_memory_mib())
        self._container, self._namespaces = self._isolation()
        # What building them took is not the work's.
        self._cpu_before_s = proc.cpu_seconds(self._first_pids)
        read_fd, write_fd = os.pipe()
        with suppress(OSError):
            fcntl.fcntl(write_fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        # Run beside the work, and waited for by who has them.
        self._beside: set[int] = set()
        self.is_held = False
        self._kills_before = self._host_kills_before = 0
        self.port: int | None = None
        try:
            if self.network is not None:
                self._network_ready(self.network)
            self._process = self._program_start(write_fd)
        except BaseException:
            os.close(read_fd)
            os.close(write_fd)
            self._namespaces_end()
            self._network_close()
            self.volumes.close()
            self._around.remove()
            raise
        # What runs beside the work later writes where it does.
        self.output_fd, self._write_fd = read_fd, write_fd
        self._cpu_s = 0.0
        self._pauses = Pauses()
        self._program_began()

    def _isolation(self) -> tuple[ContainerNamespaces | None, Namespaces | None]:
        """What it sees alone: its image's container, which is its namespaces, too; namespaces; or neither."""
        if self._spec.image is not None:
            made = ContainerNamespaces(self._around.bare_view(), self._around.container, self.network)
            return made, made
        if self._spec.isolation == "namespaces":
            return None, Namespaces(self._around.view(shm_mib=self._shm_mib), self.network)
        return None, None

    def _program_began(self) -> None:
        self.pid = self._process.pid
        self.start_ticks = proc.start_ticks(self.pid)
        self.exit_fd = os.pidfd_open(self.pid)
        self.pids = [self.pid]

    def restart(self) -> None:
        """Start the program anew where it was, with the same output; it has ended, with all that it had started. Raises
        OSError or SubprocessError."""
        self._kills_before = self._group.memory_kills() if self._group is not None else 0
        if self._host is not None and self._host.group is not None:
            self._host_kills_before = self._host.group.memory_kills()
        self._around.web_socket_clear()
        self.is_held = False
        self._process = self._program_start(self._write_fd)
        os.close(self.exit_fd)
        self._program_began()

    def _program_start(self, output: int) -> subprocess.Popen[bytes] | Adopted:
        spec = self._spec
        if spec.service is not None:
            free = self.network.port_free if self.network is not None else port_free
            self.port = spec.service["port"] or free()
            spec = replace(spec, argv=ported(spec.argv, self.port))
        if self._container is None or self._root is None:
            return self._popen(command_of(spec), _Files(subprocess.DEVNULL, output, output))
        file_mib = self.disk.limit_mib if self.disk is not None else None
        program = Program(
            spec,
            self._environment,
            self._home,
            self._container.pid,
            self._entered,
            self._shm_mib,
            file_mib,
            has_network=self.network is not None,
        )
        return Adopted(self._container.start(program, self._root, output))

    @property
    def _entered(self) -> Cgroup | CgroupV1 | None:
        """The control group that the work's processes are in."""
        return self._host.group if self._host is not None and self._host.group is not None else self._group

    @property
    def _environment(self) -> dict[str, str]:
        spec, is_walled = self._spec, self._namespaces is not None
        found = environment(spec, self._home)
        if not is_walled:
            found["TMPDIR"] = str(self._around.temporary)
        if self.port is not None:
            found[PORT_VARIABLE] = str(self.port)
        if spec.packages is not None:
            found |= packaged(found)
        if spec.web:
            found[web_socket.VARIABLE] = str(self._around.web_socket_seen(is_walled=is_walled))
        return found

    def _popen(
        self, argv: list[str], files: _Files, own: OwnProgram | None = None, **env: str
    ) -> subprocess.Popen[bytes]:
        """Start a program of the work's, or `own` in its place."""
        spec, environ = self._spec, self._environment | env
        data_limit_mib = spec.limit_mib if self.holds_data else None
        enter = sandbox(
            spec,
            self._home,
            self._entered,
            self._namespaces,
            data_limit_mib=data_limit_mib,
            file_mib=self.disk.limit_mib if self.disk is not None else None,
        )

        def begin() -> None:
            # The shim does not hear them; what it starts does.
            for number in (signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            if files.is_terminal:
                control_take()
            enter()
            if own is not None:
                become(own, environ)

        with self._namespaces.children() if self._namespaces is not None else nullcontext():
            return subprocess.Popen(
                argv,
                env=environ,
                stdin=files.stdin,
                stdout=files.stdout,
                stderr=files.stderr,
                start_new_session=True,
                close_fds=True,
                preexec_fn=begin,
            )

    def beside(self, argv: list[str]) -> subprocess.Popen[bytes]:
        """Run a command of the work's beside it, under the same limits; `WEIR_WORK_PID` names the work's program.
        Raises OSError or SubprocessError."""
        return self._start_beside(argv, _Files(subprocess.DEVNULL, self._write_fd, self._write_fd))

    def execute(
        self, argv: list[str], stdin: int, stdout: int, stderr: int, **env: str
    ) -> subprocess.Popen[bytes]:
        """Run a command beside the work, as the work runs, with these files, which become the work's. Raises OSError
        or SubprocessError."""
        if self._spec.work_uid is not None:
            for fd in (stdin, stdout, stderr):
                os.fchown(fd, self._spec.work_uid, self._spec.work_uid)
        return self._start_beside(argv, _Files(stdin, stdout, stderr), **env)

    def execute_in_terminal(self, argv: list[str], terminal: int, **env: str) -> subprocess.Popen[bytes]:
        """`execute`, with a terminal that it controls."""
        return self._start_beside(argv, _Files(terminal, terminal, terminal, is_terminal=True), **env)

    def terminal_open(self) -> tuple[int, int]:
        """A terminal that the work could have opened: the screen's end and the process's. Raises OSError."""
        system = self._namespaces.terminals if self._namespaces is not None else None
        return terminal_open(system, self._spec.work_uid)

    def shell(self) -> list[str]:
        """What a terminal beside it runs, where nothing is named: the best shell of those that the work could run. In a
        container it begins where the image says."""
        if self._container is None or self._spec.image is None:
            return [shell_find(Path("/"))]
        found, begins = shell_find(Path(f"/proc/{self.pid}/root")), self._spec.image.get("workdir")
        # By the shell itself: the work may have put a link there, and has no more files open than it should by then.
        return [found, "-c", _BEGIN, found, begins] if begins else [found]

    def _start_beside(self, argv: list[str], files: _Files, **env: str) -> subprocess.Popen[bytes]:
        work_pid = str(proc.inner_pid(self.pid))
        own = own_program(argv)
        argv = argv if self._container is not None or own is not None else resolved(argv)
        process = self._popen(argv, files, own, WEIR_WORK_PID=work_pid, **env)
        self._beside = {pid for pid in self._beside if proc.stat_fields(pid) is not None} | {process.pid}
        return process

    def look(self) -> None:
        """See which processes the work has now."""
        self._reap_orphans()
        ours = {*self._first_pids, *self.volumes.pids, self.disk.pid if self.disk is not None else 0}
        ours.update(self.network.pids if self.network is not None else ())
        self.pids = [pid for pid in proc.descendants(os.getpid()) if pid not in ours]

    @property
    def _first_pids(self) -> list[int]:
        """The first process of its namespaces, which is ours; orphans that it took back are counted with it."""
        return [self._namespaces.pid] if self._namespaces is not None else []

    def cpu_seconds(self) -> float:
        """CPU seconds of the tree since the start; never falls."""
        ours_s = self._cpu_before_s + (self.disk.cpu_s if self.disk is not None else 0.0)
        ours_s += self.network.reaped_cpu_s if self.network is not None else 0.0
        now_s = proc.cpu_seconds([*self.pids, *self._first_pids]) - ours_s
        self._cpu_s = max(self._cpu_s, now_s)
        return self._cpu_s

    def used_s(self, cpu_s: float, running_s: float) -> float:
        """Seconds of the whole device used since the start."""
        return self._device_meter.used_s(self.pids, cpu_s, running_s)

    def memory_mib(self, limit_mib: int) -> int:
        """Memory of the device held now, in MiB."""
        if self._group is not None and not self._spec.is_session:
            return self._group.memory_mib()
        return self._device_meter.memory_mib(self.pids, limit_mib, self._namespaces)

    def main_memory_mib(self, limit_mib: int) -> int:
        """Main memory of the whole tree now, in MiB; exact where it is more than the limit."""
        return proc.memory_mib(self.pids, limit_mib=limit_mib, shared=self._namespaces)

    def limit_memory(self, memory_mib: int, room_mib: int | None) -> None:
        """Hold each process's data to the limit, and to what it has now plus the room there is.

        In a control group the kernel holds the limit of all together: here only the room counts.
        """
        if not self._device_meter.holds_data:
            return
        limit_mib = memory_mib if self._group is None else None
        wanted: dict[int, int | None] = {}
        for pid in self.pids:
            has_room_mib = None if room_mib is None else proc.data_mib(pid) + room_mib
            most = [item for item in (limit_mib, has_room_mib) if item is not None]
            wanted[pid] = min(most, default=None)
        data_limits(wanted, self._spec.work_uid)

    def pause(self, is_wanted: bool) -> None:
        """Stop or continue the whole tree; children made in between are caught at the next step."""
        if is_wanted or self.is_held:
            self._pauses.pause(self.pids)
        else:
            self._pauses.end(self.pids)

    def hold(self) -> bool:
        """Stop the whole tree until `hold_end`, whatever its share; whether nothing of it runs any more."""
        self.is_held = True
        for _try in range(_HOLD_TRIES):
            until_s = time.monotonic() + _HOLD_WAIT_S
            while time.monotonic() < until_s:
                self.look()
                self._pauses.pause(self.pids)
                if all(map(proc.is_still, self.pids)):
                    return True
                time.sleep(0.005)
            # Whoever waits in the kernel for a child that was stopped before it began can only go on with it.
            self._pauses.end(self.pids)
        self.hold_end()
        return False

    def hold_end(self) -> None:
        """Let the tree go on."""
        if self.is_held:
            self.is_held = False
            self.look()
            self.pause(False)

    def ask_to_end(self) -> None:
        """SIGTERM to the whole tree."""
        self.is_held = False
        self.look()
        proc.send(self.pids, signal.SIGTERM)
        self.pause(False)

    def kill(self) -> None:
        """End the whole tree at once, and take back every process of it."""
        if self._namespaces is not None:
            # By the kernel, all together: nothing can be born meanwhile.
            self._namespaces.end()
        self.program_kill()

    def program_kill(self) -> None:
        """End the program and all that runs beside it, and leave its surroundings as they are."""
        # Nobody waits any more for what ran beside it.
        self._beside.clear()
        for _ in range(100):
            self.look()
            if not self.pids:
                return
            proc.send(self.pids, signal.SIGKILL)
            self.exit_code(wait_s=0.05)
            time.sleep(0.01)

    def close(self, *, makes_room: bool = False) -> None:
        """Nothing of it runs any more: take back what was put around it, and delete its temporary files; with
        `makes_room` its folder too, where that does not outlive the slice."""
        self._namespaces_end()
        self._network_close()
        self.volumes.close()
        self._around.remove(makes_room=makes_room)

    def _network_open(self) -> WorkNetwork | None:
        """The network that it is to have of its own; None: it has its node's."""
        if self._spec.network is None:
            return None
        wanted = NetworkWanted.from_json(self._spec.network)
        names, behind = "", ""
        with suppress(OSError):
            names, behind = resolver_of_work(Path("/etc/resolv.conf").read_text(), wanted.rules or NOWHERE)
        write_atomic(self._around.names, names.encode(), mode=0o644, durable=False)
        return WorkNetwork(wanted, behind if wanted.rules is not None else "")

    def _network_ready(self, network: WorkNetwork) -> None:
        network.ready()
        if self._spec.size is not None:
            self.meet(self._spec.size)

    def network_news(self) -> list[str]:
        """What is to be said of its network in its log."""
        return self.network.look() if self.network is not None else []

    def network_cost(self) -> list[str]:
        """What leads its network outside is not the work's, and is in no bill: it is said, where it is much."""
        cpu_s = self.network.cpu_s if self.network is not None else 0.0
        if cpu_s < _NAMED_S:
            return []
        return [f"its network took {cpu_s:.1f} s of the node's processor, which are not counted as its own"]

    def meet(self, size: Mapping[str, Any]) -> None:
        """The others of its gang are to reach it, as its size says where they meet. Raises OSError."""
        port = meeting_port_of(size, self._spec.host)
        if self.network is not None and port is not None:
            self.network.meet(port)

    def connect(self, port: int) -> socket.socket:
        """A connection, which does not block, to what listens at a port of the work's own network. Raises OSError."""
        if self.network is None:
            raise OSError(errno.ENOTSUP, "its ports are those of its node")
        return self.network.connect(port)

    def _network_close(self) -> None:
        if self.network is not None:
            self.network.close()
            self.network = None

    def _namespaces_end(self) -> None:
        if self._namespaces is None:
            return
        # Their first process waits for all others in there, which are taken back by now.
        self._namespaces.end()
        for _ in range(500):
            if self._namespaces.is_reaped():
                break
            time.sleep(0.01)
        self._namespaces.close()
        self._namespaces = None

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

    def disk_end(self) -> End | None:
        """Why it has to end for what it keeps on the node's disk or in a volume, looked at now; None: it need not."""
        if (over := self.volumes.over()) is not None:
            return ending.volume_exceeded(*over)
        return self.disk.look(self.pids) if self.disk is not None else None

    def host_end(self) -> End | None:
        """Why it has to end for what it uses of its host beside its share; None: it need not."""
        return (
            self._host.end(self.pids, self._namespaces, self._host_kills_before)
            if self._host is not None
            else None
        )

    def own_end(self, code: int, output_tail: str, memory_mib: int) -> End:
        """Why it has ended by itself, from its exit code and the last of its output; its limit of memory in MiB."""
        if code and (host_end := self.host_end()) is not None:
            return host_end
        return ending.own_end(
            code,
            output_tail,
            limit_mib=memory_mib,
            is_out_of_memory=self._group is not None and self._group.memory_kills() > self._kills_before,
            holds_data=self.holds_data,
            disk_mib=self.disk.limit_mib if self.disk is not None else 0,
        )

    def _reap_orphans(self) -> None:
        for pid in self.pids:
            if pid not in (self.pid, *self._beside, *self._first_pids):
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    continue


def surroundings_of(spec: SliceSpec, folder: SliceFolder) -> Surroundings:
    """Where a slice's work stands on this node."""
    paths = tuple(map(Path, spec.paths))
    home = folder.path.parent.parent
    volumes = tuple(
        Mounted(Path(one["source"]), Path(one["path"]), is_read_only=one["read_only"]) for one in spec.volumes
    )
    return Surroundings(
        folder.path,
        folder.work,
        spec.work_uid,
        Path(spec.lib_dir or home),
        home,
        paths,
        volumes,
        has_network=spec.network is not None,
    )
