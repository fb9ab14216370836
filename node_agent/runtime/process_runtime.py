"""The process runtime: each slice a folder, each running work under a shim of its own.

The folders are the only memory. Whoever starts this driver later finds the same slices in them.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from node_agent.drivers.base import Device, DriverError, SliceDriver
from node_agent.files import SliceFolder, write_json
from node_agent.images.store import ImageStore
from node_agent.protocol.fields import LOG_CHUNK_BYTES
from node_agent.protocol.metrics import MetricBatch
from node_agent.protocol.slices import DesiredSession, DesiredSize, DesiredSlice, LogChunk, UsageReport
from node_agent.remote_config import Configured
from node_agent.runtime import proc
from node_agent.runtime.containers.available import Containers
from node_agent.runtime.isolation.levels import Isolation
from node_agent.runtime.metrics.sending import batch_oldest, batches_drop
from node_agent.runtime.network.available import Networking
from node_agent.runtime.packages.available import Packages
from node_agent.runtime.records.slice_records import Control, ShimState, SliceSpec
from node_agent.runtime.records.state_reader import (
    last_line,
    local_slice_failed,
    local_slice_from,
    local_slice_starting,
    session_read,
    size_read,
    spec_read,
    state_read,
)
from node_agent.runtime.records.usage_journal import JournalReader
from node_agent.runtime.shim.output import read_chunk
from node_agent.runtime.shim.programs.workload_process import surroundings_of
from node_agent.runtime.slice_setup import Maker
from node_agent.slice_state import LocalSlice
from node_agent.web.service_place import ServicePlace
from node_agent.web.work_keeper import keeper_connect
from node_agent.web.work_socket import WorkSocket
from node_agent.work_container import Changes, Container
from node_agent.work_folders import WorkFolders

_UID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$")
CONNECT_S = 10.0
_UNREADABLE = "its records on this node cannot be read"

log = logging.getLogger("weir.agent")


@dataclass(slots=True)
class _Known:
    """What is remembered between two looks at a slice; all of it can be found again."""

    journal: JournalReader
    is_session: bool
    is_sized: bool
    folder: str = ""
    web_socket: WorkSocket | ServicePlace | None = None
    executions: Path | None = None
    ended: LocalSlice | None = None

    def place_hear(self, state: ShimState) -> None:
        """A service may be told another port each time that it starts."""
        if isinstance(self.web_socket, ServicePlace):
            self.web_socket = replace(self.web_socket, port=(state.service or {}).get("port"))


class ProcessRuntime:
    """Slice driver and runtime driver in one. `home` is the agent's folder."""

    def __init__(self, configured: Configured) -> None:
        settings = configured.settings
        self._slices = settings.home / "slices"
        self._slices.mkdir(parents=True, exist_ok=True)
        for folder in (settings.home, self._slices):
            folder.chmod(0o711)
        self.folders = WorkFolders(settings.home / "works")
        self._maker = Maker(configured, self._slices, self.folders)
        self.library = self._maker.library
        self._known: dict[str, _Known] = {}
        self._shims: dict[str, subprocess.Popen[bytes]] = {}
        self._boot_id = proc.boot_id()
        for rest in self._slices.glob(".*"):
            self.folders.removals.add(rest)

    @property
    def isolation(self) -> Isolation:
        """How work is kept apart on this node."""
        return self._maker.isolation

    @property
    def containers(self) -> Containers:
        """Whether work runs in images on this node."""
        return self._maker.containers

    @property
    def packages(self) -> Packages:
        """Whether packages are installed for work on this node."""
        return self._maker.packages

    @property
    def networking(self) -> Networking:
        """Which network work has on this node."""
        return self._maker.networking

    @property
    def images(self) -> ImageStore:
        """The images of this node."""
        return self._maker.images

    def images_used(self) -> frozenset[str]:
        """The digests of the images that slices of this node run in, or are about to. For any thread."""
        specs = (
            spec_read(self._folder(path.name)) for path in self._slices.iterdir() if _UID.match(path.name)
        )
        return frozenset(str(spec.image["digest"]) for spec in specs if spec is not None and spec.image)

    def folder_owner(self, key: str) -> int | None:
        """The user whose work folder this is, or is to be; None: the agent's own."""
        return self._maker.owner(key)

    def folder_remove(self, key: str) -> None:
        """Delete a work folder; its user is free for others."""
        place = self.folders.place(key)
        self.folders.remove(key, lambda: self._maker.user_release(place))

    # ---- shares ----

    def make(self, wanted: DesiredSlice, device: Device) -> None:
        """Lay the slice's folder down in one step; one already there is left as it is."""
        folder = self._folder(wanted.slice_uid)
        if not folder.path.exists():
            self._maker.make(wanted, device, folder)
            self._known.pop(wanted.slice_uid, None)

    def resize(
        self,
        slice_uid: str,
        generation: int,
        compute_percent: int,
        memory_mib: int,
        session: DesiredSession | None,
        size: DesiredSize | None = None,
        run_timeout_s: int | None = None,
    ) -> None:
        """Write down what is wanted now; the shim takes it up within a tenth of a second."""
        held, driver = self._local_slice(slice_uid), self._driver_of(slice_uid)
        before = (held.compute_percent, held.memory_mib) if held is not None else None
        if driver is not None and before != (compute_percent, memory_mib):
            driver.resize(slice_uid, compute_percent, memory_mib)
        desired = session.model_dump(mode="json") if session else None
        places = size.model_dump() if size else None
        share = (compute_percent, memory_mib)
        self._control(
            slice_uid,
            Control(generation, *share, "running", desired, places, run_timeout_s=run_timeout_s),
        )

    def _driver_of(self, slice_uid: str) -> SliceDriver | None:
        spec = spec_read(self._folder(slice_uid))
        return self._maker.drivers.get(spec.driver) if spec else None

    def remove(self, slice_uid: str) -> None:
        """Delete a finished slice's records."""
        folder = self._folder(slice_uid)
        driver = self._driver_of(slice_uid)
        if driver is not None:
            driver.remove(slice_uid)
        try:
            self.folders.removals.add(folder.path, lambda: self._maker.user_release(folder.path))
        except OSError as error:
            raise DriverError(f"the slice's folder cannot be removed: {error.strerror}") from error
        self._known.pop(slice_uid, None)

    # ---- work ----

    def start(self, slice_uid: str) -> None:
        """Start the slice's shim. A second shim for the same slice ends at once: only one gets its lock."""
        folder = self._folder(slice_uid)
        running = self._shims.get(slice_uid)
        if folder.state.exists() or (running is not None and running.poll() is None):
            return
        try:
            with folder.shim_errors.open("ab") as errors:
                self._shims[slice_uid] = subprocess.Popen(
                    [sys.executable, "-m", "node_agent.runtime.shim.supervisor", str(folder.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                    start_new_session=True,
                    cwd="/",
                    env={**os.environ, "PYTHONPATH": str(self._maker.library)},
                )
        except OSError as error:
            raise DriverError(f"the slice's shim cannot be started: {error}") from error

    def stop(self, slice_uid: str, generation: int, *, saves: bool = False) -> None:
        """Write down that the work is to end, or to save itself and end; the shim sees to it within its grace."""
        held = self._local_slice(slice_uid)
        if held is not None and not held.is_terminal:
            session = held.session.model_dump(mode="json") if held.session else None
            size = held.size.model_dump() if held.size else None
            share = (held.compute_percent, held.memory_mib)
            self._control(slice_uid, Control(generation, *share, "stopped", session, size, saves))

    def _control(self, slice_uid: str, control: Control) -> None:
        try:
            write_json(self._folder(slice_uid).control, control.to_json())
        except OSError as error:
            raise DriverError(
                f"the slice cannot be told: {error.strerror}; look at the node's disk"
            ) from error

    # ---- what is there ----

    def list(self) -> tuple[LocalSlice, ...]:
        """Every slice found, adopted or our own; a folder that makes no sense never stops the others."""
        self.folders.removals.follow()
        self._shims = {
            uid: shim
            for uid, shim in self._shims.items()
            if shim.poll() is None or not self._has_reported(uid)
        }
        names = sorted(
            path.name for path in self._slices.iterdir() if path.is_dir() and _UID.match(path.name)
        )
        found = (self._local_slice(name) for name in names)
        return tuple(held for held in found if held is not None)

    def _has_reported(self, slice_uid: str) -> bool:
        return self._folder(slice_uid).state.exists() or not self._folder(slice_uid).path.exists()

    def _local_slice(self, slice_uid: str) -> LocalSlice | None:
        folder = self._folder(slice_uid)
        known = self._known.get(slice_uid) or self._meet(slice_uid)
        if known.ended is not None:
            return known.ended
        state = state_read(folder)
        if state is None:
            return self._unstarted(slice_uid)
        if not state.is_terminal and not self._is_shim_alive(state):
            state = self._settle_lost(folder, state)
        known.place_hear(state)
        known.journal.poll()
        session = session_read(folder) if known.is_session else None
        size = size_read(folder) if known.is_sized else None
        held = replace(local_slice_from(state, known.journal.last_seq, session, size), folder=known.folder)
        if held.is_terminal:
            self._release(slice_uid)
            known.ended = held
        return held

    def _meet(self, slice_uid: str) -> _Known:
        folder = self._folder(slice_uid)
        spec = spec_read(folder)
        is_session, is_sized = (spec.is_session, spec.size is not None) if spec else (False, False)
        known = _Known(JournalReader(folder.journal), is_session, is_sized, spec.folder if spec else "")
        if spec is not None and spec.web:
            at = surroundings_of(spec, folder).web_socket
            known.web_socket = _service_place(spec, folder, at) if spec.service is not None else at
        if spec is not None and not spec.is_session:
            known.executions = folder.executions
        return self._known.setdefault(slice_uid, known)

    def _release(self, slice_uid: str) -> None:
        """Give back at once what the slice driver set up; the records stay until the server says forget."""
        driver = self._driver_of(slice_uid)
        try:
            if driver is not None:
                driver.remove(slice_uid)
        except DriverError as error:
            log.error("slice %s: %s", slice_uid, error, extra={"slice_uid": slice_uid})

    def _unstarted(self, slice_uid: str) -> LocalSlice | None:
        """A slice without a state: about to start, never started (None), or beyond reading."""
        folder = self._folder(slice_uid)
        spec = spec_read(folder)
        if spec is None or folder.state.exists():
            if spec is not None and state_read(folder) is not None:
                # It was written just now: the next look takes it in.
                return local_slice_starting(slice_uid, spec)
            return local_slice_failed(slice_uid, spec, "lost", _UNREADABLE) if folder.path.exists() else None
        shim = self._shims.get(slice_uid)
        if shim is None:
            return None
        if shim.poll() is None:
            return local_slice_starting(slice_uid, spec)
        return local_slice_failed(
            slice_uid, spec, "crashed", f"its shim could not start: {last_line(folder.shim_errors)}"
        )

    def _is_shim_alive(self, state: ShimState) -> bool:
        return state.boot_id == self._boot_id and proc.is_alive(state.shim_pid, state.shim_start_ticks)

    def _settle_lost(self, folder: SliceFolder, state: ShimState) -> ShimState:
        """The shim is gone without a last word: end what is left and vouch only for the journal."""
        latest = state_read(folder)
        if latest is not None and latest.is_terminal:
            return latest
        if state.boot_id == self._boot_id:
            left = proc.session_members(state.work_pid, state.work_start_ticks, state.slice_uid)
            proc.send(left, signal.SIGKILL)
        ended_at = JournalReader(folder.journal).last_end_at() or state.started_at
        lost = replace(
            state,
            state="failed",
            reason_code="lost",
            ended_at=ended_at,
            reason="its shim ended unexpectedly; only the journaled time counts",
        )
        lost.use_forget()
        try:
            write_json(folder.state, lost.to_json())
        except OSError as error:
            log.error("slice %s: its loss cannot be written down: %s", state.slice_uid, error)
        return lost

    @property
    def is_reachable(self) -> bool:
        """Whether there is work here that people may reach: its web pages, or a terminal beside it."""
        return any(known.executions is not None and known.ended is None for known in self._known.values())

    def web_socket(self, slice_uid: str) -> WorkSocket | ServicePlace | None:
        """Where the work of a slice serves its web pages; None where it serves none, or has ended. For any thread."""
        known = self._known.get(slice_uid)
        return known.web_socket if known is not None and known.ended is None else None

    def container(self, slice_uid: str) -> Container | None:
        """The container that the work of a slice runs in; None where it runs in none, or has ended. For any thread."""
        folder, executions = self._folder(slice_uid), self.executions(slice_uid)
        spec = spec_read(folder)
        if spec is None or spec.image is None or executions is None:
            return None
        root = surroundings_of(spec, replace(folder, home=Path(spec.home) if spec.home else None)).image_root(
            spec.image
        )
        return Container(
            Changes(
                files=str(root.files_changed),
                not_of_image=frozenset(map(PurePosixPath, root.not_of_image)),
                user=root.user,
                owner=root.owner,
                is_owned=root.is_owned,
            ),
            executions,
        )

    def executions(self, slice_uid: str) -> Path | None:
        """Where the shim of a slice is asked to run something beside its work; None where nothing is, or the work has
        ended. For any thread."""
        known = self._known.get(slice_uid)
        return known.executions if known is not None and known.ended is None else None

    def usage(self, slice_uid: str, after_seq: int, limit: int) -> tuple[UsageReport, ...]:
        """Journaled intervals past `after_seq`, in order."""
        known = self._known.get(slice_uid)
        if known is None:
            return ()
        known.journal.poll()
        return tuple(
            UsageReport.model_validate(
                {"slice_uid": slice_uid, **{name: getattr(segment, name) for name in segment.__slots__}}
            )
            for segment in known.journal.after(after_seq, limit)
        )

    def log(self, slice_uid: str, offset: int) -> LogChunk | None:
        """Up to 64 KiB of output from `offset`."""
        text = read_chunk(self._folder(slice_uid).log, offset, LOG_CHUNK_BYTES)
        return LogChunk(slice_uid=slice_uid, offset=offset, text=text) if text else None

    def metrics(self, slice_uid: str) -> MetricBatch | None:
        """What its work has written of itself and the server does not have, the oldest of it."""
        return batch_oldest(self._folder(slice_uid).metrics, slice_uid)

    def metrics_drop(self, slice_uid: str, seq: int) -> None:
        """The server has the batches up to this one."""
        batches_drop(self._folder(slice_uid).metrics, seq)

    def stop_all(self, *, wait_s: float = 15.0) -> int:
        """End every work of this node at once; returns how many there were."""
        states = [state_read(self._folder(held.slice_uid)) for held in self.list() if not held.is_terminal]
        living = [state for state in states if state is not None and self._is_shim_alive(state)]
        proc.send([state.shim_pid for state in living], signal.SIGTERM)
        end = time.monotonic() + wait_s
        while time.monotonic() < end and any(map(self._is_shim_alive, living)):
            time.sleep(0.05)
        proc.send([state.shim_pid for state in living if self._is_shim_alive(state)], signal.SIGKILL)
        return len(living)

    def _folder(self, slice_uid: str) -> SliceFolder:
        if not _UID.match(slice_uid):
            raise DriverError(f"{slice_uid!r} is no name of a slice")
        return SliceFolder(self._slices / slice_uid)


def _service_place(spec: SliceSpec, folder: SliceFolder, at: WorkSocket) -> ServicePlace:
    """Its shim leads into the network that it has of its own."""
    if spec.network is None:
        return ServicePlace(at)
    return ServicePlace(at, within=lambda port: keeper_connect(folder.executions, port, CONNECT_S))
