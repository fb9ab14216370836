"""Holds one work to its share of compute and memory, and measures what it really gets."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from dataclasses import replace
from pathlib import Path

from node_agent.runtime.limits.cgroup import Cgroup
from node_agent.runtime.limits.cgroup_v1 import CgroupV1
from node_agent.runtime.records.meter import NS
from node_agent.runtime.records.slice_records import ShimState, SliceSpec
from node_agent.runtime.shim.measures.device_meter import DeviceMeter
from node_agent.runtime.shim.measures.idle import IdleWatch
from node_agent.runtime.shim.programs.workload_process import Work
from node_agent.runtime.shim.sharing.device_sharing import PeerUsage, compute_rate, memory_room
from node_agent.runtime.shim.sharing.throttle import BURST_S, STEP_MAX_S, STEP_MIN_S, Throttle
from node_agent.runtime.shim.sharing.turns import turn_of
from node_agent.runtime.shim.sharing.use import Use, cores_parted, memory_parted
from node_agent.turn import PERIOD_S, Turn

WINDOW = 6
PEERS_NS = NS
_BUSY_NS = NS


class Share:
    """Compute and memory of one running work. Limits on compute begin with `begin`.

    `compute_percent` and `memory_mib` are its share of the device; `limit_percent` and `limit_mib` what it is held to,
    which is more by what was asked of the host where the device is the processor, and that alone on the host alone.
    `turn` is when it may run on a card that others have too (None: at any time).
    `quota_mib` is what a session may hold at this moment: its limit, or less on a device that is full.
    """

    def __init__(
        self,
        spec: SliceSpec,
        work: Work,
        device_meter: DeviceMeter,
        group: Cgroup | CgroupV1 | None,
        now_ns: int,
    ) -> None:
        self._spec, self._work, self._device_meter, self._group = spec, work, device_meter, group
        self.compute_percent, self.memory_mib = spec.compute_percent, spec.memory_mib
        self.limit_percent, self.limit_mib = spec.limit_percent, spec.limit_mib
        self.quota_mib = spec.memory_mib
        self.memory_used_mib = 0
        self._rate_percent: float = spec.compute_percent
        self._cores_used: float | None = None
        self._device_percent: float | None = None
        self.is_begun = self.is_mounted = False
        self._start_cpu_s = self._held_percent = 0.0
        self.idle = IdleWatch(now_ns)
        self.peer_usage = (
            PeerUsage(Path(spec.peer_usage_dir), spec.slice_uid) if spec.peer_usage_dir else None
        )
        self._peers_at_ns = 0
        self._has_little = False
        self._throttle: Throttle | None = None
        self.turn: Turn | None = None
        self._samples: deque[tuple[int, float, float]] = deque(maxlen=WINDOW)
        self._running_ns, self._stepped_ns, self._may_run = 0, now_ns, True

    def begin(self, now_ns: int) -> None:
        """Hold compute from now on: a session's server first starts on the node's account."""
        self.is_begun = True
        self._start_cpu_s = self._work.cpu_seconds()
        if self._group is not None:
            self._hold_compute(self.limit_percent)
        elif self._spec.is_throttled:
            is_cpu = self._device_meter.is_cpu
            speed = (os.cpu_count() or 1) / self._spec.cores if is_cpu else 1.0
            self._throttle = Throttle(
                self.limit_percent,
                speed=speed,
                now_s=now_ns / NS,
                used_s=self._used_s(),
                # Between two turns nothing is used.
                burst_s=BURST_S if is_cpu else 2 * PERIOD_S,
            )

    def step(self, now_ns: int) -> float:
        """Let the work run or wait; returns the seconds until the next step."""
        self._running_ns += (now_ns - self._stepped_ns) if self._may_run else 0
        self._stepped_ns = now_ns
        if self._throttle is None:
            return STEP_MAX_S
        verdict = self._throttle.step(now_ns / NS, self._used_s())
        self._may_run, wait_s = verdict.may_run, verdict.ask_again_s
        if self.turn is not None:
            self._may_run = verdict.may_run and self.turn.may_run(now_ns / NS)
            wait_s = min(wait_s, max(self.turn.left_s(now_ns / NS), STEP_MIN_S))
        self._work.pause(not self._may_run)
        return wait_s

    def look(self, now_ns: int) -> None:
        """Measure memory and use; share the device with others where too much of it was promised."""
        cpu_s = self._work.cpu_seconds()
        self.memory_used_mib = self._work.memory_mib(self.limit_mib)
        self.idle.see(now_ns, self._device_meter.active_s(self._work.pids, cpu_s))
        if self.is_begun and not self.is_mounted:
            self.is_mounted = self._device_meter.is_mounted(self._work.pids, cpu_s)
        if self.peer_usage is not None and (self._has_little or now_ns >= self._peers_at_ns):
            self._peers_at_ns = now_ns + PEERS_NS
            self._share_device(self.peer_usage, now_ns)

    @property
    def cpu_s(self) -> float:
        """CPU seconds on the slice's own account."""
        return self._work.cpu_seconds() - self._start_cpu_s if self.is_begun else 0.0

    def let_go(self) -> None:
        """Hold compute no more: the work is one of ours and is ending."""
        self._throttle = None
        self._work.pause(False)

    @property
    def has_exceeded_memory(self) -> bool:
        """Whether the shim has to end the work; the kernel, the worker or a library may hold it sooner."""
        is_watched = self._group is None and not self._spec.is_session
        return is_watched and self.memory_used_mib > self.limit_mib

    def measure(self, now_ns: int) -> None:
        """Take a sample of device and processor time used; of what a card or its own service holds nothing is known
        here."""
        if not self.is_begun:
            return
        is_known = not self._is_held_elsewhere
        self._samples.append((now_ns, self._used_s() if is_known else 0.0, self.cpu_s))
        (first_ns, first_s, first_cpu_s), (last_ns, last_s, last_cpu_s) = self._samples[0], self._samples[-1]
        if last_ns > first_ns:
            span_s = (last_ns - first_ns) / NS
            self._device_percent = 100 * (last_s - first_s) / span_s if is_known else None
            self._cores_used = (last_cpu_s - first_cpu_s) / span_s

    def tell(self, state: ShimState) -> None:
        """What it uses, as last measured, of its device and of what it asked of its host."""
        spec, use = self._spec, Use(self._device_percent, self._cores_used, self.memory_used_mib)
        if spec.host_memory_mib and not (spec.added_mib or spec.is_on_host):
            main_mib = self._work.main_memory_mib(spec.host_memory_mib)
            # Where the device is main memory itself, its share is no part of what is beside it.
            use = replace(use, main_mib=main_mib - (self.memory_used_mib if self._device_meter.is_cpu else 0))
        state.delivered_percent, state.host_cpu_used_milli = cores_parted(spec, use, self._rate_percent)
        state.memory_used_mib, state.host_memory_used_mib = memory_parted(spec, use, self.memory_mib)
        state.mounted = self.is_mounted

    @property
    def _is_held_elsewhere(self) -> bool:
        """Whether neither this process nor a session's worker holds its compute."""
        return not (self._device_meter.is_cpu or self._spec.is_throttled or self._spec.is_session)

    def resize(self, compute_percent: int, memory_mib: int) -> str:
        """Change the limits of the running work; returns why not, and then the old limits stay."""
        if refusal := self._in_use(memory_mib):
            return refusal
        before = (self.compute_percent, self.memory_mib)
        try:
            self._limit(compute_percent, memory_mib)
            refusal = self._in_use(memory_mib)
        except OSError as error:
            refusal = f"the kernel refused: {error.strerror}"
        if refusal:
            self._limit(*before)
        return refusal

    def _in_use(self, memory_mib: int) -> str:
        limit_mib = memory_mib + self._spec.added_mib
        if memory_mib >= self.memory_mib and limit_mib >= self.memory_used_mib:
            return ""
        used_mib = self._work.memory_mib(limit_mib)
        if used_mib <= limit_mib:
            return ""
        return f"{used_mib} MiB are in use and {limit_mib} MiB asked: free memory in the work first"

    def _limit(self, compute_percent: int, memory_mib: int) -> None:
        limit_mib, limit_percent = (
            memory_mib + self._spec.added_mib,
            compute_percent + self._spec.added_percent,
        )
        if self._group is not None and not self._spec.is_session:
            self._group.limit_memory(limit_mib)
        self._work.limit_memory(limit_mib, None)
        self._hold_compute(limit_percent)
        self.compute_percent, self.memory_mib, self.quota_mib = compute_percent, memory_mib, memory_mib
        self.limit_percent, self.limit_mib, self._rate_percent = limit_percent, limit_mib, compute_percent
        self._peers_at_ns, self._has_little = 0, False

    def _hold_compute(self, percent: float) -> None:
        """Hold the work to this share from now on. Raises OSError."""
        if self._throttle is not None:
            self._throttle.resize(percent)
        elif self._group is not None and self.is_begun and percent != self._held_percent:
            self._group.limit_compute(percent, self._spec.cores)
            self._held_percent = percent

    def _share_device(self, peer_usage: PeerUsage, now_ns: int) -> None:
        # What it has beside its share is its own: only what is beyond that is the device's to give.
        beside_mib = min(self.memory_used_mib, self._spec.added_mib)
        used_mib = self.memory_used_mib - beside_mib
        peer_usage.post(
            compute_percent=self.compute_percent,
            memory_mib=self.memory_mib,
            used_mib=used_mib,
            is_busy=now_ns - self.idle.last_use_ns < _BUSY_NS,
        )
        others = peer_usage.others()
        if not self._device_meter.is_cpu and peer_usage.posted is not None:
            self.turn = turn_of(peer_usage.posted, others)
        with contextlib.suppress(OSError):
            # Refused by the kernel: the share as it was is held on.
            rate_percent = compute_rate(self.compute_percent, others)
            self._hold_compute(rate_percent + self._spec.added_percent)
            self._rate_percent = rate_percent
        room_mib = memory_room(self.memory_mib, used_mib, self._spec.device_memory_mib, others)
        if room_mib is not None or self._has_little:
            beside_left_mib = self._spec.added_mib - beside_mib
            self._work.limit_memory(self.limit_mib, None if room_mib is None else room_mib + beside_left_mib)
        self._has_little = room_mib is not None
        self.quota_mib = self.memory_mib if room_mib is None else used_mib + room_mib

    def _used_s(self) -> float:
        return self._work.used_s(self._work.cpu_seconds(), self._running_ns / NS)
