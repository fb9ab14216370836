"""The engines that `make run` can start beside the portal, each on a folder of the portal's own, and what they need."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import pwd
import secrets
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import psutil

from apps.kernel.process_identity import ProcessIdentity
from portal.devstack.engines.ray_cluster import RayCluster, ray_end, ray_ports
from portal.devstack.engines.ray_install import ray_lacks
from portal.devstack.engines.slurm_cluster import (
    REST_USER,
    USER,
    Cluster,
    Shape,
    cluster_end,
    slurm_lacks,
)
from portal.devstack.options import CENTER_KINDS, Options
from portal.devstack.servers import ports
from portal.devstack.servers.privileges import can_reach
from portal.devstack.servers.processes import text_write, wait_until

# What a socket's path may have is 107 characters.
_FOLDER_MAX = 90
_FREED_S = 10
_SLURM_PACKAGES = "slurm-wlm slurmdbd slurmrestd slurm-wlm-jwt-plugin mariadb-server munge"


@dataclass(frozen=True)
class Reach:
    """How a centre is joined: the values of its kind's fields, and of those that are secret."""

    settings: dict[str, str]
    credential: dict[str, str]


class Engine(Protocol):
    """One that is started in this process."""

    def start(self) -> Reach:
        """Start all of it and return when it takes jobs. Raises OSError (TimeoutError too), SubprocessError."""
        ...

    def dead(self) -> str:
        """The name of a process of it that has ended by itself; "" where all run."""
        ...

    def said(self, name: str) -> str:
        """The end of what that process has said."""
        ...

    def stop(self) -> None:
        """End all of it."""
        ...


def slurm_folder(var_dir: Path) -> Path:
    """Where the Slurm of a portal keeps what it has."""
    return var_dir.resolve() / "slurm"


def ray_work_folder(var_dir: Path) -> Path:
    """Where the Ray of a portal writes; its sockets want a short path, and nothing of it is kept."""
    digest = hashlib.sha256(str(var_dir.resolve()).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"weir-ray-{digest}"


def reach_path(var_dir: Path, kind: str) -> Path:
    """The file that says how the engine of a kind is reached, while it takes jobs."""
    return var_dir / "run" / f"{kind}.json"


def reach_read(var_dir: Path, kind: str) -> Reach | None:
    """How the engine of a kind is reached; None while it takes no jobs, as when the process that runs it was killed."""
    try:
        told = json.loads(reach_path(var_dir, kind).read_text())
        if ProcessIdentity(**told.pop("process")).is_alive():
            return Reach(**told)
    except (OSError, ValueError, TypeError, KeyError):
        pass
    return None


def reach_write(var_dir: Path, kind: str, reach: Reach) -> None:
    """Say how it is reached, to us alone, while this process lives."""
    process = ProcessIdentity.of(os.getpid())
    assert process is not None, "this process lives"
    text_write(reach_path(var_dir, kind), json.dumps({"process": asdict(process), **asdict(reach)}))


def slurm_here_lacks(var_dir: Path) -> str:
    """Why no Slurm can be a centre of the portal on this folder, with the cure; "" where one can."""
    if why := slurm_lacks():
        return f"{why} (apt-get install {_SLURM_PACKAGES})" if why.endswith("installed") else why
    folder = slurm_folder(var_dir)
    if len(str(folder)) > _FOLDER_MAX:
        return f"the path {folder} is too long for its sockets: name a shorter one with WEIR_VAR_DIR"
    for name in (USER, REST_USER):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            return f"this machine has no account {name}, which it runs under: useradd --system {name}"
        # What is not there yet is made so that it can be entered.
        above = next(path for path in var_dir.resolve().parents if path.is_dir())
        if not can_reach(above / "var", account):
            return f"its account {name} cannot enter {above}: name another folder with WEIR_VAR_DIR"
    return ""


def ray_here_lacks(_var_dir: Path) -> str:
    """Why no Ray can be a centre here, with the command that brings it; "" where one can."""
    return ray_lacks()


class SlurmEngine:
    """A Slurm of one node on all processors and half of the memory of this machine; its records are kept."""

    def __init__(self, var_dir: Path) -> None:
        self.folder = slurm_folder(var_dir)
        self._cluster: Cluster | None = None

    def start(self) -> Reach:
        """See `Engine`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        cluster_end(self.folder)
        cores = len(os.sched_getaffinity(0))
        # A job that was lost with its node is the portal's to send again, and not Slurm's.
        shape = Shape(
            nodes=1,
            each=f"CPUs={cores} RealMemory={_memory_mib()}",
            more="JobRequeue=0\n",
            is_kept=True,
        )
        first = ports_kept(self.folder, shape.ports)
        made = self._cluster = Cluster.made(self.folder, shape, first)
        made.start_all()
        work = str(made.work)
        return Reach(
            {"address": made.address, "user": USER, "folder": work, "log_folder": work},
            {"key": base64.b64encode(made.key).decode()},
        )

    def dead(self) -> str:
        """See `Engine`."""
        return self._cluster.dead() if self._cluster else ""

    def said(self, name: str) -> str:
        """See `Engine`."""
        return self._cluster.said(name) if self._cluster else ""

    def stop(self) -> None:
        """See `Engine`."""
        if self._cluster is not None:
            self._cluster.stop()


class RayEngine:
    """A Ray of one node on all processors and a quarter of the memory of this machine; it forgets all when it ends."""

    def __init__(self, var_dir: Path) -> None:
        self.folder = ray_work_folder(var_dir)
        self._kept = var_dir.resolve() / "ray"
        self._cluster: RayCluster | None = None

    def start(self) -> Reach:
        """See `Engine`."""
        ray_end(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        self._kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = self._kept / "token"
        if not token.exists():
            text_write(token, secrets.token_urlsafe(32))
        cores = len(os.sched_getaffinity(0))
        each = (f"--num-cpus={cores}", "--num-gpus=0", f"--memory={_memory_mib() // 2 * 2**20}")
        first = ports_kept(self._kept, ray_ports(1))
        made = self._cluster = RayCluster.made(self.folder, token.read_text(), each, 1, first)
        made.head_start()
        return Reach({"address": made.address}, {"token": made.token})

    def dead(self) -> str:
        """See `Engine`."""
        return self._cluster.dead() if self._cluster else ""

    def said(self, name: str) -> str:
        """See `Engine`."""
        return self._cluster.said(name) if self._cluster else ""

    def stop(self) -> None:
        """See `Engine`."""
        if self._cluster is not None:
            self._cluster.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


ENGINES: dict[str, Callable[[Path], Engine]] = {"slurm": SlurmEngine, "ray": RayEngine}
_LACKS: dict[str, Callable[[Path], str]] = {"slurm": slurm_here_lacks, "ray": ray_here_lacks}


def engines_end(var_dir: Path) -> None:
    """End what a killed portal has left of its engines, by process ids."""
    cluster_end(slurm_folder(var_dir))
    ray_end(ray_work_folder(var_dir))
    shutil.rmtree(ray_work_folder(var_dir), ignore_errors=True)


def centers_chosen(options: Options) -> tuple[tuple[str, ...], dict[str, str]]:
    """The kinds of centres that the demo has here; and those that lack, each with why and what brings it."""
    if not options.is_demo:
        return (), {}
    named = options.centers_named
    asked = CENTER_KINDS if named is None else named
    lacking = {kind: why for kind in asked if kind in _LACKS and (why := _LACKS[kind](options.var_dir))}
    return tuple(kind for kind in asked if kind not in lacking), lacking


def ports_kept(folder: Path, count: int) -> int:
    """The first of so many ports in a row: those of the last start, unless somebody else has taken one of them."""
    kept = folder / "ports"
    try:
        first = int(kept.read_text())
    except (OSError, ValueError):
        first = 0
    if first and wait_until(lambda: ports.row_is_free(first, count), timeout_s=_FREED_S, every_s=0.1):
        return first
    # From another place in each folder: portals that start at once do not choose the same.
    found = ports.row_free(count, int(hashlib.sha256(str(folder).encode()).hexdigest()[:8], 16))
    text_write(kept, str(found))
    return found


def _memory_mib() -> int:
    return int(psutil.virtual_memory().total // 2**20 // 2)
