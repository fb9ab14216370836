from apps.conformance.cases.base import Case
from apps.conformance.cases.seen import EXACT, PROGRESS, rounds_of, whole_log
from apps.conformance.running.ground import OWN, Ground
from apps.conformance.running.leases import is_usable
from apps.conformance.running.record import NotRun, Record


class Heterogeneous(Case):
    """Cards of every vendor of the pool: the same steps, the same API, right results (POOL-12.26)."""

    number = "12.26"
    seconds = 20

    def run(self, pool: Ground, say: Record) -> None:
        rows = [row for row in pool.operator.all("devices") if not row["node"].startswith(OWN)]
        vendors = sorted({row["vendor"] for row in rows if is_usable(row)})
        if len(vendors) < 2:
            raise NotRun(f"the pool has cards of one vendor only: {', '.join(vendors) or 'none'}")
        named = sorted({f"{row['vendor']} {row['model']}{_simulated(row)}" for row in rows})
        say.step("S1", "the list of cards", "; ".join(named))
        say.expect("E2", len(vendors) >= 2, f"one list shows cards of {', '.join(vendors)}")
        for vendor in vendors:
            (device,) = pool.take(fits=lambda row, vendor=vendor: row["vendor"] == vendor)
            self._vendor(pool, say, device)

    @staticmethod
    def _vendor(pool: Ground, say: Record, device: dict) -> None:
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
        rows = pool.until("five rounds", lambda: _rounds(pool, work))
        say.step("S3", f"a task on {name}", f"{pool.work(work)['state']}, {len(rows)} rounds")
        right = {row[3] for row in rows} == {str(EXACT)}
        say.expect("E4", right, f"a task on {name} runs and computes what is right")
        pool.halt(work)


def _rounds(pool: Ground, work: dict) -> list | None:
    rows = rounds_of(whole_log(pool, work))
    return rows if len(rows) >= 5 else None


def _simulated(device: dict) -> str:
    return " (simulated)" if device["is_simulated"] else ""
