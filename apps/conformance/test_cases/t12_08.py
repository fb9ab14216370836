from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.waiting import node_ready
from apps.conformance.test_cases.work_observation import nodes_of


class Node(TestCase):
    """The node that the card belongs to is named, once for each of two; a disabled one is refused (POOL-12.8)."""

    number = "12.8"
    seconds = 10

    def run(self, pool: CaseContext, say: Record) -> None:
        devices = pool.take(2, nodes=2)
        group = pool.group(devices)
        for device in devices:
            body = {
                "compute_percent": 10,
                "memory_mib": 256,
                "node": device["node_uid"],
                "resource_group": group,
            }
            work = pool.started(**body)
            say.step("S1", f"a task on node {device['node']}", work["state"])
            say.step("S2", "the node of its virtual card", ", ".join(nodes_of(work)))
            met = nodes_of(work) == [device["node"]]
            say.expect("E2", met, f"{device['node']} was named, {', '.join(nodes_of(work))} was given")
        self._disabled(pool, say)

    @staticmethod
    def _disabled(pool: CaseContext, say: Record) -> None:
        """A node of the test's own is disabled: work that names it is refused, not left waiting."""
        agent = pool.agent(devices="1x1:512")
        node = node_ready(pool, agent.name)
        pool.operator.post(f"nodes/{node['uid']}/drain")
        body = {"compute_percent": 10, "memory_mib": 128, "node": node["uid"]}
        refusal = pool.refused(lambda: pool.submit(**body), "node_unavailable")
        say.step(
            "S1", f"a task on node {agent.name}, which is disabled", f"{refusal.code}: {refusal.message}"
        )
        say.expect("E2", agent.name in refusal.message, f"a disabled node is refused: {refusal.message}")
