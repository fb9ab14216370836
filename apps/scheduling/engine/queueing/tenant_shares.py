"""How much each tenant has had and has: what fair share and dominant share go by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apps.scheduling.engine.model.types import WHOLE_CARD_PERCENT, Grant, Ordering, Policy, Request
from apps.scheduling.engine.resources.pool import Pool

BY_TENANT = frozenset({Ordering.FAIR_SHARE, Ordering.DOMINANT_SHARE})
MILLIONTHS = 1_000_000
"""Shares are counted in millionths."""

Standing = tuple[int, int]
"""Whether the tenant has no weight of its own (1), and its use for its weight: the least is served first."""


class Use:
    """What one tenant holds now."""

    __slots__ = ("by_model", "mib", "percent")

    def __init__(self) -> None:
        self.percent = self.mib = 0
        self.by_model: dict[str, int] = {}


class Tenants:
    """All tenants' present and past use, on one pool."""

    def __init__(
        self, pool: Pool, policy: Policy, past_use: Mapping[str, int], weights: Mapping[str, int]
    ) -> None:
        self._pool = pool
        self._ahead_s = policy.ahead_s
        self._past = past_use
        self._weights = weights
        self._uses: dict[str, Use] = {}
        self._capacity = _capacity(pool)

    def renew(self, past_use: Mapping[str, int], weights: Mapping[str, int]) -> None:
        """The past and the weights as they are now."""
        self._past = past_use
        self._weights = weights

    def add(self, tenant_id: str, grants: Iterable[Grant], sign: int) -> None:
        """Count grants in (1) or out (-1)."""
        use = self._uses.get(tenant_id)
        if use is None:
            use = self._uses[tenant_id] = Use()
        for grant in grants:
            use.percent += sign * grant.compute_percent
            use.mib += sign * grant.memory_mib
            card = self._pool.cards.get(grant.device_id)
            model = card.device.model if card is not None else ""
            use.by_model[model] = use.by_model.get(model, 0) + sign * grant.compute_percent

    def weight(self, tenant_id: str) -> int:
        """The tenant's weight; one of whom nothing is said has 1 (ELA-1005)."""
        return self._weights.get(tenant_id, 1)

    def holders(self) -> set[str]:
        """The tenants that hold something now."""
        return {tenant_id for tenant_id, use in self._uses.items() if use.percent > 0}

    def pool_fraction(self, tenant_id: str, ordering: Ordering) -> int:
        """What the tenant holds of the pool now, in millionths: of its compute, or by its dominant part."""
        if ordering is Ordering.DOMINANT_SHARE:
            return self._dominant(tenant_id)
        use = self._uses.get(tenant_id)
        return MILLIONTHS * use.percent // self._capacity[0] if use else 0

    def fraction_of(self, request: Request, ordering: Ordering) -> int:
        """What the least that the request starts with is of the pool, in the same measure."""
        shares, (percent, mib, _models) = request.min_shares or request.shares, self._capacity
        fraction = MILLIONTHS * shares * request.compute_percent // percent
        if ordering is Ordering.DOMINANT_SHARE:
            return max(fraction, MILLIONTHS * shares * request.memory_mib // mib)
        return fraction

    def standing(self, tenant_id: str, ordering: Ordering) -> Standing:
        """Where the tenant stands in such a queue."""
        measure = self._dominant if ordering is Ordering.DOMINANT_SHARE else self._fair
        return self._weighed(tenant_id, measure(tenant_id))

    def place(self, request: Request, ordering: Ordering) -> tuple[Standing, int]:
        """For places in line: the tenant's standing, and about how much one start of the request adds to it."""
        if ordering not in BY_TENANT:
            return (0, 0), 0
        percent, mib = request.shares * request.compute_percent, request.shares * request.memory_mib
        if ordering is Ordering.DOMINANT_SHARE:
            whole, memory, _ = self._capacity
            more = max(MILLIONTHS * percent // whole, MILLIONTHS * mib // memory)
        else:
            more = percent * self._ahead_s * 1000 // WHOLE_CARD_PERCENT
        return self.standing(request.tenant_id, ordering), self._weighed(request.tenant_id, more)[1]

    def _weighed(self, tenant_id: str, use: int) -> Standing:
        weight = self.weight(tenant_id)
        return (0, use * 1000 // weight) if weight > 0 else (1, use * 1000)

    def _fair(self, tenant_id: str) -> int:
        """Thousandths of card-seconds: those of the past, and some ahead for each card in use."""
        use = self._uses.get(tenant_id)
        cards = use.percent * self._ahead_s * 1000 // WHOLE_CARD_PERCENT if use else 0
        return self._past.get(tenant_id, 0) * 1000 + cards

    def _dominant(self, tenant_id: str) -> int:
        """The largest of its parts: of all compute, of all memory, and of each model's compute."""
        use = self._uses.get(tenant_id)
        if use is None:
            return 0
        percent, mib, models = self._capacity
        parts = [MILLIONTHS * use.percent // percent, MILLIONTHS * use.mib // mib]
        parts += [MILLIONTHS * used // models.get(model, 1) for model, used in use.by_model.items() if used]
        return max(parts)


def _capacity(pool: Pool) -> tuple[int, int, dict[str, int]]:
    percent = mib = 0
    models: dict[str, int] = {}
    for card in pool.at:
        own = card.device.compute_capacity_percent
        percent += own
        mib += card.device.memory_capacity_mib
        models[card.device.model] = models.get(card.device.model, 0) + own
    return (max(1, percent), max(1, mib), {model: max(1, own) for model, own in models.items()})


def targets(capacity: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Each tenant's part of the capacity by its weight; by largest remainder, so that nothing is lost (ELA-1002)."""
    total = sum(weights.values())
    if total <= 0:
        return dict.fromkeys(weights, 0)
    parts = {tenant: capacity * weight // total for tenant, weight in weights.items()}
    left = capacity - sum(parts.values())
    by_remainder = sorted(weights, key=lambda tenant: (-(capacity * weights[tenant] % total), tenant))
    for tenant in by_remainder[:left]:
        parts[tenant] += 1
    return parts
