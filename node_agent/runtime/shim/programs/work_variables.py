"""The environment variables of work: what it is told of its share, its surroundings and the others of its gang."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from node_agent.files import OUTPUTS
from node_agent.runtime.packages import installer
from node_agent.runtime.records.slice_records import SliceSpec
from node_agent.runtime.shim.checkpoint import checkpoint_environment
from node_agent.runtime.shim.elastic_size import meeting_environment, size_environment
from node_agent.runtime.shim.measures.metrics import metrics_environment

# Scripts find the `python` that programs of that name are run by.
_PATH = f"{os.path.dirname(sys.executable)}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Where images have programs, if they say nothing of it.
_IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment(spec: SliceSpec, home: Path) -> dict[str, str]:
    """All the work may know of its surroundings; what identifies and limits the slice cannot be overridden.

    A session runs our own program: nothing of the tenant's reaches its environment.
    """
    threads = str(spec.threads)
    thread_counts = {f"{name}_NUM_THREADS": threads for name in ("OMP", "OPENBLAS", "MKL")}
    own = {
        "HOME": str(home),
        "WEIR_SLICE": spec.slice_uid,
        "WEIR_COMPUTE_PERCENT": str(spec.compute_percent),
        "WEIR_MEMORY_MIB": str(spec.memory_mib),
    }
    if spec.host_cpu_milli:
        own["WEIR_HOST_CPU_MILLI"] = str(spec.host_cpu_milli)
    if spec.host_memory_mib:
        own["WEIR_HOST_MEMORY_MIB"] = str(spec.host_memory_mib)
    if spec.has_scratch_disk:
        own["WEIR_SCRATCH_DISK_MIB"] = str(spec.disk_mib)
    meeting: dict[str, str] = {}
    if spec.size is not None:
        own |= size_environment(spec.size, home)
        meeting = meeting_environment(spec.size, spec.interface)
    if not spec.is_session:
        own |= checkpoint_environment(home) | metrics_environment(home)
    if spec.has_outputs:
        own["WEIR_OUTPUTS"] = str(home / OUTPUTS)
    if spec.image is not None:
        told = {"PATH": _IMAGE_PATH, "LANG": "C.UTF-8", **thread_counts, **meeting, **spec.image["env"]}
        return told | spec.env | spec.secrets | own | spec.driver_env
    defaults = {"PATH": _PATH, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", **thread_counts, **meeting}
    if spec.lib_dir:
        defaults["PYTHONPATH"] = spec.lib_dir
    return defaults | ({} if spec.is_session else spec.env | spec.secrets) | own | spec.driver_env


def packaged(env: dict[str, str]) -> dict[str, str]:
    """The variables by which a program finds the packages that were installed for it, before all others."""
    first = {"PYTHONPATH": installer.PYTHON, "PATH": installer.PROGRAMS}
    return {name: f"{path}:{env[name]}" if env.get(name) else path for name, path in first.items()}
