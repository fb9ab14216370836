"""Highest performance first (JC-6.6.2f): by the figure of the benchmark job that ran through the centre's adapter."""

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The higher the figure of the task's specification in a centre, the better."""
    return factors.offered("performance", ask.task.spec_id)


PERFORMANCE = Policy("performance", figures)
