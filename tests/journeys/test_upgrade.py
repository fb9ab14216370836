"""An agent is upgraded while its work runs, and goes back by itself when the new release is no good."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from node_agent.protocol.messages import DesiredRelease, DesiredSlice
from node_agent.protocol.releases import BUILTIN_PATH, KEYS_PATH, ReleaseKeys
from node_agent.release import BUILTIN, ReleaseStore
from tests.unit.node_agent.releases import Maker, agent_files, archive
from tests.unit.node_agent.server import PortalServer, portal_server

pytestmark = [
    pytest.mark.journey,
    pytest.mark.req("POOL-12.20"),
    pytest.mark.req("POOL-12.22"),
    pytest.mark.xdist_group("upgrade"),
]
ROOT = Path(__file__).resolve().parents[2]
# Long enough for a good release to reach the server on a slow machine; one that hangs is given less.
GATE_S, SHORT_GATE_S = 120, 4
WAIT = "import time; print('up', flush=True); time.sleep(600)"


class Node:
    """A real agent, and the portal that wishes releases for it."""

    def __init__(self, portal: PortalServer, home: Path) -> None:
        self.portal, self.home, self.maker = portal, home, Maker()
        self.store = ReleaseStore(home)
        self.env = {
            **os.environ,
            "WEIR_AGENT_SERVER": portal.url,
            "WEIR_AGENT_JOIN_TOKEN": "join-token-1",
            "WEIR_AGENT_NAME": "node-u",
            "WEIR_AGENT_STATE_DIR": str(home),
            "WEIR_AGENT_DEVICES": "1x1:4096",
            "WEIR_AGENT_RELEASE_KEYS": self.maker.key,
            "WEIR_AGENT_RELEASE_GATE_S": str(GATE_S),
            "PYTHONPATH": str(ROOT),
        }
        self.output = home.with_suffix(".out")

    def start(self) -> None:
        seen = len(self.portal.syncs)
        command = [sys.executable, "-m", "node_agent"]
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(command, env=self.env, stdout=output, stderr=output)
        self.until(lambda: len(self.portal.syncs) > seen)

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(60) == 0, self.output.read_text()

    def restart(self, gate_s: int) -> None:
        """As somebody would who sets another gate."""
        self.stop()
        self.env["WEIR_AGENT_RELEASE_GATE_S"] = str(gate_s)
        self.start()

    def until(self, is_so: Callable[[], object], wait_s: float = 300) -> None:
        end = time.monotonic() + wait_s
        while not is_so():
            assert time.monotonic() < end, self.output.read_text()
            assert self.process.poll() is None, self.output.read_text()
            time.sleep(0.05)

    def wish(self, version: str, content: bytes) -> DesiredRelease:
        wish = self.maker.wish(version, content)
        self.portal.files[wish.path] = content
        self.portal.release = wish
        return wish

    @property
    def version(self) -> str:
        return self.portal.syncs[-1].node.agent_version

    @property
    def problem(self) -> str:
        return self.portal.syncs[-1].node.release_problem


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with portal_server() as portal:
        started = Node(portal, tmp_path / "home")
        started.start()
        try:
            yield started
        finally:
            started.process.kill()
            started.process.wait()
            stop = [sys.executable, "-m", "node_agent", "stop-work"]
            subprocess.run(stop, env=started.env, check=True, capture_output=True, timeout=180)


def test_a_release_signed_by_a_revoked_key_is_refused_though_it_was_pinned(node: Node):
    installed, told = node.version, ReleaseKeys(revoked=(node.maker.key,))
    node.portal.files[KEYS_PATH] = told.model_dump_json().encode()
    node.wish("9.1", archive("9.1", agent_files()))
    node.until(lambda: node.problem)
    assert "no key is trusted" in node.problem
    assert (node.version, node.store.read().version) == (installed, BUILTIN)


def test_a_release_is_taken_up_while_work_runs_and_given_back_again(node: Node):
    device = node.portal.syncs[-1].devices[0]
    node.portal.desired["s-up"] = DesiredSlice.model_validate(
        {
            "slice_uid": "s-up", "generation": 1, "device_uid": device.uid, "compute_percent": 20,
            "memory_mib": 256, "state": "running",
            "work": {"argv": ("python", "-c", WAIT), "grace_s": 1},
        }
    )  # fmt: skip
    node.until(lambda: "s-up" in node.portal.reports and node.portal.reports["s-up"].state == "running")
    installed, began = node.version, node.portal.reports["s-up"].started_at
    node.wish("9.1", archive("9.1", agent_files()))
    node.until(lambda: node.version == "9.1")
    assert node.portal.reports["s-up"].started_at == began
    assert node.portal.syncs[-1].node.components["session_server"] == "9.1"
    node.until(lambda: not node.store.read().is_trial)
    # A proven release takes the launcher's place at the next start: one process, one pid, one signal.
    node.stop()
    node.start()
    assert node.version == "9.1"
    children = Path(f"/proc/{node.process.pid}/task/{node.process.pid}/children").read_text()
    assert "node_agent" not in "".join(
        Path(f"/proc/{child}/cmdline").read_text() for child in children.split()
    ).replace("node_agent.runtime", "")
    node.portal.release = DesiredRelease(
        version=installed, path=BUILTIN_PATH, sha256="0" * 64, signature="0" * 128
    )
    node.until(lambda: node.version == installed)
    assert (node.portal.reports["s-up"].state, node.portal.reports["s-up"].started_at) == ("running", began)
    assert node.problem == ""


@pytest.mark.parametrize(
    ("code", "gate_s", "says"),
    [
        (b"raise SystemExit(3)\n", GATE_S, "ended with status 3"),
        (b"import time\ntime.sleep(600)\n", SHORT_GATE_S, f"within {SHORT_GATE_S} s"),
    ],
    ids=["ends", "hangs"],
)
def test_a_release_that_does_not_reach_the_server_is_rolled_back(
    node: Node, code: bytes, gate_s: int, says: str
):
    installed = node.version
    node.restart(gate_s)
    files = agent_files() | {"node_agent/daemon.py": code}
    node.wish("9.2", archive("9.2", files))
    node.until(lambda: says in node.problem)
    assert node.version == installed
    # The same one is not tried again while it stays wished for; another one is.
    boot = node.portal.syncs[-1].boot_id
    time.sleep(1)
    assert node.portal.syncs[-1].boot_id == boot
    node.restart(GATE_S)
    node.wish("9.3", archive("9.3", agent_files()))
    node.until(lambda: node.version == "9.3")
    assert node.problem == ""


def test_a_wrong_signature_and_a_truncated_file_change_nothing(node: Node):
    installed, boot = node.version, node.portal.syncs[-1].boot_id
    content = archive("9.4", agent_files())
    wish = node.wish("9.4", content)
    node.portal.release = wish.model_copy(update={"signature": Maker().wish("9.4", content).signature})
    node.until(lambda: "not signed" in node.problem)
    node.portal.files[wish.path] = content[: len(content) // 2]
    node.portal.release = wish
    node.until(lambda: "digest differs" in node.problem)
    assert (node.version, node.portal.syncs[-1].boot_id) == (installed, boot)
    assert not node.store.exists
    # Once the file is whole again it is taken: what failed is wished for anew.
    node.portal.release = None
    node.portal.files[wish.path] = content
    time.sleep(0.5)
    node.portal.release = wish
    node.until(lambda: node.version == "9.4")


def test_an_agent_killed_on_the_way_comes_back_in_one_of_the_two_and_ends_in_the_new_one(node: Node):
    installed = node.version
    content = archive("9.5", agent_files())
    node.wish("9.5", content)
    for delay_s in (0.05, 0.4, 0.9):
        time.sleep(delay_s)
        node.process.send_signal(signal.SIGKILL)
        node.process.wait()
        node.start()
        assert node.version in (installed, "9.5")
    node.until(lambda: node.version == "9.5")
    node.until(lambda: not node.store.read().is_trial)


def test_a_damaged_release_gives_way_to_what_is_installed(node: Node):
    installed = node.version
    node.wish("9.6", archive("9.6", agent_files()))
    node.until(lambda: node.version == "9.6" and not node.store.read().is_trial)
    node.stop()
    (node.store.path("9.6") / "node_agent/machine.py").write_text("torn")
    node.portal.release = None
    node.start()
    assert node.version == installed
    assert "damaged" in node.problem
    assert node.store.read().version == BUILTIN
