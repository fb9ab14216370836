"""Price aware, lowest price first (JC-5f5, JC-6.6.2d)."""

import numpy as np

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import UNKNOWN, Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The lower the price of the task's specification in a centre, the better."""
    price = factors.price(ask.task.spec_id)
    return np.where(price == UNKNOWN, UNKNOWN, -price)


PRICE = Policy("price", figures)
