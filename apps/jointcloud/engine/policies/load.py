"""Load aware, least cluster load first (JC-5f3, JC-6.6.2a)."""

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The fewer tasks run in a centre (JC-3.11), the better."""
    return -room.running


def figure_at(room: Room, spec_id: str, place: int) -> int:
    """The figure of one centre."""
    return -room.running.item(place)


LOAD = Policy("load", figures, figure_at)
