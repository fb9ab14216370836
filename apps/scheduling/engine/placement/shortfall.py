"""How many shares the rooms of servers take together, and the reason where that is too few."""

from __future__ import annotations

from collections.abc import Sequence

from apps.scheduling.engine.model.types import Reason, ReasonCode
from apps.scheduling.engine.resources.shapes import Shape


def together(rooms: Sequence[int], shape: Shape) -> int:
    """Of rooms in shares, a server each: the best one where all are on one node, else all whole replicas."""
    if shape.single_node:
        return max(rooms, default=0)
    return sum(count - count % shape.shares_per_replica for count in rooms)


def short_of_room(rooms: Sequence[int], shape: Shape, devices: int) -> Reason:
    """The reason where the servers take a share, and not all that are asked."""
    per = shape.shares_per_replica
    if per == 1:
        code = ReasonCode.COUNT_ON_ONE_NODE if shape.single_node else ReasonCode.COUNT
        return short(code, shape.shares, together(rooms, shape), devices)
    best = max(rooms, default=0)
    if best < per:
        return short(ReasonCode.REPLICA, per, best, devices)
    fit = together(rooms, shape) // per
    params = (("asked", shape.shares // per), ("free", fit), ("each", per), ("devices", devices))
    return Reason(ReasonCode.REPLICAS, params)


def short(code: ReasonCode, asked: int, free: int, devices: int) -> Reason:
    """So much is asked, and less is free on so many devices."""
    return Reason(code, (("asked", asked), ("free", max(0, free)), ("devices", devices)))
