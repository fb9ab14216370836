"""What each tenant is owed of the pool, and who holds more than that (ELA-1004)."""

from __future__ import annotations

from apps.scheduling.engine.model.types import Grant, Ordering, Request
from apps.scheduling.engine.queueing.tenant_shares import BY_TENANT, MILLIONTHS, targets
from apps.scheduling.engine.state.pass_state import PassState


class FairShareBalance:
    """Under fair share an idle part is lent; its owner takes it back from who is beyond their own, never further.

    A tenant's part is its weight among all who hold or want something now. `spend` counts what is chosen to go, so
    that nobody is brought below their part by several choices; `restore` undoes it.
    """

    def __init__(self, pass_: PassState) -> None:
        self._state = pass_.state
        tenants = self._state.tenants
        wanting = {group.sample.tenant_id for group in self._state.backlog.groups.values()}
        weights = {name: max(0, tenants.weight(name)) for name in wanting | tenants.holders()}
        self._targets = targets(MILLIONTHS, weights)
        self._spent: list[tuple[str, tuple[Grant, ...]]] = []

    def ordering(self, queue_id: str) -> Ordering | None:
        """By which measure the queue serves tenants; None where it does not go by tenant."""
        queue = self._state.queues[queue_id]
        found = queue.ordering or self._state.policy.ordering
        return found if found in BY_TENANT else None

    def owes(self, request: Request, ordering: Ordering) -> bool:
        """Whether the request's tenant would still be within its part with it."""
        tenants, who = self._state.tenants, request.tenant_id
        more = tenants.fraction_of(request, ordering)
        return tenants.pool_fraction(who, ordering) + more <= self._targets.get(who, 0)

    def spares(self, tenant_id: str, grants: tuple[Grant, ...], ordering: Ordering) -> bool:
        """Whether the tenant keeps its part without these grants and all that was spent."""
        tenants = self._state.tenants
        tenants.add(tenant_id, grants, -1)
        left = tenants.pool_fraction(tenant_id, ordering)
        tenants.add(tenant_id, grants, 1)
        return left >= self._targets.get(tenant_id, 0)

    def spend(self, tenant_id: str, grants: tuple[Grant, ...]) -> None:
        """These grants of the tenant are to go."""
        self._state.tenants.add(tenant_id, grants, -1)
        self._spent.append((tenant_id, grants))

    def restore(self) -> None:
        """Forget what was spent."""
        for tenant_id, grants in self._spent:
            self._state.tenants.add(tenant_id, grants, 1)
        self._spent.clear()
