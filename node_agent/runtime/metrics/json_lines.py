"""Metrics as lines of JSON: `{"step": 3, "loss": 0.5}`, with `time` in seconds since 1970 where it is record."""

from __future__ import annotations

import json
from collections.abc import Iterator

from node_agent.protocol.metric_bounds import LINE_BYTES
from node_agent.runtime.metrics.points import Point, point_make

_OWN = ("step", "time")


class JsonLines:
    """Reads such a file as it grows: a line that is none costs only itself, one without end only what is read of it."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_skipping = False

    def take(self, data: bytes) -> list[Point]:
        """The points of what was appended."""
        found: list[Point] = []
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not self._is_skipping and len(line) <= LINE_BYTES:
                found.extend(_points(line))
            self._is_skipping = False
        if len(self._rest) > LINE_BYTES:
            self._rest, self._is_skipping = b"", True
        return found


def _points(line: bytes) -> Iterator[Point]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(record, dict):
        return
    for name, value in record.items():
        point = point_make(name, record.get("step"), value, record.get("time")) if name not in _OWN else None
        if point is not None:
            yield point
