from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.people import CLIENTS, SCHEMA
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.waiting import why_not
from apps.conformance.test_cases.work_observation import devices_of


class ResourceGroup(TestCase):
    """Only an authorised client of an authorised organisation uses the group's devices (POOL-12.13)."""

    number = "12.13"
    seconds = 12

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        group = pool.group([device], members=[CLIENTS[0]])
        say.step("S1", f"group {group} with one device", device["uid"])
        say.step("S2", f"{SCHEMA} authorised, in it {CLIENTS[0]} alone", "granted")
        body = {"resource_group": group, "compute_percent": 10, "memory_mib": 256}
        work = pool.started(by=pool.people.first, **body)
        say.step("S3", f"task 1 as {CLIENTS[0]}", f"{work['state']} on {', '.join(devices_of(work))}")
        say.expect("E2", devices_of(work) == [device["uid"]], "task 1 runs on the group's device")
        refusal = pool.refused(lambda: pool.submit(by=pool.people.second, **body), "not_authorised_for_group")
        say.step("S4", f"task 2 as {CLIENTS[1]}", f"{refusal.status} {refusal.code}: {refusal.message}")
        say.expect("E3", refusal.status == 403, f"task 2 is refused: {refusal.message}")
        plain = {"device": device["uid"], "compute_percent": 10, "memory_mib": 256}
        outside = why_not(pool, by=pool.people.second, **plain)
        say.expect("E3", bool(outside), f"nor does it get the device by naming it: {outside}")
        self._revoked(pool, say, group, body, work)
        self._audited(pool, say, group)

    @staticmethod
    def _revoked(pool: CaseContext, say: Record, group: str, body: dict, work: dict) -> None:
        pool.halt(work)
        pool.operator.call("DELETE", f"resource-groups/{group}/grants/{SCHEMA}")
        refusal = pool.refused(lambda: pool.submit(by=pool.people.first, **body), "not_authorised_for_group")
        say.step("S4", f"task 1 again after the grant was revoked, as {CLIENTS[0]}", refusal.message)
        say.expect("E3", True, f"without the grant {CLIENTS[0]} is refused too: {refusal.message}")

    @staticmethod
    def _audited(pool: CaseContext, say: Record, group: str) -> None:
        rows = pool.operator.get("audit/acts", search=group)["results"]
        mine = [row for row in rows if CLIENTS[1] in str(row)]
        say.expect("E3", bool(mine), f"the operation log keeps {len(mine)} refusals of {CLIENTS[1]}")
