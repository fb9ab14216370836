"""Alarms and how long they stood, how nodes answered, who was told, and what the log says."""

from typing import Any

from django.db.models import Avg, Count, F, Q, Sum
from django.db.models.functions import TruncDate

from apps.console.reports.base import HOUR_S, Period, Row, report_form, rounded, seconds, within
from apps.fleet.models import Node
from apps.telemetry.models import Alarm, AlarmDelivery, LogEntry
from apps.telemetry.selectors import rollup_list


def operations(over: Period) -> Row:
    """Alarms and how long they stood, how nodes answered, who was told, and what the log says."""
    inside = {"gte": over.from_at, "lt": over.to_at}
    fired = Alarm.objects.order_by().filter(within("fired_at", inside))
    totals = rounded(fired.aggregate(**_alarm_measures()))
    nodes = _availability(over)
    seen = sum(row["seen_hours"] for row in nodes)
    up = sum(row["up_hours"] for row in nodes)
    totals["availability_percent"] = round(100 * up / seen, 4) if seen else None
    totals["deliveries"] = AlarmDelivery.objects.filter(within("created_at", inside)).count()
    logged = LogEntry.objects.order_by().filter(within("at", inside))
    totals["log_lines"] = logged.count()
    sections = {
        "levels": _alarms_by(fired, "level"),
        "rules": _alarms_by(fired.filter(rule__isnull=False), "rule__code"),
        "nodes": nodes,
        "deliveries": _counted(
            AlarmDelivery.objects.order_by().filter(within("created_at", inside)), "channel", "state"
        ),
        "log": _counted(logged, "level"),
        "days": _alarm_days(fired),
    }
    return report_form("operations", over, totals, sections)


def _alarm_measures() -> dict[str, Any]:
    return {
        "alarms": Count("pk"),
        "ended": Count("pk", filter=Q(resolved_at__isnull=False)),
        "acknowledged": Count("pk", filter=Q(acknowledged_at__isnull=False)),
        "end_s_mean": Avg(seconds("fired_at", "resolved_at"), filter=Q(resolved_at__isnull=False)),
        "acknowledge_s_mean": Avg(
            seconds("fired_at", "acknowledged_at"), filter=Q(acknowledged_at__isnull=False)
        ),
    }


def _alarms_by(rows: Any, field: str) -> list[Row]:
    return [
        rounded(row)
        for row in rows.values(name=F(field)).annotate(**_alarm_measures()).order_by("-alarms", "name")
    ]


def _alarm_days(rows: Any) -> list[Row]:
    groups = rows.values(day=TruncDate("fired_at")).annotate(alarms=Count("pk")).order_by("day")
    return [{"name": row["day"].isoformat(), "alarms": row["alarms"]} for row in groups]


def _counted(rows: Any, *fields: str) -> list[Row]:
    groups = rows.values_list(*fields).annotate(count=Count("pk")).order_by(*fields)
    return [{"name": " ".join(row[:-1]), "count": row[-1]} for row in groups]


def _availability(over: Period) -> list[Row]:
    """For how much of the time that anybody looked each node answered."""
    names = dict(Node.objects.values_list("uid", "name"))
    rows = rollup_list(series="up", kind="node", from_at=over.from_at, to_at=over.to_at).order_by()
    groups = rows.values("subject").annotate(up=Sum("weighted"), seen=Sum("seconds"))
    found = [
        {
            "name": names.get(row["subject"], row["subject"]),
            "availability_percent": round(100 * row["up"] / row["seen"], 4),
            "up_hours": round(row["up"] / HOUR_S, 6),
            "seen_hours": round(row["seen"] / HOUR_S, 6),
        }
        for row in groups
        if row["seen"]
    ]
    return sorted(found, key=lambda row: row["name"])
