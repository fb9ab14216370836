"""Fairness of the load (JC-6.6.2h): the least variance of the numbers of tasks over all centres."""

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The smaller the variance of running and waiting tasks would be with the task in a centre, the better.

    With r more in a centre that has n, the sum of the numbers is the same whichever it is, and the sum of their squares
    grows by 2nr + r²: the variance rises with n in a straight line, and -n gives the scores that it would.
    """
    return -(room.running + room.waiting)


def figure_at(room: Room, spec_id: str, place: int) -> int:
    """The figure of one centre."""
    return -(room.running.item(place) + room.waiting.item(place))


FAIRNESS = Policy("fairness", figures, figure_at)
