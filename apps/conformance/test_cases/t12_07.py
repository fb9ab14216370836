from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase

ABSENT = "Model That No Pool Has"


class Model(TestCase):
    """A card of a named model; a model that the pool does not have is refused at once (POOL-12.7)."""

    number = "12.7"

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        # In a group of its own, so that it takes no card from another test.
        body = {"resource_group": pool.group([device]), "compute_percent": 10, "memory_mib": 256}
        say.step("S1", "a model of the pool", device["model"])
        work = pool.started(model=device["model"], device=device["uid"], **body)
        got = pool.device(work["grants"][0]["device_uid"])
        say.step("S2", f"a task on {device['model']}", f"{work['state']} on {got['model']} of {got['node']}")
        say.expect("E2", got["model"] == device["model"], f"it runs on {got['model']}")
        free = pool.started(model=device["model"], **body)
        models = {grant["model"] for grant in free["grants"]}
        say.expect(
            "E2", models == {device["model"]}, f"without naming the card it runs on {', '.join(models)}"
        )
        say.step("S3", "a model that the pool does not have", ABSENT)
        refusal = pool.refused(lambda: pool.submit(model=ABSENT, **body), "no_such_model")
        say.step("S4", f"a task on {ABSENT}", f"{refusal.status} {refusal.code}: {refusal.message}")
        say.expect("E3", ABSENT in refusal.message, f"it fails at once: {refusal.message}")
