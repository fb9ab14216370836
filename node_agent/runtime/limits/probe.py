"""Whether this node lets us write control groups."""

from __future__ import annotations

import os

from node_agent.runtime.limits.cgroup import Cgroup, cgroup_make
from node_agent.runtime.limits.cgroup_v1 import CgroupV1, cgroup_v1_make

_TRIED_MIB = 64


def host_held_by() -> str:
    """What holds the host beside a card on this node, found out by trying: the version of its control groups, "" where
    nobody lets us write some."""
    name = f"probe-{os.getpid()}"
    group: Cgroup | CgroupV1 | None = cgroup_make(name) or cgroup_v1_make(name)
    if group is None:
        return ""
    try:
        group.limit_memory(_TRIED_MIB)
        group.limit_cores(1)
    except OSError:
        return ""
    finally:
        group.remove()
    return group.version
