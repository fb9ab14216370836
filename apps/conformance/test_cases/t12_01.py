from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.work_observation import INSIDE, amounts_of, inside

FIXED = (37, 1025)
ASKED = (80, 4096)


class FixedEnvironment(TestCase):
    """A fixed environment's amounts win over what is named at run time (POOL-12.1)."""

    number = "12.1"

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take(fits=lambda row: row["memory_mib"] >= FIXED[1])
        name = pool.name("environment")
        pool.note("environment", name)
        body = {
            "name": name,
            "is_fixed": True,
            "compute_percent": FIXED[0],
            "memory_mib": FIXED[1],
            "shares": 1,
        }
        environment = pool.client.post("environments", body)
        say.step(
            "S1", f"environment {name}, fixed", f"{FIXED[0]} % and {FIXED[1]} MiB", uid=environment["uid"]
        )
        work = pool.started(
            environment=environment["uid"],
            device=device["uid"],
            compute_percent=ASKED[0],
            memory_mib=ASKED[1],
            argv=list(INSIDE),
            env={"WEIR_COMPUTE_PERCENT": str(ASKED[0]), "WEIR_MEMORY_MIB": str(ASKED[1])},
        )
        say.step(
            "S2", f"a task asking {ASKED[0]} % and {ASKED[1]} MiB by flag and by variable", work["state"]
        )
        given, seen = amounts_of(work), inside(pool, work)
        say.step("S3", "the task's allocation", f"{given[0]} % and {given[1]} MiB", inside=list(seen))
        say.expect("E2", given == FIXED, f"the API tells {given[0]} % and {given[1]} MiB")
        say.expect("E2", seen == FIXED, f"inside the environment {seen[0]} % and {seen[1]} MiB are seen")
