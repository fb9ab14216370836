"""A report as people read it: whom and what its rows are about by name, not by code. Programs get the codes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apps.console.reports.base import Row
from apps.console.reports.end_causes import end_words
from apps.scheduling.selectors.usage.past_work import queue_names
from apps.scheduling.states import WorkloadState
from apps.telemetry.alarm_metrics import METRIC_CHOICES
from apps.telemetry.selectors import rule_list
from apps.telemetry.states import AlarmLevel, Channel, DeliveryState, LogLevel
from apps.tenancy.selectors import tenant_list

Namer = Callable[[str], str]


def report_named(report: Row) -> Row:
    """A report for a page: in its rows names in the reader's language stand in place of codes, figures as they were.

    A code that nothing is known by any more stays as it is.
    """
    sections = {
        section: _named(rows, _NAMERS[section]()) if rows and section in _NAMERS else rows
        for section, rows in report["sections"].items()
    }
    tenants: Namer | None = None
    for section, rows in sections.items():
        if any(row.get("tenant") for row in rows):
            tenants = tenants or _tenants()
            sections[section] = [row | {"tenant": tenants(row.get("tenant") or "")} for row in rows]
        if any("state" in row for row in rows):
            sections[section] = [row | {"state": _word(WorkloadState.choices)(row["state"])} for row in rows]
    return report | {"sections": sections}


def _named(rows: Iterable[Row], name: Namer) -> list[Row]:
    return [row | {"name": name(row["name"] or "")} for row in rows]


def _of(names: Mapping[str, Any]) -> Namer:
    return lambda code: str(names.get(code, code))


def _word(choices: Iterable[tuple[str, Any]]) -> Namer:
    return _of(dict(choices))


def _tenants() -> Namer:
    return _of(dict(tenant_list().values_list("schema_name", "name")))


def _queues() -> Namer:
    return _of(queue_names())


def _rules() -> Namer:
    """What a rule watches; its code beside it where several rules watch the same."""
    words = dict(METRIC_CHOICES)
    rules = dict(rule_list().values_list("code", "metric"))
    times = Counter(rules.values())
    return _of(
        {
            code: f"{words[metric]} ({code})" if times[metric] > 1 else words[metric]
            for code, metric in rules.items()
            if metric in words
        }
    )


def _deliveries() -> Namer:
    channel, state = _word(Channel.choices), _word(DeliveryState.choices)
    return lambda code: ", ".join((channel(code.partition(" ")[0]), state(code.partition(" ")[2])))


_NAMERS: Mapping[str, Callable[[], Namer]] = {
    "tenants": _tenants,
    "queues": _queues,
    "ends": lambda: end_words,
    "rules": _rules,
    "levels": lambda: _word(AlarmLevel.choices),
    "log": lambda: _word(LogLevel.choices),
    "deliveries": _deliveries,
}
