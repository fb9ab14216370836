"""The words of reports, and how their figures look to people."""

from typing import Any

from django.utils.translation import gettext_lazy as _

SECTIONS = {
    "nodes": _("Nodes"),
    "vendors": _("Vendors"),
    "devices": _("Devices"),
    "tenants": _("Tenants"),
    "ends": _("How tasks ended"),
    "queues": _("Queues"),
    "days": _("By day"),
    "levels": _("Alarms by severity"),
    "rules": _("Alarms by rule"),
    "deliveries": _("Messages of alarms"),
    "log": _("Log lines by severity"),
    "tasks": _("Workloads"),
}
REPORT_NAMES = {
    "resources": _("Resources"),
    "tasks": _("Task scheduling"),
    "operations": _("O&M monitoring"),
    "energy": _("Energy"),
}
# Figure: its word, and how it is shown.
FIGURES = {
    "capacity_percent_hours": (_("Capacity (device hours)"), "device_hours"),
    "held_percent_hours": (_("Held (device hours)"), "device_hours"),
    "delivered_percent_hours": (_("Delivered (device hours)"), "device_hours"),
    "capacity_mib_hours": (_("Memory (GiB hours)"), "gib_hours"),
    "held_mib_hours": (_("Memory held (GiB hours)"), "gib_hours"),
    "held_of_capacity_percent": (_("Held of the capacity"), "percent"),
    "shares": (_("Shares"), "count"),
    "submitted": (_("Submitted"), "count"),
    "started": (_("Started"), "count"),
    "ended": (_("Ended"), "count"),
    "failed": (_("Failed"), "count"),
    "waiting_now": (_("Waiting now"), "count"),
    "running_now": (_("Running now"), "count"),
    "wait_s_mean": (_("Mean wait"), "seconds"),
    "wait_s_p50": (_("Median wait"), "seconds"),
    "wait_s_p95": (_("Wait of 95 % at most"), "seconds"),
    "wait_s_max": (_("Longest wait"), "seconds"),
    "run_s_mean": (_("Mean run"), "seconds"),
    "run_s_p50": (_("Median run"), "seconds"),
    "run_s_p95": (_("Run of 95 % at most"), "seconds"),
    "run_s_sum": (_("Run in all"), "seconds"),
    "state": (_("State"), "text"),
    "count": (_("Number"), "count"),
    "alarms": (_("Alarms"), "count"),
    "acknowledged": (_("Acknowledged"), "count"),
    "end_s_mean": (_("Mean time to the end"), "seconds"),
    "acknowledge_s_mean": (_("Mean time to acknowledge"), "seconds"),
    "availability_percent": (_("Availability"), "percent"),
    "up_hours": (_("Answered (h)"), "hours"),
    "seen_hours": (_("Watched (h)"), "hours"),
    "deliveries": (_("Messages"), "count"),
    "log_lines": (_("Log lines"), "count"),
    "kwh": (_("Energy"), "kwh"),
    "measured_kwh": (_("Of it measured"), "kwh"),
    "modelled_kwh": (_("Of it modelled"), "kwh"),
    "tasks_kwh": (_("Of it by tasks"), "kwh"),
    "devices_kwh": (_("Of it by devices"), "kwh"),
    "source": (_("Known by"), "source"),
    "tenant": (_("Tenant"), "text"),
    "hours": (_("Watched (h)"), "hours"),
    "peak_w": (_("Peak (W)"), "hours"),
}
# Shown in the file only: what names a row to a program.
HIDDEN = frozenset({"name", "subject"})
SOURCES = {"measured": _("measured"), "modelled": _("modelled"), "mixed": _("in part measured")}
_MINUTE_S, _HOUR_S = 60, 3600


def figure_text(code: str, value: Any) -> str:
    """A figure as people read it; a dash where there is none."""
    kind = FIGURES.get(code, ("", "text"))[1]
    if value is None or value == "":
        return "–"
    return _SHOWN[kind](value)


def _seconds(value: float) -> str:
    if value < _MINUTE_S:
        return f"{value:.1f} s"
    if value < _HOUR_S:
        return f"{value / _MINUTE_S:.1f} min"
    return f"{value / _HOUR_S:.2f} h"


def _kwh(value: float) -> str:
    return f"{value:,.3f} kWh" if value >= 1 else f"{value * 1000:,.2f} Wh"


_SHOWN = {
    "text": str,
    "source": lambda value: str(SOURCES.get(value, value)),
    "count": lambda value: f"{int(value):,}",
    "percent": lambda value: f"{value:.2f} %",
    "seconds": _seconds,
    "hours": lambda value: f"{value:,.2f}",
    "device_hours": lambda value: f"{value / 100:,.2f}",
    "gib_hours": lambda value: f"{value / 1024:,.2f}",
    "kwh": _kwh,
}
