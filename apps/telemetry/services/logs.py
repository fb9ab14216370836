"""Keeping the pool's log: bounded in length of a line, in age, and in number (POOL-12.18)."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.utils import timezone

from apps.kernel.actor import Actor
from apps.kernel.bulk import insert_many
from apps.kernel.service import service
from apps.telemetry.models import LogEntry
from apps.telemetry.states import LogLevel
from apps.telemetry.types import LogLine

TEXT_MAX = 4000
ENTRIES_KEPT = timedelta(days=30)
ENTRIES_MAX = 2_000_000
_PRUNE_BATCH = 20_000
# A clock ahead of ours would keep its lines on top for ever.
_AHEAD_MAX = timedelta(minutes=5)


@service(recorded=False)
def log_add(
    *,
    actor: Actor,
    text: str,
    level: str = LogLevel.INFO,
    component: str = "",
    node: str = "",
    task: str = "",
    tenant: str = "",
    priority: int | None = None,
    at: datetime | None = None,
) -> None:
    """Keep one line. An unknown level counts as information; what is too long is cut."""
    line = LogLine(text, level, component, node, str(task), tenant, priority, at)
    logs_add(actor=actor, lines=[line])


@service(recorded=False, joins=True)
def logs_add(*, actor: Actor, lines: Iterable[LogLine]) -> int:
    """Keep many lines in one insert; how many."""
    now = timezone.now()
    rows = [_entry(line, now) for line in lines]
    insert_many(rows, keyed=False)
    return len(rows)


def _entry(line: LogLine, now: datetime) -> LogEntry:
    return LogEntry(
        at=min(line.at or now, now + _AHEAD_MAX),
        level=line.level if line.level in LogLevel.values else LogLevel.INFO,
        component=line.component[:64],
        node=line.node[:200],
        task=line.task[:64],
        tenant=line.tenant[:63],
        priority=line.priority,
        text=line.text.replace("\x00", "�")[:TEXT_MAX],
    )


@service(recorded=False)
def logs_prune(*, actor: Actor) -> int:
    """Forget a batch of lines that are older than 30 days or beyond two million; how many there were."""
    rows = LogEntry.objects.order_by("at", "pk")
    batch = list(
        rows.filter(at__lt=timezone.now() - ENTRIES_KEPT).values_list("pk", flat=True)[:_PRUNE_BATCH]
    )
    if not batch:
        beyond = min(max(LogEntry.objects.count() - ENTRIES_MAX, 0), _PRUNE_BATCH)
        batch = list(rows.values_list("pk", flat=True)[:beyond])
    return LogEntry.objects.filter(pk__in=batch).delete()[0]


@service(recorded=False)
def tenant_log_forget(*, actor: Actor, schema: str) -> None:
    """Delete the lines of the pool's log that are about a tenant's work."""
    LogEntry.objects.filter(tenant=schema).delete()
