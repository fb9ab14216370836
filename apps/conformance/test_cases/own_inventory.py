from apps.conformance.catalogue.hardware import is_card
from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.leases import is_usable
from apps.conformance.harness.record import NotRun, Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.t12_26 import too_few
from apps.conformance.test_cases.work_observation import EXACT, PROGRESS, rounds


class Deployment(TestCase):
    """Where the components of this pool run (POOL-9.1)."""

    number = "9.1"
    seconds = 1

    def run(self, pool: CaseContext, say: Record) -> None:
        rows = list(pool.operator.all("components"))
        hosts = sorted({row["host"] for row in rows if row["host"]})
        say.step("S1", "the hosts of all components", f"{len(rows)} components on {', '.join(hosts)}")
        if len(hosts) < 2:
            raise NotRun(
                f"all components run on one machine, {', '.join(hosts)}: the distributed form is not seen"
            )
        versions = sorted({row["version"] for row in rows if row["component"] in ("web", "worker", "beat")})
        say.expect("E2", len(versions) == 1, f"release {', '.join(versions)} serves on {len(hosts)} machines")


class Vendors(TestCase):
    """Cards of each vendor behind one interface (POOL-10.2)."""

    number = "10.2"
    seconds = 15

    def run(self, pool: CaseContext, say: Record) -> None:
        usable = [row for row in pool.operator.all("devices") if is_usable(row) and is_card(row)]
        vendors = sorted({row["vendor"] for row in usable})
        if len(vendors) < 2:
            raise NotRun(too_few(vendors))
        for vendor in vendors:
            (device,) = pool.take(fits=lambda row, vendor=vendor: row["vendor"] == vendor)
            body = {"vendor": vendor, "device": device["uid"], "compute_percent": 20, "memory_mib": 256}
            work = pool.started(**body, argv=list(PROGRESS))
            (first, *_more) = rounds(pool, work)
            kind = f"{vendor} {device['model']}{' (simulated)' if device['is_simulated'] else ''}"
            say.step("S1", f"a task on {kind}", pool.work(work)["state"])
            say.expect("E2", first.total == str(EXACT), f"{kind} computes what is right")


class Interfaces(TestCase):
    """Which programming interfaces each card serves (POOL-10.3)."""

    number = "10.3"
    seconds = 1

    def run(self, pool: CaseContext, say: Record) -> None:
        for row in pool.operator.all("devices"):
            told = ", ".join(f"{name} {version}" for name, version in (row.get("apis") or {}).items())
            say.step("S1", f"{row['node']} / {row['model']}", told or "nothing")
            say.expect("E2", bool(told), f"{row['node']} / {row['model']}: {told or 'declares nothing'}")
