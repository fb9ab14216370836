"""Whether this node can run work in container images: found out by looking, told to the server and to operators."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass

from node_agent.runtime.containers.bundle import RUNTIME
from node_agent.runtime.isolation import seccomp
from node_agent.runtime.isolation.levels import Isolation

UNPACKER = "umoci"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Containers:
    """`architecture`: for which machine images must be that run here; "" where none runs, and `problem` says why."""

    architecture: str = ""
    problem: str = ""

    @property
    def sentence(self) -> str:
        """What an operator is told at the agent's start."""
        if self.architecture:
            return f"work with a container image runs by {RUNTIME}, from images for {self.architecture}"
        return f"work with a container image is not run here: {self.problem}"


def containers_find(isolation: Isolation) -> Containers:
    """Images run where the agent is root, and the kernel gives namespaces and a filter of its calls: each work is a
    user of its own in them."""
    missing = [name for name in (RUNTIME, UNPACKER) if not shutil.which(name)]
    if missing:
        return Containers(problem=f"{' and '.join(missing)} cannot be found: install it")
    if os.geteuid() != 0 or not isolation.has_user or isolation.level != "namespaces":
        return Containers(problem="the agent must be root, on a kernel that gives namespaces")
    if problem := seccomp.problem():
        return Containers(problem=f"images come from anywhere, and {problem}")
    found = _ARCHITECTURES.get(platform.machine(), "")
    return Containers(found, "" if found else f"images for {platform.machine()} are not known")
