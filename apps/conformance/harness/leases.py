"""Which test has which device: those that run at the same time never meet on one."""

import threading
import time
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

from apps.conformance.harness.record import NotRun

Json = dict[str, Any]
Read = Callable[[], list[Json]]
# Of all devices that fit, and of those that are free, the ones to take.
Pick = Callable[[list[Json], list[Json]], list[Json] | None]
PATIENCE_S = 900.0
_POLL_S = 0.5


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
        patience_s: float = PATIENCE_S,
    ) -> list[Json]:
        """Devices for a test alone, on at least so many different nodes, spread as evenly as it goes.

        Where the pool could give real ones they are waited for: what a test runs on is no matter of luck.

        Raises NotRun where the pool can never give them, or not within the time.
        """

        def pick(usable: list[Json], free: list[Json]) -> list[Json] | None:
            can_be_real = choose(_real(usable), count, nodes) is not None
            return choose(_real(free) if can_be_real else free, count, nodes)

        return self._take(holder, pick, fits, (count, nodes), patience_s)

    def take_node(self, holder: str, *, nodes: int, patience_s: float = PATIENCE_S) -> list[Json]:
        """All devices of one node of a pool that has at least so many nodes, a small one of real devices first.

        Raises NotRun where the pool has fewer, or none free within the time.
        """

        def pick(usable: list[Json], free: list[Json]) -> list[Json] | None:
            groups = list(_by_node(_real(usable) or usable).values())
            is_large_enough = len(_by_node(usable)) >= nodes
            free_uids = {row["uid"] for row in free}
            ranked = sorted(groups, key=len) if is_large_enough else []
            return next((group for group in ranked if {row["uid"] for row in group} <= free_uids), None)

        return self._take(holder, pick, lambda _device: True, (nodes, nodes), patience_s)

    def _take(
        self,
        holder: str,
        pick: Pick,
        fits: Callable[[Json], bool],
        wanted: tuple[int, int],
        patience_s: float,
    ) -> list[Json]:
        """What `pick` chooses of the free ones, waited for as long as it could choose of all."""
        until_s = time.monotonic() + patience_s
        while True:
            usable = [row for row in self._read() if self._is_usable(row) and fits(row)]
            if pick(usable, usable) is None:
                raise NotRun(_lack(usable, *wanted))
            with self._lock:
                free = [row for row in usable if row["uid"] not in self._taken and not row["held_percent"]]
                chosen = pick(usable, free)
                if chosen is not None:
                    self._taken.update({row["uid"]: holder for row in chosen})
                    return chosen
            if time.monotonic() > until_s:
                raise NotRun(f"{_lack(free, *wanted)}; the others were in use for {patience_s:g} s")
            time.sleep(_POLL_S)

    def _is_usable(self, device: Json) -> bool:
        """What a test of this run has now, in a group or switched off, is there again when the test is over."""
        with self._lock:
            return device["uid"] in self._taken or is_usable(device)

    def give_back(self, holder: str) -> None:
        """What this test had is free again."""
        with self._lock:
            self._taken = {uid: name for uid, name in self._taken.items() if name != holder}

    def device_uids_of(self, holder: str) -> list[str]:
        with self._lock:
            return [uid for uid, name in self._taken.items() if name == holder]


def is_usable(device: Json) -> bool:
    """Whether work can be put on it at all."""
    is_open = device.get("node_state", "ready") == "ready" and not device.get("is_leaving")
    return bool(device["is_enabled"] and device["health"] != "failed" and is_open and not device.get("group"))


def choose(devices: Iterable[Json], count: int, nodes: int) -> list[Json] | None:
    """`count` devices from so many nodes, real ones before simulated ones; None where there are too few."""
    ranked = sorted(
        _by_node(devices).values(), key=lambda group: (any(row["is_simulated"] for row in group), -len(group))
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


def _by_node(devices: Iterable[Json]) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for device in sorted(devices, key=lambda row: (row["node"], row["index"])):
        found.setdefault(device["node"], []).append(device)
    return found


def _real(devices: Iterable[Json]) -> list[Json]:
    return [row for row in devices if not row["is_simulated"]]


def _lack(devices: list[Json], count: int, nodes: int) -> str:
    there = len({row["node"] for row in devices})
    wanted = f"{count} device{'s' * (count > 1)} on {nodes} node{'s' * (nodes > 1)}"
    return f"needs {wanted}, and the pool has {len(devices)} on {there} that fit"
