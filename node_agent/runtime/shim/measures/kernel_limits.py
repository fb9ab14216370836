"""What control groups hold of one work: its share, where its device is the processor, with what it has of the host
beside it; else what it has of the host by itself."""

from __future__ import annotations

import os
from dataclasses import dataclass

from node_agent.runtime import proc
from node_agent.runtime.limits.cgroup import Cgroup, cgroup_make
from node_agent.runtime.limits.cgroup_v1 import CgroupV1, cgroup_v1_make
from node_agent.runtime.proc import SharedMemory
from node_agent.runtime.records.slice_records import ShimState, SliceSpec
from node_agent.runtime.shim import ending
from node_agent.runtime.shim.ending import End
from node_agent.runtime.shim.measures.device_meter import DeviceMeter

WATCH, NOTHING, BESIDE = "watch", "nothing", "share+watch"
"""How the host is held where no control group of its own does: main memory alone is watched, nothing is held, or the
processor is held as one with the share and main memory is watched for both."""


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What one work may use of its host, in thousandths of a core and MiB (0: not limited). Without a control group
    main memory is watched, and nothing holds the processor. `share_mib` is the share of a session whose device is the
    processor: it lies in main memory, is held by the session's worker, and may be there besides; 0: nothing is."""

    cpu_milli: int
    memory_mib: int
    group: Cgroup | CgroupV1 | None
    share_mib: int = 0

    @property
    def enforced_by(self) -> str:
        """What holds it, as a word."""
        if self.share_mib:
            return BESIDE
        return self.group.version if self.group is not None else WATCH if self.memory_mib else NOTHING

    def describe(self) -> str:
        """What holds it, for the work's log."""
        if self.share_mib:
            return f"{self.memory_mib} MiB of main memory of the host beside its share, which is watched"
        wanted = [f"{self.cpu_milli / 1000:g} cores"] if self.cpu_milli else []
        wanted += [f"{self.memory_mib} MiB of main memory"] if self.memory_mib else []
        if self.group is not None:
            return f"{' and '.join(wanted)} of the host, held by {self.group.version}"
        return f"{' and '.join(wanted)} of the host; this node lets nobody write control groups: " + (
            "main memory is watched, the processor is not held" if self.memory_mib else "nothing holds them"
        )

    def end(self, pids: list[int], shared: SharedMemory | None, kills_before: int = 0) -> End | None:
        """Why the work has to end; None: it need not. A control group lets none of it live on without the part that
        the kernel has killed; `kills_before` were of a program before this one."""
        if not self.memory_mib:
            return None
        if self.group is not None:
            is_over = self.group.memory_kills() > kills_before
        else:
            # What the worker has taken of the share is written down after it is there: all of it may be.
            limit_mib = self.memory_mib + self.share_mib
            is_over = proc.memory_mib(pids, limit_mib=limit_mib, shared=shared) > limit_mib
        return ending.out_of_host_memory(self.memory_mib) if is_over else None

    def remove(self) -> None:
        if self.group is not None:
            self.group.remove()


@dataclass(slots=True)
class KernelLimits:
    """The control groups of one work: of its share, and of its host beside a share that is not the host's."""

    share: Cgroup | CgroupV1 | None = None
    host: HostLimits | None = None

    def take(self, spec: SliceSpec, device_meter: DeviceMeter, state: ShimState) -> None:
        """Make what the kernel lets us make; the state says who enforces what. Raises OSError."""
        if device_meter.is_cpu:
            name = f"{spec.slice_uid}-{os.getpid()}"
            self.share = cgroup_make(name) or (cgroup_v1_make(name) if spec.image else None)
        if self.share is not None and device_meter.holds_data:
            self.share.limit_memory(spec.limit_mib)
        holder = self.share.version if self.share is not None else ""
        memory_holder = holder if device_meter.holds_data else ""
        state.memory_enforced_by = memory_holder or spec.memory_enforced_by or device_meter.memory_enforced_by
        state.compute_enforced_by = holder or spec.compute_enforced_by or device_meter.compute_enforced_by
        self.host = host_limits_make(spec, device_meter)
        # Held as one with the share, who holds that holds it.
        state.host_enforced_by = self.host.enforced_by if self.host is not None else ""

    def remove(self) -> None:
        """End what is left in them and take them away."""
        for held in (self.share, self.host):
            if held is not None:
                held.remove()


def host_limits_make(spec: SliceSpec, device_meter: DeviceMeter) -> HostLimits | None:
    """For work that asked for some of its host. Where the device is the processor, that is held as one with the share;
    but for a session, whose worker holds the share, so that main memory is watched for both."""
    if device_meter.is_cpu:
        is_beside = spec.is_session and spec.host_memory_mib
        return HostLimits(0, spec.host_memory_mib, None, spec.limit_mib) if is_beside else None
    if not (spec.host_cpu_milli or spec.host_memory_mib):
        return None
    name = f"{spec.slice_uid}-{os.getpid()}-host"
    group: Cgroup | CgroupV1 | None = cgroup_make(name) or cgroup_v1_make(name)
    try:
        if group is not None and spec.host_memory_mib:
            group.limit_memory(spec.host_memory_mib)
        if group is not None and spec.host_cpu_milli:
            group.limit_cores(spec.host_cpu_milli / 1000)
    except OSError:
        if group is not None:
            group.remove()
        group = None
    return HostLimits(spec.host_cpu_milli, spec.host_memory_mib, group)
