import threading

from weir import ApiError, Client, Unreachable

from apps.conformance.harness.agents import Agent
from apps.conformance.harness.case_context import FINAL, CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.replicas import Replica, free_port
from apps.conformance.test_cases.waiting import node_ready

BODY = {"compute_percent": 10, "memory_mib": 128}
COUNT = 6


class Replicas(TestCase):
    """A replica of the control module is killed while it is asked for work: nothing is lost or doubled (POOL-8.1a)."""

    number = "8.1a"
    seconds = 30

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        replica = Replica(pool)
        replica.start()
        there = replica.people()
        work = pool.started(by=there.first, device=device["uid"], **BODY)
        say.step("S1", f"a second replica at {replica.url}, a task through it", work["state"])
        seen = pool.work(work)["state"]
        say.expect("E2", seen == "running", f"the first replica tells of the same task: {seen}")
        killer = threading.Timer(0.4, replica.kill)
        killer.start()
        names = [pool.name() for _number in range(COUNT)]
        lost = 0
        for name in names:
            body = {
                "name": name,
                "kind": "program",
                "argv": ["python", "-c", "import time; time.sleep(600)"],
                **BODY,
            }
            lost += self._ask(pool, there.first, {**body, "device": device["uid"]})
        killer.join()
        say.step(
            "S2",
            f"{COUNT} tasks while the replica is killed",
            f"{lost} were asked for again at the other one",
        )
        self._exact(pool, say, names, device)

    @staticmethod
    def _ask(pool: CaseContext, client: Client, body: dict) -> int:
        """At the replica, else at the other one, unless it is there already: as a careful caller does."""
        try:
            client.post("workloads", body)
        except (Unreachable, ApiError):
            rows = pool.client.get("workloads", page_size=200)["results"]
            if not any(row["name"] == body["name"] for row in rows):
                pool.client.post("workloads", body)
            return 1
        return 0

    @staticmethod
    def _exact(pool: CaseContext, say: Record, names: list[str], device: dict) -> None:
        rows = pool.client.get("workloads", page_size=200)["results"]
        mine = [row for row in rows if row["name"] in names]
        say.expect("E3", len(mine) == len(names), f"{len(mine)} of {len(names)} tasks exist, each once")
        for row in mine:
            pool.in_state(row, "running")
        held, sold = pool.device(device["uid"])["held_percent"], BODY["compute_percent"] * (len(names) + 1)
        say.expect("E3", held == sold, f"the card holds {held} %, {sold} % are allocated")
        states = {pool.work(row)["state"] for row in mine}
        say.expect("E3", not states & set(FINAL), f"all tasks are {', '.join(states)}")


class StartOrder(TestCase):
    """Node first or control first: the same healthy state (POOL-8.1b)."""

    number = "8.1b"
    seconds = 30

    def run(self, pool: CaseContext, say: Record) -> None:
        port = free_port()
        early = self._agent(pool, port)
        pool.sleep(3)
        joined = early.has_joined()
        say.step("S1", "an agent whose control module is not up", "it joined" if joined else "it waits")
        replica = Replica(pool, port)
        replica.start()
        self._healthy(pool, say, "S1", early)
        late = self._agent(pool, port)
        self._healthy(pool, say, "S2", late)

    @staticmethod
    def _agent(pool: CaseContext, port: int) -> Agent:
        return pool.agent(devices="1x1:512", server=f"http://127.0.0.1:{port}")

    @staticmethod
    def _healthy(pool: CaseContext, say: Record, step: str, agent: Agent) -> None:
        node = node_ready(pool, agent.name)
        work = pool.started(node=node["uid"], compute_percent=10, memory_mib=128)
        order = "node before control" if step == "S1" else "control before node"
        say.step(step, order, f"node {node['state']}, a task on it {work['state']}")
        say.expect("E2", work["state"] == "running", f"{order}: the node is ready and a task runs on it")
        pool.halt(work)


class Console(TestCase):
    """One of two replicas of the console is killed, callers go on at the other with the same sign-in (POOL-11a)."""

    number = "11a"
    seconds = 25

    def run(self, pool: CaseContext, say: Record) -> None:
        replicas = [Replica(pool) for _number in range(2)]
        for replica in replicas:
            replica.start(is_waited_for=False)
        for replica in replicas:
            pool.until("the replica to be ready", replica.is_ready, 60)
        names = [replica.people().first.me()["user"]["username"] for replica in replicas]
        say.step("S1", "two replicas of the console", f"both know {names[0]}")
        replicas[0].kill()
        gone = not replicas[0].is_ready()
        after = replicas[1].people().first.me()["user"]["username"]
        say.step("S2", "one of them killed", f"at the other one the same token is still {after}")
        text = f"one replica is gone, {after} works on at the other"
        say.expect("E2", gone and names == [after, after], text)
