"""When a work last used its device. Pure."""

from __future__ import annotations

from node_agent.runtime.records.meter import NS

USE_SHARE = 0.002
USE_BURST_S = 0.002


class IdleWatch:
    """Tells use from the rustle of a waiting process.

    A work uses its device when it takes more than 0.2 % of it, beyond a burst of 2 ms: what leaks away at
    that rate is a timer or a heartbeat. Even a share of 1 % in full use is five times as much.
    """

    def __init__(self, now_ns: int) -> None:
        self.last_use_ns = now_ns
        self._seen_ns, self._used_s, self._level_s = now_ns, 0.0, 0.0

    def see(self, now_ns: int, used_s: float) -> None:
        """Account for the device seconds used since the start."""
        leaked_s = USE_SHARE * (now_ns - self._seen_ns) / NS
        level_s = max(self._level_s - leaked_s, 0.0) + max(used_s - self._used_s, 0.0)
        if level_s > USE_BURST_S:
            self.last_use_ns = now_ns
        self._level_s = min(level_s, USE_BURST_S)
        self._seen_ns, self._used_s = now_ns, used_s
