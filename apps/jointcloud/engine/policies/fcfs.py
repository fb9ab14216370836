"""First come, first served (JC-5f2): where the fewest tasks came before.

The order in which tasks are bound is the cycle's: priority, then first come. This is its half that chooses a centre.
"""

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The fewer tasks wait in a centre, the better."""
    return -room.waiting


FCFS = Policy("fcfs", figures)
