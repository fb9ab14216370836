"""The process runtime: each slice a folder, each running work under a shim of its own.

The folders are the only memory. Whoever starts this driver later finds the same slices in them.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

from node_agent.config import AgentSettings
from node_agent.drivers.base import Device, DriverError
from node_agent.held import Held
from node_agent.protocol.fields import LOG_CHUNK_BYTES
from node_agent.protocol.slices import DesiredSlice, LogChunk, SliceReport, UsageReport
from node_agent.runtime import limits, proc
from node_agent.runtime.files import SliceFolder, read_json, write_json
from node_agent.runtime.journal import JournalReader
from node_agent.runtime.output import read_chunk
from node_agent.runtime.records import Control, ShimState, SliceSpec

_UID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$")
_UIDS = 5_000
_MIB = 1024 * 1024
_UNREADABLE = "its records on this node cannot be read"

log = logging.getLogger("weir.agent")


@dataclass(slots=True)
class _Known:
    """What is remembered between two looks at a slice; all of it can be found again."""

    journal: JournalReader
    ended: Held | None = None


class ProcessRuntime:
    """Slice driver and runtime driver in one. `home` is the agent's folder."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self._slices = settings.home / "slices"
        self._slices.mkdir(parents=True, exist_ok=True)
        for folder in (settings.home, self._slices):
            folder.chmod(0o711)
        self._lib = _library(settings.home / "lib")
        self._known: dict[str, _Known] = {}
        self._shims: dict[str, subprocess.Popen[bytes]] = {}
        self._boot_id = proc.boot_id()
        self._has_users = self._can_change_user()
        for rest in self._slices.glob(".*"):
            shutil.rmtree(rest, ignore_errors=True)

    def _can_change_user(self) -> bool:
        base = self._settings.work_uid_base
        if os.geteuid() != 0 or not base:
            return False
        if limits.user_can_work(base, [Path(sys.executable), self._slices, self._lib / "node_agent"]):
            return True
        log.warning(
            "work runs as root without its powers, because user %d cannot reach %s or %s: "
            "install outside a private folder to give each work a user of its own",
            base,
            sys.executable,
            self._slices,
        )
        return False

    # ---- shares ----

    def make(self, wanted: DesiredSlice, device: Device) -> None:
        """Lay the slice's folder down in one step; one already there is left as it is."""
        folder = self._folder(wanted.slice_uid)
        if folder.path.exists():
            return
        draft = SliceFolder(self._slices / f".{wanted.slice_uid}")
        spec = self._spec(wanted, device)
        try:
            shutil.rmtree(draft.path, ignore_errors=True)
            draft.path.mkdir(mode=0o711)
            draft.work.mkdir(mode=0o700)
            if spec.work_uid is not None:
                os.chown(draft.work, spec.work_uid, spec.work_uid)
            write_json(draft.spec, spec.to_json())
            draft.path.rename(folder.path)
        except OSError as error:
            raise DriverError(
                f"the slice's folder cannot be made: {error.strerror}; look at the node's disk"
            ) from error

    def _spec(self, wanted: DesiredSlice, device: Device) -> SliceSpec:
        return SliceSpec(
            slice_uid=wanted.slice_uid,
            generation=wanted.generation,
            device_uid=device.uid,
            vendor=device.vendor,
            cores=max(device.cores, 1),
            compute_percent=wanted.compute_percent,
            memory_mib=wanted.memory_mib,
            argv=list(wanted.work.argv),
            env=dict(wanted.work.env),
            run_timeout_s=wanted.work.run_timeout_s,
            grace_s=wanted.work.grace_s,
            meter_s=self._settings.meter_s,
            log_limit_bytes=self._settings.log_limit_mib * _MIB,
            work_uid=self._work_uid(wanted.slice_uid) if self._has_users else None,
            lib_dir=str(self._lib),
        )

    def _work_uid(self, slice_uid: str) -> int:
        specs = (read_json(folder / "spec.json") or {} for folder in self._slices.iterdir())
        taken = {spec.get("work_uid") for spec in specs}
        first = zlib.crc32(slice_uid.encode())
        candidates = (self._settings.work_uid_base + (first + step) % _UIDS for step in range(_UIDS))
        return next(uid for uid in candidates if uid not in taken)

    def resize(self, slice_uid: str, generation: int, compute_percent: int, memory_mib: int) -> None:
        """Write down the wanted share; the shim takes it up within a tenth of a second."""
        self._control(slice_uid, Control(generation, compute_percent, memory_mib, "running"))

    def remove(self, slice_uid: str) -> None:
        """Delete a finished slice's records."""
        folder = self._folder(slice_uid)
        trash = self._slices / f".{slice_uid}.gone"
        try:
            folder.path.rename(trash)
        except OSError as error:
            if folder.path.exists():
                raise DriverError(f"the slice's folder cannot be removed: {error.strerror}") from error
        shutil.rmtree(trash, ignore_errors=True)
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
                    [sys.executable, "-m", "node_agent.runtime.shim", str(folder.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=errors,
                    stderr=errors,
                    start_new_session=True,
                    cwd="/",
                    env={**os.environ, "PYTHONPATH": str(self._lib)},
                )
        except OSError as error:
            raise DriverError(f"the slice's shim cannot be started: {error}") from error

    def stop(self, slice_uid: str, generation: int) -> None:
        """Write down that the work is to end; the shim sees to it within the work's grace."""
        held = self._held(slice_uid)
        if held is not None and not held.is_terminal:
            self._control(slice_uid, Control(generation, held.compute_percent, held.memory_mib, "stopped"))

    def _control(self, slice_uid: str, control: Control) -> None:
        try:
            write_json(self._folder(slice_uid).control, control.to_json())
        except OSError as error:
            raise DriverError(
                f"the slice cannot be told: {error.strerror}; look at the node's disk"
            ) from error

    # ---- what is there ----

    def list(self) -> tuple[Held, ...]:
        """Every slice found, adopted or our own; a folder that makes no sense never stops the others."""
        self._shims = {
            uid: shim for uid, shim in self._shims.items() if shim.poll() is None or not self._is_told(uid)
        }
        names = sorted(
            path.name for path in self._slices.iterdir() if path.is_dir() and _UID.match(path.name)
        )
        found = (self._held(name) for name in names)
        return tuple(held for held in found if held is not None)

    def _is_told(self, slice_uid: str) -> bool:
        return self._folder(slice_uid).state.exists() or not self._folder(slice_uid).path.exists()

    def _held(self, slice_uid: str) -> Held | None:
        folder = self._folder(slice_uid)
        known = self._known.setdefault(slice_uid, _Known(JournalReader(folder.journal)))
        if known.ended is not None:
            return known.ended
        state = _state(folder)
        if state is None:
            return self._unstarted(slice_uid)
        if not state.is_terminal and not self._is_shim_alive(state):
            state = self._settle_lost(folder, state)
        known.journal.poll()
        held = _held_from(state, known.journal.last_seq)
        if held.is_terminal:
            known.ended = held
        return held

    def _unstarted(self, slice_uid: str) -> Held | None:
        """A slice without a state: about to start, never started (None), or beyond reading."""
        folder = self._folder(slice_uid)
        try:
            spec = SliceSpec.from_json(read_json(folder.spec) or {})
        except (TypeError, ValueError):
            spec = None
        if spec is None or folder.state.exists():
            return _failed(slice_uid, spec, "lost", _UNREADABLE) if folder.path.exists() else None
        shim = self._shims.get(slice_uid)
        if shim is None:
            return None
        if shim.poll() is None:
            return _held(spec, SliceReport(slice_uid=slice_uid, generation=spec.generation, state="starting"))
        return _failed(
            slice_uid, spec, "crashed", f"its shim could not start: {_last_line(folder.shim_errors)}"
        )

    def _is_shim_alive(self, state: ShimState) -> bool:
        return state.boot_id == self._boot_id and proc.is_alive(state.shim_pid, state.shim_start_ticks)

    def _settle_lost(self, folder: SliceFolder, state: ShimState) -> ShimState:
        """The shim is gone without a last word: end what is left and vouch only for the journal."""
        latest = _state(folder)
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
            delivered_percent=None,
            memory_used_mib=None,
            reason="its shim ended unexpectedly; only the journaled time counts",
        )
        try:
            write_json(folder.state, lost.to_json())
        except OSError as error:
            log.error("slice %s: its loss cannot be written down: %s", state.slice_uid, error)
        return lost

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

    def stop_all(self, *, wait_s: float = 15.0) -> int:
        """End every work of this node at once; returns how many there were."""
        states = [_state(self._folder(held.slice_uid)) for held in self.list() if not held.is_terminal]
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


def _library(path: Path) -> Path:
    """A folder from which only this package can be imported."""
    path.mkdir(parents=True, exist_ok=True)
    link = path / "node_agent"
    package = Path(__file__).resolve().parent.parent
    if not link.is_symlink() or link.resolve() != package:
        draft = path / f".node_agent.{os.getpid()}"
        draft.symlink_to(package)
        draft.replace(link)
    return path


def _state(folder: SliceFolder) -> ShimState | None:
    try:
        state = ShimState.from_json(read_json(folder.state) or {})
        _held_from(state, 0)
    except (TypeError, ValueError):
        return None
    return state


def _held_from(state: ShimState, last_seq: int) -> Held:
    report = SliceReport.model_validate(
        {name: getattr(state, name) for name in SliceReport.model_fields if name != "last_usage_seq"}
        | {"last_usage_seq": last_seq}
    )
    return Held(state.device_uid, state.compute_percent, state.memory_mib, report)


def _held(spec: SliceSpec, report: SliceReport) -> Held:
    return Held(spec.device_uid, spec.compute_percent, spec.memory_mib, report)


def _failed(slice_uid: str, spec: SliceSpec | None, code: str, reason: str) -> Held:
    report = SliceReport.model_validate(
        {
            "slice_uid": slice_uid,
            "generation": spec.generation if spec else 1,
            "state": "failed",
            "reason_code": code,
            "reason": reason[:500],
        }
    )
    return _held(spec, report) if spec else Held("", 1, 1, report)


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(errors="replace").split("\n")
    except OSError:
        return "no message"
    return next((line for line in reversed(lines) if line.strip()), "no message").replace("\0", "")
