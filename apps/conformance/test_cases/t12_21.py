from datetime import UTC, datetime, timedelta

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.work_observation import PROGRESS, rounds

KINDS = ("resources", "tasks", "operations", "energy")


class Reports(TestCase):
    """Reports on resources, tasks, operations and energy agree with what was recorded (POOL-12.21)."""

    number = "12.21"
    seconds = 15

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        since = datetime.now(UTC) - timedelta(minutes=1)
        body = {"device": device["uid"], "compute_percent": 20, "memory_mib": 256, "argv": list(PROGRESS)}
        work = pool.started(**body)
        rounds(pool, work)
        work = pool.halt(work)
        window = {"from": since.isoformat(), "to": (datetime.now(UTC) + timedelta(seconds=5)).isoformat()}
        say.step("S1", "a known task: 20 % and 256 MiB", f"{work['state']}", uid=work["uid"])
        reports = {kind: pool.operator.get(f"reports/{kind}", **window) for kind in KINDS}
        for kind, report in reports.items():
            say.step("S2", f"the report on {kind}", str(report)[:300])
            say.expect("E2", bool(report), f"the report on {kind} can be viewed")
        self._agree(pool, say, reports, window, device)
        for kind in KINDS:
            text = pool.download(f"reports/{kind}", **window, format="csv")
            say.expect(
                "E2", len(text.splitlines()) > 1, f"{kind} is exported: {len(text.splitlines())} lines of CSV"
            )

    @staticmethod
    def _agree(pool: CaseContext, say: Record, reports: dict, window: dict, device: dict) -> None:
        say.expect(
            "E2", device["uid"] in str(reports["resources"]), "the report on resources has the card used"
        )
