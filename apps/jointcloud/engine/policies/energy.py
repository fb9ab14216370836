"""Energy aware, lowest energy loss first (JC-5f4, JC-6.6.2e)."""

import numpy as np

from apps.jointcloud.engine.energy import steady_joules
from apps.jointcloud.engine.factors import Ask, Factors
from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.room import Room
from apps.jointcloud.engine.scores import UNKNOWN, Row
from apps.jointcloud.engine.types import MOST


def figures(factors: Factors, room: Room, ask: Ask) -> Row:
    """The fewer joules of formula 1 a replica takes, the better: static power while its data is copied, then the power
    of its execution. Unknown where a power or the time of the copy is."""
    task = ask.task
    static, executing = (factors.power(name, task.spec_id) for name in ("static_w", "executing_w"))
    copying = factors.transfer_s(task.data_ids)
    # What needs no copy needs no static power either.
    unknown = (copying == UNKNOWN) | (executing == UNKNOWN) | ((static == UNKNOWN) & (copying != 0))
    joules = steady_joules(
        np.where(unknown | (static == UNKNOWN), 0, static),
        np.where(unknown, 0, copying),
        np.where(unknown, 0, executing),
        factors.duration_s(task),
    )
    return np.where(unknown, UNKNOWN, -np.minimum(joules, MOST))


ENERGY = Policy("energy", figures)
