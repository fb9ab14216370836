"""The packages of a work, installed before it starts: as the work itself would run, within its walls and limits.

What is installed serves every later work of the same owner that asks for the same. Nothing is billed before the work
starts.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NoReturn, Self

from node_agent.files import SliceFolder, read_json, tree_remove
from node_agent.runtime.isolation.syscalls import die_with_parent
from node_agent.runtime.isolation.work_environment import PACKAGES
from node_agent.runtime.network.work_network import NetworkWanted
from node_agent.runtime.packages import installer
from node_agent.runtime.packages.store import FILES, Hold, NoRoom, PackageStore
from node_agent.runtime.records.meter import NS, clock_ns
from node_agent.runtime.records.slice_records import ShimState, SliceSpec
from node_agent.runtime.sandbox import become_subreaper
from node_agent.runtime.shim import ending
from node_agent.runtime.shim.ending import End
from node_agent.runtime.shim.measures.device_meter import DeviceMeter
from node_agent.runtime.shim.measures.kernel_limits import KernelLimits
from node_agent.runtime.shim.output import Output
from node_agent.runtime.shim.programs.workload_process import Work
from node_agent.runtime.shim.sharing.share import Share

INSTALL_S = 1800
INSTALLING = "its packages are being installed"
_LOOK_S = 0.1
# A sentence at the most; a pipe takes that in one piece.
_DONE, _ANSWER_BYTES = b"installed", 4096
_BROKEN = "its packages cannot be installed: what installs them has ended unexpectedly"


class NotInstalled(Exception):
    """The work does not start; `end` is how it has ended."""

    def __init__(self, end: End) -> None:
        super().__init__(end.reason)
        self.end = end


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a slice's record says of its packages; see `SliceSpec`."""

    home: str
    key: str
    requirements: list[str]
    index: str
    pip: str
    most_mib: int
    network: dict[str, Any] | None = None

    @classmethod
    def read(cls, spec: dict[str, Any]) -> Self:
        return cls(**{one.name: spec[one.name] for one in fields(cls) if one.name in spec})


class PackageInstallation:
    """Sees to it that the packages of one work are there, and are held as long as this object is."""

    def __init__(
        self,
        spec: SliceSpec,
        folder: SliceFolder,
        device_meter: DeviceMeter,
        state: ShimState,
        save: Callable[[], None],
    ) -> None:
        """`save` tells the agent of the state."""
        assert spec.packages is not None
        self._spec, self._folder, self._device_meter, self._state = spec, folder, device_meter, state
        self._save = save
        self._wanted = _Wanted.read(spec.packages)
        self._store = PackageStore(Path(self._wanted.home), self._wanted.most_mib)
        self._draft = folder.path / PACKAGES
        self._hold: Hold | None = None

    def run(self, is_ended: Callable[[], bool]) -> SliceSpec:
        """Have them installed; the work that finds them. `is_ended`: whether all work of the node is to end.

        Raises:
            NotInstalled: they cannot be had, or the work was stopped meanwhile.
            OSError: the node cannot keep or mount them.
        """
        key, self._is_ended = self._wanted.key, is_ended
        self._state.reason = INSTALLING
        self._save()
        while (hold := self._store.use(key)) is None:
            if self._is_stopped():
                raise NotInstalled(ending.stopped("stopped as asked by the server"))
            right = self._store.install(key)
            if right is None:
                # Another work installs the same.
                select.select([], [], [], _LOOK_S)
                continue
            try:
                self._install_apart()
            finally:
                right.let_go()
                tree_remove(self._draft)
        self._hold, self._state.reason = hold, ""
        seen = {"source": str(self._store.files(key)), "path": installer.SEEN, "read_only": True}
        return replace(self._spec, volumes=[*self._spec.volumes, seen])

    def _install_apart(self) -> None:
        """In a process of its own, which dies with this one: without root a process makes namespaces once, and those of
        this one are the work's. Raises NotInstalled."""
        read_fd, write_fd = os.pipe()
        shim = os.getpid()
        child = os.fork()
        if child == 0:
            self._install_and_exit(shim, write_fd)
        os.close(write_fd)
        try:
            while not select.select([read_fd], [], [], _LOOK_S)[0]:
                if self._is_ended():
                    # It stops by itself, as this one would: its handler of the signal is a copy.
                    os.kill(child, signal.SIGTERM)
            answer = os.read(read_fd, _ANSWER_BYTES)
        finally:
            os.close(read_fd)
            os.waitpid(child, 0)
        if answer != _DONE:
            raise NotInstalled(End(*json.loads(answer)) if answer else _failed(_BROKEN, is_lasting=False))

    def _install_and_exit(self, shim: int, write_fd: int) -> NoReturn:
        try:
            die_with_parent(signal.SIGKILL)
            if os.getppid() == shim:
                become_subreaper()
                os.write(write_fd, self._installed())
        finally:
            os._exit(0)

    def _installed(self) -> bytes:
        """What the process that installs tells the one that waits for it."""
        try:
            self._install()
        except NotInstalled as error:
            return json.dumps([error.end.state, error.end.code, error.end.reason]).encode()
        except OSError as error:
            end = _failed(f"its packages cannot be installed: {error}", is_lasting=False)
            return json.dumps([end.state, end.code, end.reason]).encode()
        return _DONE

    def _install(self) -> None:
        tree_remove(self._draft)
        files = self._draft / FILES
        files.mkdir(mode=0o700, parents=True)
        installer.requirements_write(files, self._wanted.requirements)
        held = KernelLimits()
        spec = self._installing(files)
        try:
            held.take(spec, self._device_meter, self._state)
            work = Work(spec, self._folder, self._device_meter, held.share, held.host)
            self._pip(work, spec, held)
        except (OSError, subprocess.SubprocessError) as error:
            end = _failed(f"its packages cannot be installed: {error}", is_lasting=False)
            raise NotInstalled(end) from error
        finally:
            held.remove()
        try:
            self._store.keep(self._wanted.key, self._draft)
        except NoRoom as error:
            reason = f"its packages could not be installed: {error}"
            raise NotInstalled(_failed(reason, is_lasting=error.is_lasting)) from error

    def _is_stopped(self) -> bool:
        """Whether it is to end before it has started."""
        return self._is_ended() or (read_json(self._folder.control) or {}).get("state") == "stopped"

    def _installing(self, files: Path) -> SliceSpec:
        """The work as it runs pip: under a name of its own, and with nothing of what the work itself is given."""
        wanted, is_image = self._wanted, self._spec.image is not None
        return replace(
            self._spec,
            slice_uid=f"{self._spec.slice_uid}-packages",
            argv=installer.command(index=wanted.index, pip=wanted.pip, is_image=is_image),
            env=installer.environment_for(),
            secrets={},
            volumes=installer.mounts(files, index=wanted.index, pip=wanted.pip, is_image=is_image),
            image=self._spec.image and {**self._spec.image, "workdir": ""},
            packages=None,
            service=None,
            web=False,
            size=None,
            checkpoint=None,
            has_outputs=False,
            peer_usage_dir="",
            network=_network_to(wanted.index, wanted.network),
        )

    def _pip(self, work: Work, spec: SliceSpec, held: KernelLimits) -> None:
        """Stand over pip to its end. Raises NotInstalled."""
        begun_ns = clock_ns()
        output = Output(work.output_fd, self._folder.log, limit_bytes=spec.log_limit_bytes)
        output.note(INSTALLING)
        share = Share(spec, work, self._device_meter, held.share, begun_ns)
        try:
            share.begin(begun_ns)
            end = None
            while work.exit_code() is None and end is None:
                end = self._look(work, share, output, begun_ns)
            code = work.exit_code()
            work.kill()
            work.close_output()
            output.drain()
            if end is None and code:
                end = self._own_end(work, share, output, code)
        finally:
            work.kill()
            work.close()
        if end is not None:
            output.note(end.reason)
            raise NotInstalled(end)

    def _look(self, work: Work, share: Share, output: Output, begun_ns: int) -> End | None:
        now_ns = clock_ns()
        work.look()
        share.look(now_ns)
        wait_s = min(share.step(now_ns), _LOOK_S)
        ready, _, _ = select.select([output.fd, work.exit_fd], [], [], wait_s)
        if output.fd in ready and not output.copy():
            select.select([work.exit_fd], [], [], _LOOK_S)
        if self._is_stopped():
            return ending.stopped("stopped as asked by the server")
        if now_ns - begun_ns > INSTALL_S * NS:
            return _failed(f"its packages were not installed within {INSTALL_S} s", is_lasting=False)
        if share.has_exceeded_memory:
            return ending.out_of_memory(share.limit_mib)
        return work.disk_end() or work.host_end()

    def _own_end(self, work: Work, share: Share, output: Output, code: int) -> End:
        own = work.own_end(code, output.tail, share.limit_mib)
        if own.code in ("memory_exceeded", "disk_exceeded"):
            return own
        said = output.tail
        told = (
            installer.problem_of(said, self._wanted.index, self._wanted.requirements)
            if code > 0
            else own.reason
        )
        return _failed(
            f"its packages could not be installed: {told}",
            is_lasting=code > 0 and not installer.is_unanswered(said),
        )


def _network_to(index: str, network: dict[str, Any] | None) -> dict[str, Any] | None:
    """The network in which packages are installed: the index is reached from it, wherever that is."""
    found = NetworkWanted.from_json(network) if network is not None else None
    if found is None or found.rules is None or index.startswith("/"):
        return network
    try:
        return replace(found, rules=found.rules.with_server(index)).to_json()
    except OSError:
        # Its name is not known now: the installer says so.
        return network


def _failed(reason: str, *, is_lasting: bool) -> End:
    """`is_lasting`: it would be the same the next time, so that nobody tries again."""
    return End("failed", "packages_failed" if is_lasting else "crashed", reason[:500])
