from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.waiting import why_not

DETAILS = ("name", "state", "address", "components", "devices")


class Nodes(TestCase):
    """A node is disabled and enabled while work runs on it, and its details are viewed (POOL-12.17)."""

    number = "12.17"
    seconds = 10

    def run(self, pool: CaseContext, say: Record) -> None:
        device, *_others = pool.take_node(nodes=2)
        uid = device["node_uid"]
        nodes = [row["name"] for row in pool.operator.all("nodes")]
        say.step("S1", "the list of nodes", ", ".join(nodes))
        body = {"device": device["uid"], "compute_percent": 10, "memory_mib": 256}
        work = pool.started(**body)
        pool.note("node", uid)
        pool.operator.post(f"nodes/{uid}/drain")
        state = pool.operator.get(f"nodes/{uid}")["state"]
        say.step("S2", f"{device['node']} disabled", state)
        reason = why_not(pool, **body)
        say.expect("E2", bool(reason), f"disabled, the node takes no new task: {reason}")
        still = pool.work(work)["state"]
        say.expect("E2", still == "running", f"the task that runs there is {still}")
        pool.operator.post(f"nodes/{uid}/undrain")
        again = pool.started(**body)
        say.step("S2", f"{device['node']} enabled, a task on it", again["state"])
        say.expect("E2", again["state"] == "running", "enabled it takes work again")
        found = pool.operator.get(f"nodes/{uid}")
        told = {name: found.get(name) for name in DETAILS}
        cards = [f"{row['vendor']} {row['model']}" for row in found.get("devices", [])]
        say.step("S3", f"the details of {device['node']}", ", ".join(cards), state=found["state"])
        missing = [name for name, value in told.items() if value in (None, "", [], {})]
        say.expect(
            "E2", not missing, f"details tell {', '.join(DETAILS)}" + (f", not {missing}" if missing else "")
        )
