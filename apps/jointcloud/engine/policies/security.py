"""Highest security first (JC-6.6.2g)."""

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The higher a centre's security grade, the better."""
    return factors.each("grade", lambda centre: centre.security_grade)


SECURITY = Policy("security", figures)
