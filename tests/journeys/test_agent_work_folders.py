"""A work's folder through real agents: kept from one slice to the next, killed agents and all, and brought to another
node (ELA-810)."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from node_agent.protocol.folders import DesiredFolder, FolderArchive, FolderSend
from tests.journeys.test_node_agent_runtime import Agent, agent, portal
from tests.unit.node_agent.server import PortalServer, portal_server

__all__ = ["agent", "portal"]
pytestmark = [pytest.mark.journey, pytest.mark.req("ELA-810"), pytest.mark.xdist_group("agent")]

# What the documentation tells people to write: save in the working directory, and find it there again.
TRAINS = """
import pathlib, time
model = pathlib.Path("model.pt")
step = int(model.read_text()) if model.exists() else 0
model.write_text(str(step + 1))
print("step", step, flush=True)
time.sleep(600)
"""
KEY = "11111111-2222-3333-4444-555555555555.0"


def until_said(one: Agent, uid: str, words: str) -> None:
    one.until_state(uid, "running")
    log = one.home / "slices" / uid / "log.txt"
    one.until(lambda: words in log.read_text())


def stopped(one: Agent, uid: str) -> None:
    wish = one.portal.desired[uid]
    one.portal.desired[uid] = wish.model_copy(update={"state": "stopped", "generation": 2, "saves": True})
    one.until_state(uid, "exited")
    del one.portal.desired[uid]
    one.portal.forget = (uid,)
    one.until(lambda: uid not in one.portal.reports and not (one.home / "slices" / uid).exists())


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Agent]:
    """Another node with a portal of its own, as the wishes of two nodes are two."""
    with portal_server() as server:
        started = Agent(server, tmp_path / "second")
        try:
            yield started.start()
        finally:
            started.call("stop-work")
            if started.process.poll() is None:
                started.kill()
            started.output.close()


def test_work_finds_what_it_saved_on_its_node_and_on_the_next(agent: Agent, second: Agent) -> None:
    agent.want("one", TRAINS, folder=DesiredFolder(key=KEY))
    until_said(agent, "one", "step 0")
    agent.kill()
    agent.start()
    stopped(agent, "one")
    agent.until(lambda: agent.portal.syncs[-1].folders == (KEY,))
    agent.want("two", TRAINS, folder=DesiredFolder(key=KEY, is_kept=True))
    until_said(agent, "two", "step 1")
    stopped(agent, "two")
    agent.portal.folders_send = (FolderSend(key=KEY, transfer="t1", limit_bytes=2**30),)
    agent.until(lambda: "t1" in agent.portal.folders_sent)
    agent.portal.folders_send = ()
    assert (agent.home / "works" / KEY).exists(), "until it is over, or goes on elsewhere, it stays"
    agent.portal.folders_over = (KEY,)
    agent.until(lambda: not (agent.home / "works" / KEY).exists())
    goes_on(second, agent.portal)


def goes_on(second: Agent, first: PortalServer) -> None:
    fields = first.folders_sent["t1"].model_dump(exclude={"protocol", "problem"})
    archive = FolderArchive.model_validate(fields)
    second.want("three", TRAINS, folder=DesiredFolder(key=KEY, archive=archive))
    second.until_state("three", "refused")
    report = second.report("three")
    assert report is not None
    assert "its work folder could not be brought here" in report.reason, "no portal has it: it does not start"
    assert not (second.home / "works" / KEY).exists()
    second.portal.files |= first.files
    second.want("four", TRAINS, folder=DesiredFolder(key=KEY, archive=archive))
    until_said(second, "four", "step 2")


def test_a_new_work_begins_in_an_empty_folder(agent: Agent) -> None:
    agent.want("one", TRAINS, folder=DesiredFolder(key=KEY))
    until_said(agent, "one", "step 0")
    stopped(agent, "one")
    agent.want("two", TRAINS, folder=DesiredFolder(key=KEY))
    until_said(agent, "two", "step 0")


LEAVES = """
import os, pathlib, time
place = pathlib.Path(os.environ["WEIR_OUTPUTS"])
(place / "model.pt").write_text("weights")
(place / "passwd").symlink_to("/etc/passwd")
pathlib.Path("scratch").write_text("x")
print("left", place.name, flush=True)
time.sleep(600)
"""


def test_work_finds_its_folder_of_outputs_and_of_it_alone_is_sent(agent: Agent) -> None:
    agent.want("one", LEAVES, folder=DesiredFolder(key=KEY), outputs=True)
    until_said(agent, "one", "left outputs")
    stopped(agent, "one")
    request = FolderSend(key=KEY, transfer="t1", limit_bytes=2**30, outputs_only=True)
    agent.portal.folders_send = (request,)
    agent.until(lambda: "t1" in agent.portal.folders_sent)
    pieces = b"".join(agent.portal.files[name] for name in sorted(agent.portal.files) if "/t1/" in name)
    with tarfile.open(fileobj=io.BytesIO(pieces)) as archive:
        assert archive.getnames() == ["model.pt"]
