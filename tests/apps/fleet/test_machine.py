"""The agent's real mind against the real server: they converge, whatever gets lost between them (PLAT-OPS-22)."""

import random
from dataclasses import replace

import pytest

from apps.fleet.models import Slice
from apps.fleet.services.slices.slice_lifecycle import slice_stop
from apps.kernel.actor import SYSTEM
from node_agent.instructions import Forget, Start, Stop
from node_agent.machine import DevicesFound, Machine, Observed, Replied
from node_agent.protocol.fields import TERMINAL_STATES
from node_agent.protocol.sync import SyncReply
from node_agent.slice_state import LocalSlice
from tests.apps.fleet.agent import desire, held, report

pytestmark = pytest.mark.req("PLAT-OPS-22")


class AgentAtOnce:
    """A runtime that does at once what the machine says, and counts how often each slice was started."""

    def __init__(self, node):
        self.node, self.held, self.starts = node, {}, {}
        self.reboot()

    def reboot(self):
        self.node.reboot()
        self.machine = Machine()
        self.do(self.machine.handle(DevicesFound(self.node.devices)))

    def turn(self, *, is_sent=True, is_answered=True):
        self.do(self.machine.handle(Observed(tuple(self.held.values()))))
        message = self.node.message(slices=self.machine.reports())
        if is_sent:
            response = self.node.send(message)
            assert response.status_code == 200
            if is_answered:
                self.do(self.machine.handle(Replied(SyncReply.model_validate_json(response.content))))

    def do(self, instructions):
        for instruction in instructions:
            match instruction:
                case Start(wanted):
                    self.starts[wanted.slice_uid] = self.starts.get(wanted.slice_uid, 0) + 1
                    row = Slice.plain.get(uid=wanted.slice_uid)
                    told = report(row, generation=wanted.generation)
                    self.held[wanted.slice_uid] = LocalSlice(
                        wanted.device_uid, wanted.compute_percent, wanted.memory_mib, told
                    )
                case Stop(uid, generation):
                    self.end(uid, generation=generation, reason_code="stopped")
                case Forget(uid):
                    del self.held[uid]

    def end(self, uid, **how):
        known = self.held[uid]
        told = known.report.model_copy(update={"state": "exited", **how})
        self.held[uid] = replace(known, report=told)


@pytest.mark.parametrize("seed", range(3))
def test_server_and_agent_converge_over_a_bad_line(node, acme, seed):
    chance = random.Random(seed)
    running = AgentAtOnce(node)
    rows = []
    for _ in range(30):
        if len(rows) < 8 and chance.random() < 0.5:
            rows.append(desire(acme, percent=5, mib=10))
        if rows and chance.random() < 0.2:
            slice_stop(actor=SYSTEM, slice_uid=chance.choice(rows).uid, reason="enough")
        live = [uid for uid, one in running.held.items() if one.report.state not in TERMINAL_STATES]
        if live and chance.random() < 0.1:
            running.end(chance.choice(live), reason_code="completed")
        if chance.random() < 0.1:
            running.reboot()
        running.turn(is_sent=chance.random() < 0.7, is_answered=chance.random() < 0.7)
    for row in rows:
        slice_stop(actor=SYSTEM, slice_uid=row.uid, reason="the end")
    for _ in range(4):
        running.turn()
    assert not Slice.plain.exclude(state__in=["exited", "released"]).exists()
    assert not Slice.plain.filter(closed_at=None).exists()
    assert running.held == {}
    assert held() == (0, 0, False)
    assert set(running.starts.values()) <= {1}
