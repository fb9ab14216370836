"""Which test has which device: those that run at the same time never meet on one."""

import threading
import time
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

from apps.conformance.running.record import NotRun

Json = dict[str, Any]
Read = Callable[[], list[Json]]
_POLL_S = 0.4


class Leases:
    """The devices of the pool that are free of other people's work.

    Args:
        read: the pool's devices now, as the API tells them.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._taken: dict[str, str] = {}
        self._lock = threading.Lock()

    def take(
        self,
        holder: str,
        *,
        count: int = 1,
        nodes: int = 1,
        fits: Callable[[Json], bool] = lambda _device: True,
        patience_s: float = 900,
    ) -> list[Json]:
        """Devices for a test alone, on at least so many different nodes, spread as evenly as it goes.

        Raises NotRun where the pool can never give them, or not within the time.
        """
        until_s = time.monotonic() + patience_s
        while True:
            usable = [row for row in self._read() if is_usable(row) and fits(row)]
            if choose(usable, count, nodes) is None:
                raise NotRun(_lack(usable, count, nodes))
            with self._lock:
                free = [row for row in usable if row["uid"] not in self._taken and not row["held_percent"]]
                chosen = choose(free, count, nodes)
                if chosen is not None:
                    self._taken.update({row["uid"]: holder for row in chosen})
                    return chosen
            if time.monotonic() > until_s:
                raise NotRun(f"{_lack(free, count, nodes)}; the others were in use for {patience_s:.0f} s")
            time.sleep(_POLL_S)

    def give_back(self, holder: str) -> None:
        """What this test had is free again."""
        with self._lock:
            self._taken = {uid: name for uid, name in self._taken.items() if name != holder}

    def held_by(self, holder: str) -> list[str]:
        with self._lock:
            return [uid for uid, name in self._taken.items() if name == holder]


def is_usable(device: Json) -> bool:
    """Whether work can be put on it at all."""
    is_open = device.get("node_state", "ready") == "ready" and not device.get("is_leaving")
    return bool(device["is_enabled"] and device["health"] != "failed" and is_open and not device.get("group"))


def choose(devices: Iterable[Json], count: int, nodes: int) -> list[Json] | None:
    """`count` devices from so many nodes, real ones before simulated ones; None where there are too few."""
    by_node: dict[str, list[Json]] = {}
    for device in sorted(devices, key=lambda row: (row["node"], row["index"])):
        by_node.setdefault(device["node"], []).append(device)
    ranked = sorted(
        by_node.values(), key=lambda group: (any(row["is_simulated"] for row in group), -len(group))
    )
    groups = next((part for part in combinations(ranked, nodes) if sum(map(len, part)) >= count), None)
    if groups is None:
        return None
    chosen: list[Json] = []
    while len(chosen) < count:
        for group in groups:
            if group and len(chosen) < count:
                chosen.append(group.pop(0))
    return chosen


def _lack(devices: list[Json], count: int, nodes: int) -> str:
    there = len({row["node"] for row in devices})
    wanted = f"{count} device{'s' * (count > 1)} on {nodes} node{'s' * (nodes > 1)}"
    return f"needs {wanted}, and the pool has {len(devices)} on {there} that fit"
