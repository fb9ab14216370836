"""Work saves itself at its server's wish, through a real agent that dies meanwhile (ELA-810)."""

from __future__ import annotations

import pytest

from tests.journeys.test_node_agent_runtime import Agent, agent, portal

__all__ = ["agent", "portal"]
pytestmark = [pytest.mark.journey, pytest.mark.req("ELA-810"), pytest.mark.xdist_group("agent")]

SAVES = """
import os, pathlib, signal, time
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(1))
print("up", flush=True)
while not asked:
    time.sleep(0.02)
while not pathlib.Path("may-save").exists():
    time.sleep(0.02)
open(os.environ["WEIR_CHECKPOINT_FILE"], "w").close()
while True:
    time.sleep(0.05)
"""


def test_a_checkpoint_is_told_though_the_agent_died_while_it_was_made(agent: Agent) -> None:
    agent.want("s", SAVES)
    wish = agent.portal.desired["s"]
    hook = {"signal": "USR1"}
    work = wish.work.model_validate(wish.work.model_dump() | {"checkpoint": hook, "grace_s": 300})
    agent.portal.desired["s"] = wish.model_copy(update={"work": work})
    agent.until_state("s", "running")
    log = agent.home / "slices" / "s" / "log.txt"
    agent.until(lambda: "up" in log.read_text())
    stopped = {"state": "stopped", "saves": True, "generation": 2}
    agent.portal.desired["s"] = agent.portal.desired["s"].model_copy(update=stopped)
    agent.until_state("s", "stopping")
    agent.until(lambda: "asked to save itself by USR1" in log.read_text())
    agent.kill()
    (agent.home / "slices" / "s" / "work" / "may-save").touch()
    agent.start()
    told = agent.until_state("s", "exited")
    assert told.reason_code == "stopped"
    assert told.checkpoint_at is not None
    assert told.ended_at is not None
    assert told.checkpoint_at <= told.ended_at
