import time

from apps.conformance.catalogue.tolerances import NODE_ALARM
from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.waiting import node_ready
from apps.conformance.test_cases.work_observation import PROGRESS, rounds

WITHIN_S = NODE_ALARM.value


class Resync(TestCase):
    """An agent is killed, the desired state changes, it is started: it follows by itself (POOL-8.1c)."""

    number = "8.1c"
    seconds = 25

    def run(self, pool: CaseContext, say: Record) -> None:
        agent = pool.agent(devices="1x1:1024")
        node = node_ready(pool, agent.name)
        body = {"node": node["uid"], "compute_percent": 20, "memory_mib": 128}
        stays = pool.started(**body, argv=list(PROGRESS))
        goes = pool.started(**body)
        before = rounds(pool, stays)
        agent.kill()
        say.step("S1", "the agent killed while two tasks run", "it is gone, its tasks run on")
        pool.client.post(f"workloads/{goes['uid']}/stop", {"reason": "changed while the node was away"})
        comes = pool.submit(**body)
        pool.sleep(2)
        agent.start()
        say.step(
            "S2", "one task stopped, one submitted meanwhile; the agent started", "it joins again by itself"
        )
        pool.ended(goes)
        pool.in_state(comes, "running")
        rows = rounds(pool, stays, len(before) + 5)
        one = {row.process for row in rows} == {before[0].process}
        text = f"the stopped task ended, the new one runs, the third is process {before[0].pid} throughout"
        say.expect("E2", one and pool.work(stays)["state"] == "running", text)


class NodeFault(TestCase):
    """A node falls silent: an alarm in time; it comes back: the alarm ends (POOL-11d)."""

    number = "11d"
    is_waiting = True
    seconds = 45

    def run(self, pool: CaseContext, say: Record) -> None:
        agent = pool.agent(devices="1x1:512")
        node_ready(pool, agent.name)
        agent.kill()
        began_s = time.monotonic()
        alarm = pool.until("the alarm", lambda: _about(pool, agent.name), WITHIN_S + 20)
        took_s = time.monotonic() - began_s
        say.step("S1", "the agent killed", f"{alarm['level']}: {alarm['title']}", seconds=round(took_s, 1))
        say.expect(
            "E2", took_s <= WITHIN_S, f"after {took_s:.1f} s (at most {WITHIN_S:.0f} s): {alarm['title']}"
        )
        agent.start()
        ended = pool.until("the alarm to end", lambda: _ended(pool, alarm["uid"]))
        say.step("S1", "the agent started again", f"the alarm ended at {ended['resolved_at']}")
        say.expect("E2", True, "the node is back and the alarm has ended")


def _about(pool: CaseContext, node: str) -> dict | None:
    rows = pool.operator.all("alarms", state="open")
    return next((row for row in rows if node in row["title"]), None)


def _ended(pool: CaseContext, alarm_uid: str) -> dict | None:
    found = pool.operator.get(f"alarms/{alarm_uid}")
    return found if found["state"] == "resolved" else None
