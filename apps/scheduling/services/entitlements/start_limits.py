"""Whether work that waited may still start by what its submitter may hold now (decision N-19).

When a ticket or a special spec ends, what runs goes on and new starts are refused with the reason. Internal to the
app's services.
"""

from collections.abc import Iterable

from django.utils import timezone

from apps.scheduling.models import Workload
from apps.scheduling.selectors.entitlements.limits import Limit, limits_any, limits_get, user_usage_get
from apps.scheduling.services.workloads.admission import asked_of, beyond

Whose = tuple[int, int]


class Starts:
    """The starts of one transaction, counted together. What has begun once is not judged again: it is no new start."""

    def __init__(self, rows: Iterable[Workload]) -> None:
        self._now = timezone.now()
        # Work of orders has no submitter.
        self._is_any = any(row.submitted_by_id for row in rows) and limits_any(self._now)
        self._limits: dict[Whose, dict[str, Limit]] = {}
        self._held: dict[Whose, dict[str, int]] = {}

    def check(self, row: Workload, shares: int) -> None:
        """QuotaExceeded where its submitter would hold more than they may, with so many shares of it."""
        whose = self._whose(row)
        if whose is None or row.attempt > 1:
            return
        if whose not in self._limits:
            self._limits[whose] = limits_get(row.tenant, whose[1], self._now)
        for item, limit in self._limits[whose].items():
            used, asked = self._usage_of(row, whose)[item], asked_of(row, shares)[item]
            if used + asked > limit.most:
                raise beyond(limit, used, asked)

    def took(self, row: Workload, shares: int) -> None:
        """It starts: the next one finds it held."""
        whose = self._whose(row)
        if whose is None or not self._limits.get(whose):
            return
        held = self._usage_of(row, whose)
        self._held[whose] = {item: held[item] + more for item, more in asked_of(row, shares).items()}

    def _whose(self, row: Workload) -> Whose | None:
        if not self._is_any or row.submitted_by_id is None:
            return None
        return row.tenant_id, row.submitted_by_id

    def _usage_of(self, row: Workload, whose: Whose) -> dict[str, int]:
        if whose not in self._held:
            self._held[whose] = user_usage_get(row.tenant, whose[1], running=True)
        return self._held[whose]
