"""Affinity of the data topology (JC-6.6.2c): a distributed job's tasks near each other."""

import numpy as np

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import UNKNOWN, Row


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The smaller the sum of the distances to the job's other replicas, the better; equal where there are none, or the
    job is not distributed."""
    if is_level(ask):
        return np.zeros(len(factors.centres), np.int64)
    away, unknown = factors.away(ask.siblings)
    return -away if unknown is None else np.where(unknown, UNKNOWN, -away)


def is_level(ask: Ask) -> bool:
    """Whether there is nothing to be near to."""
    return not ask.siblings or not ask.job.is_distributed


TOPOLOGY = Policy("topology", figures, moves=True, is_level=is_level)
