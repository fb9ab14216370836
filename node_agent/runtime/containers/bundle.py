"""What the container runtime is told of one work, in the format of OCI: its walls and its program."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from node_agent.runtime.isolation.image_root import ImageRoot
from node_agent.runtime.isolation.seccomp import oci_profile
from node_agent.runtime.isolation.view import open_devices
from node_agent.runtime.limits.cgroup import Cgroup
from node_agent.runtime.limits.cgroup_v1 import CgroupV1
from node_agent.runtime.records.slice_records import SliceSpec

RUNTIME = "runc"
PROCESSES = 512
_MIB = 1024 * 1024
# The work's own, in its container.
_SHM = "/dev/shm"  # noqa: S108
_CAPABILITIES = ("bounding", "effective", "inheritable", "permitted", "ambient")
_MASKED = ("/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
           "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/fs/cgroup")  # fmt: skip
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
# What every container has of its runtime's own.
_PLAIN_DEVICES = frozenset({"/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"})


@dataclass(frozen=True, slots=True)
class Program:
    """What runs in a container: the work of `spec` with the variables `env` in its folder `home`. `namespaces` is the
    process whose process and message namespaces it joins, `group` its control group (None: one that the container
    runtime makes), `file_mib` the most that a file of it may hold. `has_network`: it joins that process's network
    too."""

    spec: SliceSpec
    env: dict[str, str]
    home: Path
    namespaces: int
    group: Cgroup | CgroupV1 | None
    shm_mib: int
    file_mib: int | None
    has_network: bool = False

    @property
    def group_name(self) -> str:
        """Its control group as the container runtime calls it."""
        return self.group.name if self.group is not None else f"weir/{self.spec.slice_uid}-{os.getpid()}"


def bundle_of(program: Program, root: ImageRoot) -> dict[str, Any]:
    """The configuration: no capabilities, no new privileges, a user of its own, namespaces of its own."""
    user = program.spec.work_uid
    named = Path(str((program.spec.image or {}).get("workdir") or program.home))
    limits = [_limit("RLIMIT_CORE", 0), _limit("RLIMIT_NPROC", PROCESSES)]
    if program.file_mib is not None:
        limits.append(_limit("RLIMIT_FSIZE", program.file_mib * _MIB))
    devices = [_device(path) for path in open_devices() if str(path) not in _PLAIN_DEVICES]
    return {
        "ociVersion": "1.0.2",
        "root": {"path": str(root.root), "readonly": False},
        "process": {
            "terminal": False,
            "user": {"uid": user, "gid": user, "umask": 0o077},
            "args": program.spec.argv,
            "env": [f"{name}={value}" for name, value in program.env.items()],
            # An image's word alone: what is not plainly a folder in it could lead the runtime out of the container.
            "cwd": str(named if root.has_folder(named) else program.home),
            "capabilities": {kind: [] for kind in _CAPABILITIES},
            "rlimits": limits,
            "noNewPrivileges": True,
        },
        "mounts": _mounts(program.shm_mib),
        "linux": {
            "namespaces": [
                {"type": "pid", "path": f"/proc/{program.namespaces}/ns/pid"},
                {"type": "ipc", "path": f"/proc/{program.namespaces}/ns/ipc"},
                {"type": "mount"},
                *(
                    [{"type": "network", "path": f"/proc/{program.namespaces}/ns/net"}]
                    if program.has_network
                    else []
                ),
            ],
            "cgroupsPath": program.group_name,
            "resources": {
                "pids": {"limit": PROCESSES},
                "devices": [{"allow": False, "access": "rwm"}, *map(_allowed, devices)],
            },
            "devices": devices,
            "seccomp": oci_profile(),
            "maskedPaths": list(_MASKED),
            "readonlyPaths": list(_READ_ONLY),
        },
    }


def _mounts(shm_mib: int) -> list[dict[str, Any]]:
    own = ["nosuid", "noexec", "nodev"]
    return [
        _mount("/proc", "proc", *own),
        _mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=1m"),
        _mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"),
        # A size of 0 would be none at all.
        _mount(_SHM, "tmpfs", "nosuid", "nodev", "mode=1777", f"size={max(shm_mib, 1)}m"),
        _mount("/sys", "sysfs", "ro", *own),
    ]


def _mount(place: str, kind: str, *options: str) -> dict[str, Any]:
    return {"destination": place, "type": kind, "source": kind, "options": list(options)}


def _limit(name: str, value: int) -> dict[str, Any]:
    return {"type": name, "hard": value, "soft": value}


def _device(path: Path) -> dict[str, Any]:
    """A device that any user of the node may open, such as a card."""
    facts = os.stat(path)
    return {
        "path": str(path),
        "type": "c",
        "major": os.major(facts.st_rdev),
        "minor": os.minor(facts.st_rdev),
        "fileMode": stat.S_IMODE(facts.st_mode),
        "uid": 0,
        "gid": 0,
    }


def _allowed(device: dict[str, Any]) -> dict[str, Any]:
    return {"allow": True, "type": "c", "major": device["major"], "minor": device["minor"], "access": "rw"}
