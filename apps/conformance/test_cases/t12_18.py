import csv
import io
from datetime import UTC, datetime, timedelta

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase

PRIORITY = 7
COLUMNS = ("at", "level", "component", "node", "task", "text")


class Logs(TestCase):
    """Logs are filtered by task, task level, severity, node and time, opened, paged and exported (POOL-12.18)."""

    number = "12.18"
    seconds = 15

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        since = datetime.now(UTC) - timedelta(seconds=2)
        body = {"device": device["uid"], "compute_percent": 10, "memory_mib": 256}
        work = pool.started(priority=PRIORITY, **body)
        other = pool.started(priority=PRIORITY + 1, **body)
        for task in (work, other):
            pool.halt(task)
        rows = pool.until("log lines of both tasks", lambda: _of_both(pool, work, other))
        say.step("S1", "the log", f"{len(rows)} lines of two tasks that were started and ended")
        until = datetime.now(UTC) + timedelta(seconds=1)
        window = {"from": since.isoformat(), "to": until.isoformat()}
        everything = list(pool.operator.all("logs", **window, page_size=200))
        self._filters(pool, say, everything, window, work, device["node"])
        self._one(pool, say, rows[0])
        self._pages(pool, say, work)
        self._export(pool, say, work)

    @staticmethod
    def _filters(
        pool: CaseContext, say: Record, everything: list, window: dict, work: dict, node: str
    ) -> None:
        """Each filter gives exactly the lines that it names."""
        level = everything[0]["level"]
        asked = {
            "task": (work["uid"], lambda row: row["task"] == work["uid"]),
            "priority": (PRIORITY, lambda row: row["priority"] == PRIORITY),
            "level": (level, lambda row: row["level"] == level),
            "node": (node, lambda row: row["node"] == node),
        }
        for name, (value, fits) in asked.items():
            found = {row["id"] for row in pool.operator.all("logs", **window, page_size=200, **{name: value})}
            # Lines of the window that came meanwhile count on both sides.
            wanted = {row["id"] for row in everything if fits(row)}
            late = {row["id"] for row in pool.operator.all("logs", **window, page_size=200)} - {
                row["id"] for row in everything
            }
            say.step("S2", f"{name} {value}", f"{len(found)} lines of {len(everything)}")
            exact = wanted <= found <= wanted | late
            say.expect("E2", bool(wanted) and exact, f"{name} {value}: {len(found)} lines, {len(wanted)} fit")

    @staticmethod
    def _one(pool: CaseContext, say: Record, row: dict) -> None:
        line = pool.operator.get(f"logs/{row['id']}")
        say.step(
            "S2", f"line {row['id']}", f"{line['at']} {line['level']} {line['component']}: {line['text']}"
        )
        say.expect("E2", line == row, "one line is opened and is the one that was listed")

    @staticmethod
    def _pages(pool: CaseContext, say: Record, work: dict) -> None:
        whole = [row["id"] for row in pool.operator.all("logs", task=work["uid"], page_size=200)]
        paged = [row["id"] for row in pool.operator.all("logs", task=work["uid"], page_size=1)]
        say.expect("E2", whole == paged, f"page by page the same {len(paged)} lines come in the same order")

    @staticmethod
    def _export(pool: CaseContext, say: Record, work: dict) -> None:
        listed = [row["text"] for row in pool.operator.all("logs", task=work["uid"], page_size=200)]
        text = pool.download("logs/export", task=work["uid"], format="csv")
        lines = list(csv.reader(io.StringIO(text.lstrip("\ufeff"))))[1:]
        say.step("S3", "export as CSV", f"{len(lines)} lines, {len(text)} characters")
        texts = sorted(line[-1].removeprefix("'") for line in lines)
        say.expect(
            "E3",
            texts == sorted(listed),
            f"the file holds exactly the {len(listed)} lines that were filtered",
        )
        jsonl = pool.download("logs/export", task=work["uid"], format="jsonl")
        count = len(jsonl.splitlines())
        say.step("S3", "export as JSON lines", f"{count} lines")
        say.expect("E3", count == len(listed), f"as JSON lines it holds {count}")


def _of_both(pool: CaseContext, work: dict, other: dict) -> list | None:
    rows = [list(pool.operator.all("logs", task=task["uid"], page_size=200)) for task in (work, other)]
    return rows[0] if all(len(part) > 1 for part in rows) else None
