from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.work_observation import INSIDE, amounts_of, inside

SPEC = (25, 1280)
ASKED = {"WEIR_COMPUTE_PERCENT": "90", "WEIR_MEMORY_MIB": "8192"}


class Specification(TestCase):
    """A named specification decides; environment variables do not (POOL-12.14)."""

    number = "12.14"

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take(fits=lambda row: row["memory_mib"] >= SPEC[1])
        code = pool.name("spec")
        pool.note("spec", code)
        body = {
            "code": code,
            "name_en": code,
            "name_zh": code,
            "compute_percent": SPEC[0],
            "memory_mib": SPEC[1],
        }
        pool.operator.post("specs", body)
        say.step("S1", f"specification {code}", f"{SPEC[0]} % and {SPEC[1]} MiB")
        work = pool.started(spec=code, device=device["uid"], argv=list(INSIDE), env=ASKED)
        say.step("S2", f"a task naming it, with the variables {ASKED}", work["state"])
        given, seen = amounts_of(work), inside(pool, work)
        say.step("S3", "its allocation", f"{given[0]} % and {given[1]} MiB", inside=list(seen))
        say.expect("E2", given == SPEC, f"the API tells {given[0]} % and {given[1]} MiB")
        say.expect("E2", seen == SPEC, f"inside, {seen[0]} % and {seen[1]} MiB are seen")
        pool.operator.post(f"specs/{code}/disable")
        refusal = pool.refused(lambda: pool.submit(spec=code, device=device["uid"]), "no_such_spec")
        say.expect("E2", code in refusal.message, f"once disabled it is refused: {refusal.message}")
