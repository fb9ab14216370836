"""Data aware (JC-5f7): where the data is. What may not move is the filter's concern, which leaves its centres alone."""

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The fewer bytes of the task's data a centre lacks, the better."""
    return -factors.missing_bytes(ask.task.data_ids)


DATA = Policy("data", figures)
