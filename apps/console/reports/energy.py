"""Kilowatt-hours from the hourly sums, by whole hours: measured or modelled, and named so (POOL-6f)."""

from collections.abc import Mapping

from django.db.models import Max, Sum
from django.db.models.functions import TruncDate

from apps.console.reports.base import HOUR_S, Period, Row, devices_read, report_form
from apps.fleet.models import Node
from apps.scheduling.models import Workload
from apps.telemetry.selectors import rollup_list
from apps.telemetry.states import PowerSource

_WS_PER_KWH = 3_600_000.0


def energy(over: Period) -> Row:
    """Kilowatt-hours by device, node, task, tenant and day, and how much of them was measured (POOL-6f).

    The total is the nodes'. A task has the part of its devices' energy that it held; the rest was nobody's.
    """
    devices = {row.uid: row.label for row in devices_read()}
    nodes = dict(Node.objects.values_list("uid", "name"))
    by_task = _energy_by("workload", over)
    wanted = Workload.objects.across().filter(uid__in=list(by_task)).values_list("uid", "no")
    numbers = {str(uid): no for uid, no in wanted}
    sections = {
        "nodes": _energy_rows(_energy_by("node", over), nodes),
        "devices": _energy_rows(_energy_by("device", over), devices),
        "tasks": _energy_rows(by_task, numbers),
        "tenants": _energy_rows(_energy_by("tenant", over), {}),
        "days": _energy_days(over),
    }
    totals = {
        name: round(sum(row[name] for row in sections["nodes"]), 9)
        for name in ("kwh", "measured_kwh", "modelled_kwh")
    }
    totals["tasks_kwh"] = round(sum(row["kwh"] for row in sections["tasks"]), 9)
    totals["devices_kwh"] = round(sum(row["kwh"] for row in sections["devices"]), 9)
    return report_form("energy", over, totals, sections)


def _energy_by(kind: str, over: Period) -> dict[str, Row]:
    rows = rollup_list(series="power_w", kind=kind, from_at=over.from_at, to_at=over.to_at).order_by()
    groups = rows.values("subject", "tenant", "source").annotate(
        sum=Sum("weighted"), seen=Sum("seconds"), peak=Max("peak")
    )
    found: dict[str, Row] = {}
    for row in groups.order_by("subject", "source"):
        empty = {"measured_kwh": 0.0, "modelled_kwh": 0.0, "hours": 0.0, "peak_w": 0.0}
        part = found.setdefault(row["subject"], {"tenant": row["tenant"], **empty})
        source = "measured_kwh" if row["source"] == PowerSource.MEASURED else "modelled_kwh"
        part[source] += row["sum"] / _WS_PER_KWH
        part["hours"] += row["seen"] / HOUR_S
        part["peak_w"] = max(part["peak_w"], row["peak"])
    return found


def _energy_rows(found: Mapping[str, Row], names: Mapping[str, str]) -> list[Row]:
    rows = [
        {
            "name": names.get(subject, subject),
            "subject": subject,
            "tenant": row["tenant"],
            "source": _source(row),
            **_energy_figures(row),
            "hours": round(row["hours"], 6),
            "peak_w": round(row["peak_w"], 3),
        }
        for subject, row in found.items()
    ]
    return sorted(rows, key=lambda row: (-row["kwh"], row["name"]))


def _energy_figures(row: Row) -> Row:
    measured, modelled = round(row["measured_kwh"], 9), round(row["modelled_kwh"], 9)
    return {"kwh": round(measured + modelled, 9), "measured_kwh": measured, "modelled_kwh": modelled}


def _source(row: Row) -> str:
    """How the energy is known; parts of both kinds are named so."""
    if row["measured_kwh"] and row["modelled_kwh"]:
        return "mixed"
    return str(PowerSource.MEASURED if row["measured_kwh"] else PowerSource.MODELLED)


def _energy_days(over: Period) -> list[Row]:
    rows = rollup_list(series="power_w", kind="node", from_at=over.from_at, to_at=over.to_at).order_by()
    groups = rows.values("source", day=TruncDate("hour")).annotate(sum=Sum("weighted"))
    days: dict[str, Row] = {}
    for row in groups:
        day = days.setdefault(row["day"].isoformat(), {"measured_kwh": 0.0, "modelled_kwh": 0.0})
        source = "measured_kwh" if row["source"] == PowerSource.MEASURED else "modelled_kwh"
        day[source] += row["sum"] / _WS_PER_KWH
    return [{"name": name, **_energy_figures(days[name])} for name in sorted(days)]
