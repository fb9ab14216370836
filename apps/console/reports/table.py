"""The reports by name, and any of them as a table (POOL-12.21)."""

from collections.abc import Callable, Iterator, Mapping

from apps.console.reports.base import Period, Row
from apps.console.reports.energy import energy
from apps.console.reports.operations import operations
from apps.console.reports.resources import resources
from apps.console.reports.tasks import tasks

COLUMNS = ("section", "name", "figure", "value")
REPORTS: Mapping[str, Callable[[Period], Row]] = {
    "resources": resources,
    "tasks": tasks,
    "operations": operations,
    "energy": energy,
}


def report_rows(report: Row) -> Iterator[Row]:
    """A report as lines of a table: one for each figure."""
    for figure, value in report["totals"].items():
        yield dict(zip(COLUMNS, ("totals", "", figure, value), strict=True))
    for section, rows in report["sections"].items():
        for row in rows:
            for figure, value in row.items():
                if figure != "name":
                    yield dict(zip(COLUMNS, (section, row["name"], figure, value), strict=True))
