"""The volumes of a Kubernetes Job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weir.cli.job_files.figures import quantity_mib
from weir.cli.job_files.job import Job
from weir.cli.job_files.stored import OWN_FOLDERS, SHARED_MEMORY, take_volume, volume_named

_WHY = {
    "hostPath": "folders of nodes are not mounted: copy it to a volume by `weir cp`",
    "nfs": "a server's folder is not mounted by itself: operators offer it as a storage class, volumes lie on it",
    "configMap": "there are no ConfigMaps: the folder of --workdir travels",
    "secret": "secrets are variables and no files: give --secret NAME",
    "downwardAPI": "there is no pod whose fields could be told",
    "projected": "there are neither ConfigMaps nor files of secrets: the folder of --workdir travels",
    "ephemeral": "volumes outlive work: make one by `weir volume make`, and name it as a claim",
}
_UNKNOWN = "of volumes persistentVolumeClaim and emptyDir are known"


def take(job: Job, volumes: Iterable[Mapping[str, Any]], mounts: Iterable[Mapping[str, Any]]) -> None:
    """Take those that the container mounts into a job; each is noted, those too that it does not mount.

    A claim is the volume of its name here. An emptyDir is scratch: work has its own folder, temporary folders and
    shared memory anyhow, so one mounted there is taken, with its size; elsewhere nothing is mounted.
    """
    by_name = {str(each["name"]): each for each in volumes}
    mounted = set()
    for mount in mounts:
        name, path = str(mount["name"]), str(mount["mountPath"]).rstrip("/")
        mounted.add(name)
        shown = f"volumeMounts.{name}"
        volume = by_name.get(name)
        if volume is None:
            job.leave(shown, f"pod.volumes has no {name}")
        elif "persistentVolumeClaim" in volume:
            _claim(job, shown, volume["persistentVolumeClaim"], mount, path)
        elif "emptyDir" in volume:
            _scratch(job, shown, volume["emptyDir"] or {}, path)
        else:
            _leave(job, shown, volume)
    for name in sorted(by_name.keys() - mounted):
        job.leave(f"volumes.{name}", "the container does not mount it")


def _claim(job: Job, shown: str, claim: Mapping[str, Any], mount: Mapping[str, Any], path: str) -> None:
    name = volume_named(str(claim["claimName"]))
    if not name:
        job.leave(
            shown, f"{claim['claimName']!r} cannot be the name of a volume here: give --volume NAME:{path}"
        )
    elif mount.get("subPath") or mount.get("subPathExpr"):
        job.leave(
            shown, f"a volume is mounted whole: give --volume {name}:{path} and name the folder below it"
        )
    else:
        take_volume(job, shown, name, path, is_read_only=bool(mount.get("readOnly") or claim.get("readOnly")))


def _scratch(job: Job, shown: str, empty: Mapping[str, Any], path: str) -> None:
    is_memory = empty.get("medium") == "Memory"
    size = empty.get("sizeLimit")
    if path not in OWN_FOLDERS:
        job.leave(
            shown,
            f"nothing is mounted at {path}: scratch is the program's own folder and /tmp"
            + (f", --disk {size} keeps room for it" if size and not is_memory else ""),
        )
    elif is_memory != (path == SHARED_MEMORY):
        job.leave(
            shown, f"{SHARED_MEMORY} lies in main memory here, temporary folders on disk, not the other way"
        )
    elif size and not is_memory:
        # Said for all shares there, kept for each here. A limit of ephemeral storage there holds such volumes too.
        each = -(-quantity_mib(str(size)) // job.request.get("shares", 1))
        mib = max(job.request.get("scratch_disk_mib", 0), each)
        job.take(f"{shown} of {size}", scratch_disk_mib=mib)
    else:
        job.note(shown, f"work has its own {path}" + (", which counts as main memory" if is_memory else ""))


def _leave(job: Job, shown: str, volume: Mapping[str, Any]) -> None:
    kind = next((kind for kind in volume if kind != "name"), "")
    job.leave(shown, _WHY.get(kind, _UNKNOWN))
