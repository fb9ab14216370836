from collections.abc import Callable

from apps.conformance.harness.case_context import FINAL, CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.waiting import node_ready
from apps.conformance.test_cases.work_observation import devices_of, nodes_of

POLICIES = ("local", "local_first", "node_balanced", "node_compact", "device_balanced", "device_compact")
KEPT = ("placing", "ordering", "has_backfill", "patience_s", "aging_s")
SHARE = {"compute_percent": 30, "memory_mib": 128}
Fits = Callable[[list[dict], str], bool]


class Policies(TestCase):
    """Six policies on a fixed cluster of two nodes with two cards each, global and of a task's own (POOL-12.27)."""

    number = "12.27"
    seconds = 80

    def run(self, pool: CaseContext, say: Record) -> None:
        devices = self._cluster(pool)
        group = pool.group(devices)
        local = devices[-1]
        policy = pool.operator.get("scheduling-policy")
        pool.note("policy", "global", **{name: policy[name] for name in KEPT if name in policy})
        for name in POLICIES:
            found = pool.operator.call("PATCH", "scheduling-policy", {"placing": name})
            say.step("S1", f"global policy {name}", found["placing"])
            say.expect("E2", found["placing"] == name, f"the global policy is {found['placing']}")
            self._round(pool, say, ("S2", "E3"), name, group, local, {})
        # Any global policy: each task names its own, opposite to it.
        for name in POLICIES:
            other = "device_balanced" if name.endswith("compact") else "device_compact"
            pool.operator.call("PATCH", "scheduling-policy", {"placing": other})
            self._round(pool, say, ("S3", "E4"), name, group, local, {"placing": name})
            kept = pool.operator.get("scheduling-policy")["placing"]
            say.expect("E4", kept == other, f"the global policy stays {kept}")
        self._local(pool, say, group, local)

    @staticmethod
    def _cluster(pool: CaseContext) -> list[dict]:
        """Two nodes of the test's own: on those of the pool what others run would decide too."""
        agents = [pool.agent(devices="2x1:1024") for _node in range(2)]
        nodes = [node_ready(pool, agent.name) for agent in agents]
        return [device for node in nodes for device in pool.operator.all("devices", node=node["uid"])]

    @staticmethod
    def _round(
        pool: CaseContext,
        say: Record,
        names: tuple[str, str],
        policy: str,
        group: str,
        local: dict,
        own: dict,
    ) -> None:
        """Two tasks, one after the other: where they go follows from the policy alone."""
        body = {"resource_group": group, "local_node": local["node_uid"], **SHARE, **own}
        works = [_placed(pool, body) for _task in range(2)]
        works = [pool.in_state(work, "running") for work in works]
        places = "; ".join(f"{w['grants'][0]['node']} / {w['grants'][0]['device_uid'][-6:]}" for w in works)
        step, expectation = names
        say.step(step, f"two tasks by {policy}{' of their own' if own else ''}", places)
        say.expect(expectation, _RULES[policy](works, local["node"]), f"{policy}: {places}")
        for work in works:
            pool.client.post(f"workloads/{work['uid']}/stop", {"reason": "next round"})
        for work in works:
            pool.ended(work)

    @staticmethod
    def _local(pool: CaseContext, say: Record, group: str, local: dict) -> None:
        """Where the local node cannot serve, local waits and local first goes elsewhere."""
        body = {
            "resource_group": group,
            "local_node": local["node_uid"],
            "compute_percent": 80,
            "memory_mib": 128,
        }
        full = [_placed(pool, {**body, "placing": "local"}) for _task in range(2)]
        waiting = pool.submit(**body, placing="local")
        elsewhere = _placed(pool, {**body, "placing": "local_first"})
        found = pool.work(waiting)
        text = f"local: {found['state']}, {found['reason']}; local first: {', '.join(nodes_of(elsewhere))}"
        say.step("S3", f"{local['node']} is full", text, held=len(full))
        met = found["state"] == "pending" and nodes_of(elsewhere) != [local["node"]]
        say.expect("E4", met, text)


def _placed(pool: CaseContext, body: dict) -> dict:
    """Work that was given its place."""
    work = pool.submit(**body)

    def look() -> dict | None:
        found = pool.work(work)
        return found if found["grants"] or found["state"] in FINAL else None

    return pool.until(f"{work['name']} to be given its place", look)


def _same(values: list) -> bool:
    return len(set(map(str, values))) == 1


_RULES: dict[str, Fits] = {
    "local": lambda works, local: all(nodes_of(work) == [local] for work in works),
    "local_first": lambda works, local: all(nodes_of(work) == [local] for work in works),
    "node_balanced": lambda works, _local: not _same([nodes_of(work) for work in works]),
    "node_compact": lambda works, _local: _same([nodes_of(work) for work in works]),
    "device_balanced": lambda works, _local: not _same([devices_of(work) for work in works]),
    "device_compact": lambda works, _local: _same([devices_of(work) for work in works]),
}
