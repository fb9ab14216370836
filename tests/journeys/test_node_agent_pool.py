"""The node agent of a pool through real processes: sessions, cards plugged in, configuration, a full disk, a
wrong clock, and an agent that dies at a bad moment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from node_agent.config import AgentSettings, CpuPlan
from node_agent.drivers.cpu import CpuDriver
from node_agent.protocol.messages import AgentConfig, DesiredSession, DesiredSlice, WorkSpec
from node_agent.remote_config import Configured
from node_agent.runtime.process_runtime import ProcessRuntime
from node_agent.sessions.available import torch_version
from tests.journeys.test_node_agent_runtime import (
    SPIN,
    WAIT,
    Agent,
    agent,  # noqa: F401
    assert_contiguous,
    portal,  # noqa: F401
    seconds_of,
)
from tests.unit.node_agent.server import PortalServer

# Slices have names of their own: an agent ends all processes that bear the name of a slice it has lost.
pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("pool")]
TOKEN = "a-token-of-sixteen-characters-or-more"


def port_of(agent: Agent, uid: str) -> int | None:  # noqa: F811
    report = agent.report(uid)
    return report.session.port if report is not None and report.session is not None else None


def fill(path: Path) -> None:
    """Write until the disk is full. Raises OSError then."""
    with path.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


@pytest.mark.req("POOL-12.3", "POOL-12.22")
@pytest.mark.skipif(not torch_version(), reason="sessions need PyTorch, which is not installed")
def test_a_session_is_served_and_outlives_its_agent(agent: Agent) -> None:  # noqa: F811
    device = agent.portal.syncs[-1].devices[0]
    assert "session" in device.slice_drivers
    agent.portal.desired["pool-s"] = DesiredSlice(
        slice_uid="pool-s", generation=1, device_uid=device.uid, compute_percent=50, memory_mib=64, state="running",
        work=WorkSpec(kind="session", grace_s=1), session=DesiredSession(token=TOKEN),
    )  # fmt: skip
    agent.until(lambda: port_of(agent, "pool-s"), 300)
    first = agent.report("pool-s")
    assert first is not None
    assert first.session is not None
    assert (first.driver, first.mounted, first.session.host) == ("session", False, "127.0.0.1")
    assert agent.portal.syncs[-1].node.components["torch"] == torch_version()
    worker = agent.shim_state("pool-s")["work_pid"]
    agent.kill()
    agent.start()
    again = agent.until_state("pool-s", "running")
    assert again.session is not None
    assert (again.session.port, again.session.fingerprint) == (first.session.port, first.session.fingerprint)
    assert agent.shim_state("pool-s")["work_pid"] == worker
    stop = {"state": "stopped", "generation": 2}
    agent.portal.desired["pool-s"] = agent.portal.desired["pool-s"].model_copy(update=stop)
    assert agent.until_state("pool-s", "exited").reason_code == "stopped"
    assert not psutil.pid_exists(int(str(worker)))


def want_session(agent: Agent, uid: str, session: DesiredSession, generation: int = 1) -> None:  # noqa: F811
    agent.portal.desired[uid] = DesiredSlice(
        slice_uid=uid, generation=generation, device_uid=agent.portal.syncs[-1].devices[0].uid,
        compute_percent=40, memory_mib=64, state="running", work=WorkSpec(kind="session", grace_s=1),
        session=session,
    )  # fmt: skip


@pytest.mark.req("POOL-12.23", "POOL-12.2")
@pytest.mark.skipif(not torch_version(), reason="sessions need PyTorch, which is not installed")
def test_a_session_is_resized_and_moves_while_its_client_computes(agent: Agent) -> None:  # noqa: F811
    import torch
    from weir.link.remote import RemoteLink

    from tests.sessions.client import Hand

    ticket = "a-ticket-that-opens-once"
    want_session(agent, "pool-from", DesiredSession(token=TOKEN))
    want_session(agent, "pool-to", DesiredSession(token=TOKEN, ticket=ticket))
    agent.until(lambda: port_of(agent, "pool-from") and port_of(agent, "pool-to"), 300)
    source, target = agent.report("pool-from").session, agent.report("pool-to").session  # type: ignore[union-attr]
    assert source is not None
    assert target is not None
    link = RemoteLink(source.host, source.port or 0, source.fingerprint or "", TOKEN, timeout_s=120)
    hand = Hand(link)
    total = hand.up(torch.zeros(4))
    hand.run("aten::add_.Scalar", [total], ["c", 1])
    agent.until(lambda: agent.report("pool-from").mounted)  # type: ignore[union-attr]
    pid = agent.shim_state("pool-from")["work_pid"]
    want_session(agent, "pool-from", DesiredSession(token=TOKEN), generation=2)
    resized = {"compute_percent": 50, "memory_mib": 96}
    agent.portal.desired["pool-from"] = agent.portal.desired["pool-from"].model_copy(update=resized)
    agent.until(lambda: agent.shim_state("pool-from")["memory_mib"] == 96)
    agent.until(lambda: link.quota_mib == 96)
    assert agent.shim_state("pool-from")["work_pid"] == pid

    place = {
        "slice_uid": "pool-to",
        "host": target.host,
        "port": target.port,
        "fingerprint": target.fingerprint,
    }
    moving = DesiredSession.model_validate({"token": TOKEN, "move_to": place | {"ticket": ticket}})
    agent.portal.desired["pool-from"] = agent.portal.desired["pool-from"].model_copy(
        update={"session": moving}
    )

    def is_moved() -> bool:
        hand.run("aten::add_.Scalar", [total], ["c", 1])
        counted.append(float(hand.down(total)[0]))
        report = agent.report("pool-to")
        return report is not None and report.session is not None and report.session.attached

    counted: list[float] = []
    agent.until(is_moved, 120)
    agent.until(lambda: agent.report("pool-to").session.move == "done")  # type: ignore[union-attr]
    # Two processes tell of themselves: the source may be heard of one round after the target.
    agent.until(lambda: agent.report("pool-from").session.move == "sent")  # type: ignore[union-attr]
    assert counted == [float(number) for number in range(2, len(counted) + 2)]
    stop = {"state": "stopped", "generation": 3}
    agent.portal.desired["pool-from"] = agent.portal.desired["pool-from"].model_copy(update=stop)
    agent.until_state("pool-from", "exited")
    hand.run("aten::add_.Scalar", [total], ["c", 1])
    assert float(hand.down(total)[0]) == counted[-1] + 1
    link.close()


@pytest.mark.req("POOL-12.25", "POOL-12.20", "POOL-12.18", "POOL-7.6b")
def test_cards_configuration_and_log_lines_come_and_go_while_work_runs(
    portal: PortalServer,  # noqa: F811
    tmp_path: Path,
) -> None:
    made = Agent(portal, tmp_path / "home")
    file = tmp_path / "devices.json"
    made.env["WEIR_AGENT_DEVICES_FILE"] = str(file)
    file.write_text('{"count": 1, "cores": 1, "memory_mib": 512}')
    made.start()
    try:
        made.want("pool-w", WAIT)
        made.until_state("pool-w", "running")
        work = made.shim_state("pool-w")["work_pid"]
        file.write_text('{"count": 2, "cores": 1, "memory_mib": 512}')
        made.until(lambda: len(portal.syncs[-1].devices) == 2)
        portal.config = AgentConfig(generation=5, meter_s=2, labels={"zone": "b"})
        made.until(lambda: portal.syncs[-1].node.config_generation == 5)
        assert portal.syncs[-1].node.labels == {"zone": "b"}
        made.want("pool-x", SPIN, run_timeout_s=4, device_uid=portal.syncs[-1].devices[1].uid)
        made.until_state("pool-x", "exited")
        assert [(row.end_at - row.start_at).seconds for row in made.until_told("pool-x")] == [2, 2]
        told = [row.text for row in portal.events if row.slice_uid == "pool-x"]
        assert any("running" in text for text in told)
        assert any("run time of 4 s reached" in text for text in told)
        assert made.shim_state("pool-w")["work_pid"] == work
    finally:
        made.call("stop-work")
        made.kill()
        made.output.close()


@pytest.mark.req("PLAT-OPS-26")
def test_a_clock_an_hour_off_is_told_once_and_metering_does_not_follow_it(agent: Agent) -> None:  # noqa: F811
    agent.want("pool-w", SPIN, run_timeout_s=4)
    agent.until_state("pool-w", "running")
    agent.portal.clock = timedelta(hours=1)
    agent.until_state("pool-w", "exited")
    rows = agent.until_told("pool-w")
    assert_contiguous(rows)
    assert seconds_of(rows) == 4
    warnings = [row.text for row in agent.portal.events if "this node's clock" in row.text]
    assert len(warnings) == 1
    assert "behind the server's: set it by NTP" in warnings[0]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.req("PLAT-OPS-22")
def test_a_full_disk_refuses_new_slices_and_loses_nothing_of_the_old(
    portal: PortalServer,  # noqa: F811
    small_disk: Path,
) -> None:
    made = Agent(portal, small_disk / "home")
    made.start()
    try:
        made.want("pool-old", SPIN, run_timeout_s=8)
        made.until(lambda: len(portal.usage.get("pool-old", {})) >= 1)
        ballast = small_disk / "ballast"
        with pytest.raises(OSError, match="No space left"):
            fill(ballast)
        made.want("pool-new", WAIT)
        made.until(lambda: (report := made.report("pool-new")) is not None and report.state == "refused")
        refused = made.report("pool-new")
        assert refused is not None
        assert "look at the node's disk" in refused.reason
        ballast.unlink()
        made.until_state("pool-old", "exited")
        rows = made.until_told("pool-old")
        assert_contiguous(rows)
        assert seconds_of(rows) == 8
        made.want("pool-new", WAIT, generation=2)
        made.until_state("pool-new", "running")
    finally:
        made.call("stop-work")
        made.kill()
        made.output.close()


@pytest.mark.req("PLAT-OPS-22")
@pytest.mark.parametrize("is_started", [False, True])
def test_an_agent_killed_between_making_and_reporting_runs_the_work_once(
    portal: PortalServer,  # noqa: F811
    tmp_path: Path,
    is_started: bool,
) -> None:
    made = Agent(portal, tmp_path / "home")
    made.start()
    try:
        made.kill()
        mark = made.home / "slices" / "pool-w" / "work" / "runs"
        made.want("pool-w", f"open('runs', 'a').write('x')\n{WAIT}")
        # What the dead agent had come to: the folder is there, or the shim too, and nobody has heard of it.
        settings = AgentSettings(name="node-a", state_dir=made.home, devices=CpuPlan(1, 1, 4096))
        (device,) = CpuDriver(settings).discover()
        assert device.uid == portal.desired["pool-w"].device_uid
        runtime = ProcessRuntime(Configured(settings))
        runtime.make(portal.desired["pool-w"], device)
        if is_started:
            runtime.start("pool-w")
        made.start()
        made.until_state("pool-w", "running")
        made.until(lambda: b"up" in portal.logs.get("pool-w", b""))
        assert mark.read_text() == "x"
        assert sorted(os.listdir(made.home / "slices")) == ["pool-w"]
        spec = json.loads((made.home / "slices" / "pool-w" / "spec.json").read_text())
        assert spec["slice_uid"] == "pool-w"
    finally:
        made.call("stop-work")
        made.kill()
        made.output.close()
