"""Manual (JC-5f1): the centre that a person named."""

import numpy as np

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """1 for a centre that is named for the task, 0 for others; where none is named all are equal."""
    named = ask.task.centre_ids
    return np.array([int(centre.id in named) for centre in factors.centres], np.int64)


MANUAL = Policy("manual", figures)
