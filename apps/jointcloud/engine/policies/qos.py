"""QoS and QoE (JC-5f8): where the demands of the task are met."""

import numpy as np

from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import UNKNOWN, Row

MOST_MISSED = 10_000
"""Ten times a bound missed is as bad as any more."""


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """How far the bounds on latency and end are missed, in permille of each: the less the better, and 0 where all is
    met. The end is expected after the centre's wait, the copy of the data and the run; a centre whose wait is not
    told is taken to have none. Unknown where a bounded figure is."""
    missed = np.zeros(len(factors.centres), np.int64)
    task = ask.task
    if task.latency_us is not None:
        missed = _missed(factors.latency_us(), task.latency_us)
    if task.deadline_s is not None:
        wait = factors.each("wait", lambda centre: centre.expected_wait_s or 0)
        copying = factors.transfer_s(task.data_ids)
        ends = np.where(copying == UNKNOWN, UNKNOWN, copying + wait + factors.duration_s(task))
        late = _missed(ends, max(1, task.deadline_s - factors.now))
        missed = np.where((missed == UNKNOWN) | (late == UNKNOWN), UNKNOWN, missed + late)
    return missed


def _missed(figure: Row, bound: int) -> Row:
    beyond = np.minimum(np.maximum(figure, bound) - bound, 10 * bound)
    # In permille, rounded up: a bound that is missed by little is missed.
    permille = np.minimum(-(-beyond * 1000 // bound), MOST_MISSED)
    return np.where(figure == UNKNOWN, UNKNOWN, -permille)


QOS = Policy("qos", figures)
