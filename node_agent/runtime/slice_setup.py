"""Laying a new slice down on disk, cut from its device by the slice driver that was asked for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from node_agent.address import LOOPBACK, bind_address, data_address, interface_of, own_addresses
from node_agent.drivers.base import Device, DriverError, Setting, SliceDriver
from node_agent.drivers.registry import preferred, slice_drivers_load
from node_agent.files import OUTPUTS, SliceFolder, write_json
from node_agent.images.store import ImageStore
from node_agent.protocol.fields import HOST_DRIVER
from node_agent.protocol.folders import DesiredFolder
from node_agent.protocol.images import WorkImage
from node_agent.protocol.packages import WorkPackages
from node_agent.protocol.slices import DesiredSize, DesiredSlice, VolumeMount
from node_agent.release import running_release
from node_agent.remote_config import Configured
from node_agent.runtime.containers.available import Containers, containers_find
from node_agent.runtime.isolation.levels import Isolation, isolation_find
from node_agent.runtime.isolation.own_packages import own_packages_link
from node_agent.runtime.isolation.users import NoUserLeft, WorkUsers
from node_agent.runtime.network.available import Networking, network_find
from node_agent.runtime.network.rules import NOWHERE, Rules
from node_agent.runtime.network.work_network import NetworkWanted
from node_agent.runtime.packages.available import Packages, packages_find
from node_agent.runtime.records.slice_records import SliceSpec, cores_for
from node_agent.runtime.volumes.folders import Volumes
from node_agent.work_folders import WorkFolders

_MIB = 1024 * 1024


class Maker:
    """Makes slices in `slices`, a folder of the agent's own."""

    def __init__(self, configured: Configured, slices: Path, folders: WorkFolders) -> None:
        self._configured, self._slices, self._folders = configured, slices, folders
        settings = configured.settings
        # Of each release its own: work that runs keeps importing from the one it began with.
        release = f"-{running_release()}" if running_release() else ""
        self._lib = own_packages_link(settings.home / f"lib{release}")
        self.drivers: Mapping[str, SliceDriver] = slice_drivers_load(settings)
        self.images = ImageStore(settings.home / "images")
        self._volumes = Volumes(settings.storage_dir)
        self._users = WorkUsers(settings.users_dir, settings.work_uid_base)

    @cached_property
    def isolation(self) -> Isolation:
        """How work is kept apart on this node; tried once."""
        settings = self._configured.settings
        return isolation_find(
            settings.home,
            self._lib,
            uid_base=settings.work_uid_base,
            is_forced=settings.allow_root_work,
        )

    @cached_property
    def networking(self) -> Networking:
        """Which network work has on this node; found out once."""
        settings = self._configured.settings
        return network_find(settings.work_network, self.isolation, settings.home, self._lib)

    @cached_property
    def containers(self) -> Containers:
        """Whether work runs in images on this node; found out once."""
        return containers_find(self.isolation)

    @cached_property
    def packages(self) -> Packages:
        """Whether packages are installed for work on this node; found out once."""
        settings = self._configured.settings
        return packages_find(
            settings.package_index,
            settings.home / "packages",
            settings.package_mib,
            is_walled=self.isolation.level == "namespaces",
        )

    @property
    def library(self) -> Path:
        """What the shims import from."""
        return self._lib

    def make(self, wanted: DesiredSlice, device: Device, folder: SliceFolder) -> None:
        """Lay the slice's folder down in one step. Raises DriverError."""
        if wanted.work.kind == "program" and self.isolation.refusal:
            raise DriverError(self.isolation.refusal[:500])
        if wanted.work.kind == "program" and self.networking.refusal:
            raise DriverError(self.networking.refusal[:500])
        name = self._driver_name(wanted, device)
        setting = self.drivers[name].make(wanted, device)
        spec = self._spec(
            wanted,
            device,
            name,
            setting,
            self.owner(wanted.folder.key) if wanted.folder else self._work_uid(folder.path),
        )
        draft = SliceFolder(self._slices / f".{wanted.slice_uid}")
        try:
            shutil.rmtree(draft.path, ignore_errors=True)
            draft.path.mkdir(mode=0o711)
            if wanted.folder is None:
                draft.work.mkdir(mode=0o700)
                if spec.work_uid is not None:
                    os.chown(draft.work, spec.work_uid, spec.work_uid)
            else:
                self._work_folder(wanted.folder, spec.work_uid, has_outputs=wanted.work.outputs)
            write_json(draft.spec, spec.to_json())
            if wanted.secrets:
                write_json(draft.secrets, dict(wanted.secrets))
            draft.path.rename(folder.path)
        except OSError as error:
            self.drivers[name].remove(wanted.slice_uid)
            self.user_release(folder.path)
            raise DriverError(
                f"the slice's folder cannot be made: {error.strerror}; look at the node's disk"
            ) from error

    def _work_folder(self, desired: DesiredFolder, owner: int | None, *, has_outputs: bool) -> None:
        """Where the program goes on, or begins: what lies here of an attempt before others is not its past."""
        if not desired.is_kept and desired.archive is None:
            self._folders.remove(desired.key)
        home = self._folders.make(desired.key, owner)
        if has_outputs:
            # What the work itself put there in an earlier attempt stays as it is.
            with suppress(FileExistsError):
                (home / OUTPUTS).mkdir(mode=0o700)
            if owner is not None and os.lstat(home / OUTPUTS).st_uid != owner:
                os.chown(home / OUTPUTS, owner, owner, follow_symlinks=False)

    def _driver_name(self, wanted: DesiredSlice, device: Device) -> str:
        """The driver asked for, or the first that serves this work here. Raises DriverError."""
        kind = wanted.work.kind
        if wanted.driver and wanted.driver not in self.drivers:
            raise DriverError(f"no slice driver {wanted.driver}: there are {', '.join(self.drivers)}")
        if wanted.is_on_host:
            return HOST_DRIVER
        names = (wanted.driver,) if wanted.driver else preferred(self.drivers, device)
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

    def _spec(
        self, wanted: DesiredSlice, device: Device, driver: str, setting: Setting, work_uid: int | None
    ) -> SliceSpec:
        work, is_session = wanted.work, wanted.work.kind == "session"
        if is_session and wanted.session is None:
            raise DriverError("a session needs a token, and none came with it")
        settings = self._configured.settings
        address = data_address(settings.address, settings.server)
        return SliceSpec(
            slice_uid=wanted.slice_uid,
            generation=wanted.generation,
            device_uid=device.uid,
            vendor="cpu" if device.simulated or wanted.is_on_host else device.vendor,
            cores=cores_for(wanted.host_cpu_milli) if wanted.is_on_host else max(device.cores, 1),
            compute_percent=wanted.compute_percent,
            memory_mib=wanted.memory_mib,
            argv=list(work.argv),
            env=dict(work.env),
            run_timeout_s=work.run_timeout_s,
            grace_s=work.grace_s,
            meter_s=settings.meter_s,
            log_limit_bytes=settings.log_limit_mib * _MIB,
            work_uid=work_uid,
            isolation=self.isolation.level,
            disk_mib=wanted.scratch_disk_mib or settings.work_disk_mib,
            has_scratch_disk=wanted.scratch_disk_mib > 0,
            paths=[*map(str, settings.work_paths), *setting.paths],
            lib_dir=str(self._lib),
            kind=work.kind,
            idle_timeout_s=work.idle_timeout_s,
            session=wanted.session.model_dump(mode="json") if wanted.session else None,
            host=address,
            bind=bind_address(address),
            detach_s=settings.detach_s,
            torch_device="cpu" if wanted.is_on_host else device.torch_device,
            driver=driver,
            driver_env=dict(setting.env),
            is_throttled=setting.is_throttled,
            memory_enforced_by=setting.memory_enforced_by,
            compute_enforced_by=setting.compute_enforced_by,
            metered_uid=setting.metered_uid,
            device_memory_mib=device.memory_mib,
            # Work on the host alone takes no part in how the device is shared.
            peer_usage_dir="" if wanted.is_on_host else str(settings.home / "devices" / device.uid),
            size=wanted.size.model_dump() if wanted.size and not is_session else None,
            checkpoint=work.checkpoint.model_dump(mode="json") if work.checkpoint else None,
            warning=work.warning.model_dump() if work.warning else None,
            host_cpu_milli=wanted.host_cpu_milli,
            host_memory_mib=wanted.host_memory_mib,
            folder=wanted.folder.key if wanted.folder else "",
            home=str(self._folders.home(wanted.folder.key)) if wanted.folder else "",
            web=work.web or work.service is not None,
            service=work.service.model_dump() if work.service else None,
            interface=interface_of(address),
            volumes=self._mounts(work.volumes),
            image=self._image(work.image),
            has_outputs=work.outputs,
            packages=self._packages(work.packages, work.image),
            network=None if is_session else self._network(wanted.size, interface_of(address)),
        )

    def _network(self, size: DesiredSize | None, interface: str) -> dict[str, Any] | None:
        """The network of its own; None: it has the node's, as sessions have, which run our own program and are reached
        there."""
        if not self.networking.is_own:
            return None
        rules = self._rules() if self.networking.level == "private" else None
        if size is None:
            return NetworkWanted(rules).to_json()
        gang = size.gang or f"{size.master_addr}-{size.master_port}".replace("/", "-")
        device = "" if interface == LOOPBACK else interface
        return NetworkWanted(rules, str(self._shared / f"{gang}.sock"), device).to_json()

    def _rules(self) -> Rules:
        settings = self._configured.settings
        return Rules.of_node(settings.work_network_allow, settings.work_network_deny, own_addresses())

    @property
    def _shared(self) -> Path:
        """Where the shares of a work on this machine find each other, whichever of its agents they are with."""
        settings = self._configured.settings
        if os.geteuid() == 0:
            return settings.users_dir / "networks"
        beside = settings.home.parent
        return (beside if os.access(beside, os.W_OK) else settings.home) / "networks"

    def _packages(self, wanted: WorkPackages | None, image: WorkImage | None) -> dict[str, Any] | None:
        """What is to be installed before the work starts. Raises DriverError where nothing is installed here."""
        if wanted is None:
            return None
        node = self.packages
        if node.problem:
            raise DriverError(node.problem[:500])
        return {
            "home": str(node.home),
            "key": node.key(wanted.owner, wanted.requirements, image.digest if image else ""),
            "requirements": list(wanted.requirements),
            "index": node.index,
            "pip": node.pip,
            "most_mib": node.most_mib,
            "network": self._network_of_installer(),
        }

    def _network_of_installer(self) -> dict[str, Any] | None:
        """Where work reaches nothing, its packages are fetched all the same: from their index alone."""
        if not self.networking.is_own:
            return None
        return NetworkWanted(self._rules() if self.networking.level == "private" else NOWHERE).to_json()

    def _image(self, wanted: WorkImage | None) -> dict[str, Any] | None:
        """The image that the work runs in. Raises DriverError where none runs here."""
        if wanted is None:
            return None
        if not self.containers.architecture:
            raise DriverError(self.containers.sentence[:500])
        root = self.images.root(wanted.digest)
        if root is None:
            raise DriverError(f"the image {wanted.name} is not on this node")
        self.images.touch(wanted.digest)
        said = self.images.settings(wanted.digest)
        begins = {"workdir": ""} if wanted.in_home else {}
        return {"root": str(root), "digest": wanted.digest, **said, **begins}

    def _mounts(self, wanted: Sequence[VolumeMount]) -> list[dict[str, Any]]:
        """Where each volume lies on this node. Raises DriverError."""
        if wanted and self.isolation.level != "namespaces":
            raise DriverError("volumes are mounted only where work is walled off, and this node cannot")
        mounts = []
        for one in wanted:
            place = self._volumes.place(one)
            if place is None:
                raise DriverError(
                    "this node does not see the storage of a volume: set WEIR_AGENT_STORAGE_DIR"
                )
            mounts.append(
                {"source": str(place), "path": one.path, "read_only": one.read_only, "is_sold": True}
            )
        return mounts

    # ---- users ----

    def owner(self, key: str) -> int | None:
        """The user of a work folder, the same as long as it is there; None: the agent's own. Raises DriverError."""
        return self._work_uid(self._folders.place(key))

    def _work_uid(self, folder: Path) -> int | None:
        """The user of the work whose files will lie in a folder. Raises DriverError."""
        if not self.isolation.has_user:
            return None
        try:
            return self._users.take(folder)
        except NoUserLeft as error:
            raise DriverError(str(error)) from error
        except OSError as error:
            raise DriverError(
                f"no user can be had for the work: {error}; set WEIR_AGENT_USERS_DIR to a folder that all agents "
                "of this host share and can write"
            ) from error

    def user_release(self, folder: Path) -> None:
        """A folder is gone, and nothing has come in its place since; what cannot be written down now is found out when
        its user is wanted next."""
        if self.isolation.has_user and not os.path.lexists(folder):
            with suppress(OSError):
                self._users.release(folder)
