"""Laying a new slice down on disk, cut from its device by the slice driver that was asked for."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

from node_agent.address import bind_address, data_address
from node_agent.configured import Configured
from node_agent.drivers.base import Device, DriverError, Setting, SliceDriver
from node_agent.drivers.table import slice_drivers_load
from node_agent.protocol.slices import DesiredSlice
from node_agent.release import running_release
from node_agent.runtime import limits
from node_agent.runtime.files import SliceFolder, read_json, write_json
from node_agent.runtime.library import PROGRAM_PACKAGES, SESSION_PACKAGES, library_make
from node_agent.runtime.records import SliceSpec

_UIDS = 5_000
_MIB = 1024 * 1024

log = logging.getLogger("weir.agent")


class Maker:
    """Makes slices in `slices`, a folder of the agent's own."""

    def __init__(self, configured: Configured, slices: Path) -> None:
        self._configured, self._slices = configured, slices
        settings = configured.settings
        # Of each release its own: work that runs keeps importing from the one it began with.
        release = f"-{running_release()}" if running_release() else ""
        self._program_lib = library_make(settings.home / f"lib{release}", PROGRAM_PACKAGES)
        self._session_lib = library_make(settings.home / f"session-lib{release}", SESSION_PACKAGES)
        self.drivers: Mapping[str, SliceDriver] = slice_drivers_load(settings)
        self._has_users = self._can_change_user()

    @property
    def library(self) -> Path:
        """What the shims import from."""
        return self._program_lib

    def make(self, wanted: DesiredSlice, device: Device, folder: SliceFolder) -> None:
        """Lay the slice's folder down in one step. Raises DriverError."""
        name = self._driver_name(wanted, device)
        setting = self.drivers[name].make(wanted, device)
        spec = self._spec(wanted, device, name, setting)
        draft = SliceFolder(self._slices / f".{wanted.slice_uid}")
        try:
            shutil.rmtree(draft.path, ignore_errors=True)
            draft.path.mkdir(mode=0o711)
            draft.work.mkdir(mode=0o700)
            if spec.work_uid is not None:
                os.chown(draft.work, spec.work_uid, spec.work_uid)
            write_json(draft.spec, spec.to_json())
            draft.path.rename(folder.path)
        except OSError as error:
            self.drivers[name].remove(wanted.slice_uid)
            raise DriverError(
                f"the slice's folder cannot be made: {error.strerror}; look at the node's disk"
            ) from error

    def _driver_name(self, wanted: DesiredSlice, device: Device) -> str:
        """The driver asked for, or the first that serves this work here. Raises DriverError."""
        kind = wanted.work.kind
        if wanted.driver and wanted.driver not in self.drivers:
            raise DriverError(f"no slice driver {wanted.driver}: there are {', '.join(self.drivers)}")
        names = [wanted.driver] if wanted.driver else list(self.drivers)
        causes = []
        for name in names:
            cause = self._refusal(name, kind, device)
            if not cause:
                return name
            causes.append(f"{name}: {cause}")
        raise DriverError(f"{device.model} cannot be cut for a {kind}: {'; '.join(causes)}"[:500])

    def _refusal(self, name: str, kind: str, device: Device) -> str:
        driver = self.drivers[name]
        return driver.refusal(device) if kind in driver.kinds else f"it serves no {kind}"

    def _spec(self, wanted: DesiredSlice, device: Device, driver: str, setting: Setting) -> SliceSpec:
        work = wanted.work
        is_session = work.kind == "session"
        if is_session and wanted.session is None:
            raise DriverError("a session needs a token, and none came with the wish")
        settings = self._configured.settings
        address = data_address(settings.address, settings.server)
        return SliceSpec(
            slice_uid=wanted.slice_uid,
            generation=wanted.generation,
            device_uid=device.uid,
            vendor="cpu" if device.simulated else device.vendor,
            cores=max(device.cores, 1),
            compute_percent=wanted.compute_percent,
            memory_mib=wanted.memory_mib,
            argv=list(work.argv),
            env=dict(work.env),
            run_timeout_s=work.run_timeout_s,
            grace_s=work.grace_s,
            meter_s=settings.meter_s,
            log_limit_bytes=settings.log_limit_mib * _MIB,
            work_uid=self._work_uid(wanted.slice_uid) if self._has_users else None,
            lib_dir=str(self._session_lib if is_session else self._program_lib),
            kind=work.kind,
            idle_timeout_s=work.idle_timeout_s,
            session=wanted.session.model_dump(mode="json") if wanted.session else None,
            host=address,
            bind=bind_address(address),
            detach_s=settings.detach_s,
            torch_device=device.torch_device,
            driver=driver,
            driver_env=dict(setting.env),
            is_throttled=setting.is_throttled,
            memory_enforced_by=setting.memory_enforced_by,
            compute_enforced_by=setting.compute_enforced_by,
            gauge_uid=setting.gauge_uid,
            device_memory_mib=device.memory_mib,
            ledger_dir=str(settings.home / "devices" / device.uid),
            size=wanted.size.model_dump() if wanted.size and not is_session else None,
            checkpoint=work.checkpoint.model_dump(mode="json") if work.checkpoint else None,
        )

    # ---- users ----

    def _work_uid(self, slice_uid: str) -> int:
        specs = (read_json(folder / "spec.json") or {} for folder in self._slices.iterdir())
        taken = {spec.get("work_uid") for spec in specs}
        first = zlib.crc32(slice_uid.encode())
        candidates = (
            self._configured.settings.work_uid_base + (first + step) % _UIDS for step in range(_UIDS)
        )
        return next(uid for uid in candidates if uid not in taken)

    def _can_change_user(self) -> bool:
        base = self._configured.settings.work_uid_base
        if os.geteuid() != 0 or not base:
            return False
        paths = [Path(sys.executable), self._slices, self._program_lib / "node_agent"]
        if limits.user_can_work(base, paths):
            return True
        log.warning(
            "work runs as root without its powers, because user %d cannot reach %s or %s: "
            "install outside a private folder to give each work a user of its own",
            base,
            sys.executable,
            self._slices,
        )
        return False
