"""What tenants used of the pool, remembered and fading: what fair share goes by (ELA-1008)."""

from collections import defaultdict
from datetime import datetime, timedelta

from django.db import connection
from django.utils import timezone

from apps.kernel.actor import Actor
from apps.kernel.service import service
from apps.scheduling.models import Allocation, PastUse
from apps.scheduling.snapshot.cluster import faded, policy_get

_LOCK = 0x57656974


@service(recorded=False)
def past_use_account(*, actor: Actor, now: datetime | None = None) -> None:
    """Bring each tenant's past use up to date, in card-seconds: what was held since the last time is added, older use
    counts less by the policy's half-life. May be called at any time and by any number."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    now = now or timezone.now()
    half_life_s = policy_get().half_life_s
    known = {row.tenant_id: row for row in PastUse.plain.all()}
    since = max((row.as_of_at for row in known.values()), default=None) or _first()
    if since is None or since >= now:
        return
    used = _used(since, now)
    for tenant_id in known.keys() | used.keys():
        old = known.get(tenant_id)
        left = old.card_seconds * faded(now - old.as_of_at, half_life_s) if old else 0.0
        # Within a few seconds use fades next to nothing: what is new counts as used half-way between.
        new = used.get(tenant_id, 0.0) * faded((now - since) / 2, half_life_s)
        PastUse.plain.update_or_create(
            tenant_id=tenant_id, defaults={"card_seconds": left + new, "as_of_at": now}
        )


def _first() -> datetime | None:
    """When the first share was ever held, a day ago at the most."""
    first = Allocation.objects.order_by("pk").values_list("created_at", flat=True).first()
    return max(first, timezone.now() - timedelta(days=1)) if first else None


# What is held and what was released since, each by its own index: with OR every share that ever was would be read.
_SUMS = """
SELECT w.tenant_id, sum(a.compute_percent / 100.0 * extract(epoch FROM
           least(coalesce(a.released_at, %(now)s), %(now)s) - greatest(a.created_at, %(since)s)))
FROM (SELECT * FROM scheduling_allocation WHERE state = 'active'
      UNION ALL SELECT * FROM scheduling_allocation WHERE state <> 'active' AND released_at > %(since)s) a
     JOIN scheduling_workload w ON w.id = a.workload_id
WHERE a.created_at < %(now)s
GROUP BY w.tenant_id
"""


def _used(since: datetime, now: datetime) -> dict[int, float]:
    """Card-seconds of each tenant between the two instants."""
    used: dict[int, float] = defaultdict(float)
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, {"since": since, "now": now})
        for tenant_id, seconds in cursor.fetchall():
            used[tenant_id] += float(seconds or 0)
    return used
