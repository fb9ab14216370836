"""Metrics on their way from the shim, which reads them, to the agent, which sends them: numbered files, each a batch.

The shim adds the next, the agent deletes what the server has. Where the agent falls behind, or the server is away, the
shim reads no more for a while: what the work wrote waits where it was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from node_agent.files import write_json
from node_agent.protocol.metric_bounds import POINTS_PER_BATCH
from node_agent.runtime.metrics.points import Point

WAITING_MOST = 16
_SUFFIX = ".json"


class MetricsSpool:
    """The batches of one slice, in a folder of the agent's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._next = 1

    @property
    def has_room(self) -> bool:
        return len(batch_numbers(self._folder)) < WAITING_MOST

    def add(self, points: Iterable[Point]) -> None:
        """Put points on their way. Raises OSError: those are lost."""
        batch: list[dict[str, Any]] = []
        room = POINTS_PER_BATCH
        for name, left in _by_name(points).items():
            while left:
                batch.append(_series(name, left[:room]))
                left, room = left[room:], room - len(left[:room])
                if not room:
                    self._write(batch)
                    batch, room = [], POINTS_PER_BATCH
        if batch:
            self._write(batch)

    def _write(self, series: list[dict[str, Any]]) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        write_json(batch_path(self._folder, self._next), {"series": series}, durable=False)
        self._next += 1


def batch_numbers(folder: Path) -> list[int]:
    """The batches on their way, the oldest first."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return []
    stems = (name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def batch_path(folder: Path, number: int) -> Path:
    """Where a batch lies."""
    return folder / f"{number}{_SUFFIX}"


def _by_name(points: Iterable[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(point.name, []).append(point)
    return found


def _series(name: str, points: list[Point]) -> dict[str, Any]:
    return {
        "name": name,
        "steps": [point.step for point in points],
        "values": [point.value for point in points],
        "times": [round(point.at, 3) for point in points],
    }
