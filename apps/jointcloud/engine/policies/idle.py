"""Idle specification first (JC-6.6.2b)."""

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The more of the task's specification a centre has room for, the better."""
    return room.slots(ask.task.spec_id)


def figure_at(room: Room, spec_id: str, place: int) -> int:
    """The figure of one centre."""
    return room.slots(spec_id).item(place)


IDLE = Policy("idle", figures, figure_at)
