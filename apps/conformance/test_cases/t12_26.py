from apps.conformance.catalogue.hardware import is_card
from apps.conformance.harness.case_context import OWN, CaseContext
from apps.conformance.harness.leases import is_usable
from apps.conformance.harness.record import NotRun, Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.work_observation import EXACT, PROGRESS, rounds


class Heterogeneous(TestCase):
    """Cards of every vendor of the pool: the same steps, the same API, right results (POOL-12.26).

    A processor that is offered as an accelerator is no vendor's card: it does not count here.
    """

    number = "12.26"
    seconds = 20

    def run(self, pool: CaseContext, say: Record) -> None:
        listed = [row for row in pool.operator.all("devices") if not row["node"].startswith(OWN)]
        rows = [row for row in listed if is_card(row)]
        vendors = sorted({row["vendor"] for row in rows if is_usable(row)})
        if len(vendors) < 2:
            raise NotRun(too_few(vendors))
        named = sorted({f"{row['vendor']} {row['model']}{_simulated(row)}" for row in rows})
        say.step("S1", "the list of cards", "; ".join(named))
        say.expect("E2", len(vendors) >= 2, f"one list shows cards of {', '.join(vendors)}")
        for vendor in vendors:
            (device,) = pool.take(fits=lambda row, vendor=vendor: row["vendor"] == vendor)
            self._vendor(pool, say, device)

    @staticmethod
    def _vendor(pool: CaseContext, say: Record, device: dict) -> None:
        uid, name = device["uid"], f"{device['vendor']} {device['model']}{_simulated(device)}"
        pool.device_kept(device)
        pool.operator.post(f"devices/{uid}/unslice")
        before = pool.device(uid)["is_sliced"]
        pool.operator.post(f"devices/{uid}/slice")
        after = pool.device(uid)["is_sliced"]
        say.step("S2", f"virtualisation of {name}", "on" if after else "off")
        say.expect("E3", (before, after) == (False, True), f"{name} went from physical card to virtual card")
        work = pool.started(
            device=uid, vendor=device["vendor"], compute_percent=30, memory_mib=256, argv=list(PROGRESS)
        )
        rows = rounds(pool, work, 5)
        say.step("S3", f"a task on {name}", f"{pool.work(work)['state']}, {len(rows)} rounds")
        right = {row.total for row in rows} == {str(EXACT)}
        say.expect("E4", right, f"a task on {name} runs and computes what is right")
        pool.halt(work)


def too_few(vendors: list[str]) -> str:
    """Why a pool with cards of these vendors is not heterogeneous."""
    if not vendors:
        return "the pool has no cards of a vendor: processors offered as accelerators do not count"
    return f"the pool has cards of one vendor only: {', '.join(vendors)}"


def _simulated(device: dict) -> str:
    return " (simulated)" if device["is_simulated"] else ""
