"""What kinds of work came lately: what FRAGMENTATION keeps room for."""

from datetime import UTC, date, datetime, time, timedelta

from django.db.models import Count

from apps.scheduling.engine.resources.workload_mix import Typical
from apps.scheduling.models import Workload

DAYS = 14


def mix_read(day: date) -> tuple[Typical, ...]:
    """The kinds that were submitted in the two weeks before `day` (UTC), whether they started or not, and how often.

    Whole days only: so the mix is the same for whoever reads it on one day.
    """
    until = datetime.combine(day, time.min, UTC)
    rows = Workload.objects.across().filter(
        created_at__gte=until - timedelta(days=DAYS), created_at__lt=until
    )
    kinds = rows.order_by().values(*_KIND).annotate(count=Count("pk"))
    counts: dict[Typical, int] = {}
    for row in kinds:
        models = frozenset([*row["any_models"], *filter(None, [row["pins"].get("model")])])
        shares = row["shares"] if row["single_node"] else row["shares_per_replica"]
        kind = Typical(row["compute_percent"], shares, row["host_cpu_milli"], models)
        counts[kind] = counts.get(kind, 0) + row["count"]
    return tuple(
        Typical(kind.compute_percent, kind.shares, kind.host_cpu_milli, kind.models, count)
        for kind, count in sorted(counts.items(), key=lambda item: (-item[1], repr(item[0])))
        if kind.compute_percent
    )


_KIND = (
    "compute_percent",
    "shares",
    "shares_per_replica",
    "single_node",
    "host_cpu_milli",
    "any_models",
    "pins",
)
