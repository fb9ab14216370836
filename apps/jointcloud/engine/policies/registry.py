"""All policies by their ID (JC-6.6.2-2). Another one is a file of its own and a line here."""

from __future__ import annotations

from apps.jointcloud.engine.policies.base import Policy
from apps.jointcloud.engine.policies.data import DATA
from apps.jointcloud.engine.policies.energy import ENERGY
from apps.jointcloud.engine.policies.fairness import FAIRNESS
from apps.jointcloud.engine.policies.fcfs import FCFS
from apps.jointcloud.engine.policies.idle import IDLE
from apps.jointcloud.engine.policies.load import LOAD
from apps.jointcloud.engine.policies.manual import MANUAL
from apps.jointcloud.engine.policies.network import NETWORK
from apps.jointcloud.engine.policies.performance import PERFORMANCE
from apps.jointcloud.engine.policies.price import PRICE
from apps.jointcloud.engine.policies.qos import QOS
from apps.jointcloud.engine.policies.security import SECURITY
from apps.jointcloud.engine.policies.topology import TOPOLOGY
from apps.jointcloud.engine.reasons import BadInput, Fault

POLICIES: dict[str, Policy] = {
    policy.id: policy
    for policy in (
        MANUAL,
        FCFS,
        LOAD,
        ENERGY,
        PRICE,
        NETWORK,
        DATA,
        QOS,
        IDLE,
        TOPOLOGY,
        PERFORMANCE,
        SECURITY,
        FAIRNESS,
    )
}


def policy_of(policy_id: str) -> Policy:
    """The policy of that ID; `BadInput` where there is none."""
    found = POLICIES.get(policy_id)
    if found is None:
        raise BadInput(Fault.POLICY_UNKNOWN, policy=policy_id, known=", ".join(sorted(POLICIES)))
    return found
