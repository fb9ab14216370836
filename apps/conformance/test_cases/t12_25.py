from typing import Any

from apps.conformance.harness.agents import Agent
from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.waiting import node_ready, why_not
from apps.conformance.test_cases.work_observation import PROGRESS, rounds

SMALL = {"compute_percent": 10, "memory_mib": 64}


class Expansion(TestCase):
    """A node and a card join and leave while a task runs (POOL-12.25)."""

    number = "12.25"
    seconds = 40

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        body = {"compute_percent": 20, "memory_mib": 128}
        steady = pool.started(device=device["uid"], argv=list(PROGRESS), **body)
        say.step("S1", f"an AI task on {device['node']}", steady["state"])
        agent = pool.agent()
        node = node_ready(pool, agent.name)
        cards = _cards(pool, node)
        say.step(
            "S2",
            f"a new node {agent.name}",
            f"{node['state']} with {len(cards)} card, made by nobody by hand",
        )
        say.expect("E2", len(cards) == 1, f"{agent.name} reported itself with its card")
        self._unharmed(pool, say, "E2", steady)
        new, work = self._card(pool, say, agent, node, cards, body)
        self._unharmed(pool, say, "E3", steady)
        self._card_leaves(pool, say, agent, node, new, work)
        self._node_leaves(pool, say, node, body, cards[0])
        self._unharmed(pool, say, "E5", steady)

    @staticmethod
    def _card(
        pool: CaseContext, say: Record, agent: Agent, node: dict, cards: list, body: dict
    ) -> tuple[dict, dict]:
        agent.devices_set(2)
        known = {row["uid"] for row in cards}
        new = pool.until(
            "the new card", lambda: next((r for r in _cards(pool, node) if r["uid"] not in known), None)
        )
        work = pool.started(device=new["uid"], **body)
        say.step("S3", f"a card more in {agent.name}, a task on it", f"{new['uid']}: {work['state']}")
        say.expect(
            "E3", work["state"] == "running", f"the card reported itself as {new['uid']} and runs a task"
        )
        return new, work

    @staticmethod
    def _card_leaves(
        pool: CaseContext, say: Record, agent: Agent, node: dict, card: dict, work: dict
    ) -> None:
        pool.operator.post(f"devices/{card['uid']}/remove")
        leaving = next((row for row in _cards(pool, node) if row["uid"] == card["uid"]), None)
        still = pool.work(work)["state"]
        say.step(
            "S4", "removal of the card while its task runs", f"the task is {still}", leaving=bool(leaving)
        )
        waits = leaving is not None and leaving["is_leaving"] and still == "running"
        say.expect("E4", waits, f"removal waits: the card is leaving, its task is {still}")
        refusal = why_not(pool, device=card["uid"], **SMALL)
        say.expect("E4", bool(refusal), f"it takes no new work: {refusal}")
        agent.devices_set(1)
        pool.halt(work)
        pool.until("the card to leave", lambda: all(row["uid"] != card["uid"] for row in _cards(pool, node)))
        say.step("S4", "the end of its task", "the card has left the pool")
        say.expect("E4", True, "once its task had ended the card left by itself")

    @staticmethod
    def _node_leaves(pool: CaseContext, say: Record, node: dict, body: dict, card: dict) -> None:
        work = pool.started(device=card["uid"], **body)
        pool.operator.post(f"nodes/{node['uid']}/remove")
        still = pool.work(work)["state"]
        say.step("S5", "removal of the node while a task runs there", f"the task is {still}")
        there = any(row["uid"] == node["uid"] for row in pool.operator.all("nodes"))
        say.expect("E5", there and still == "running", f"removal waits: the task is {still}")
        refusal = why_not(pool, node=node["uid"], **SMALL)
        say.expect("E5", bool(refusal), f"it takes no new work: {refusal}")
        pool.halt(work)
        pool.until(
            "the node to leave", lambda: all(r["uid"] != node["uid"] for r in pool.operator.all("nodes"))
        )
        say.step("S5", "the end of its task", "the node has left the pool")
        say.expect("E5", True, "once its task had ended the node left by itself")

    @staticmethod
    def _unharmed(pool: CaseContext, say: Record, name: str, work: dict) -> None:
        rows = rounds(pool, work)
        state = pool.work(work)["state"]
        one = len({row.process for row in rows}) == 1
        text = f"the task on the other node is {state}, one process with {len(rows)} rounds"
        say.expect(name, one and state == "running", text)


def _cards(pool: CaseContext, node: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in pool.operator.all("devices") if row["node_uid"] == node["uid"]]
