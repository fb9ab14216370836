"""What work has changed over its image becomes a layer, made by a real agent while the work holds still."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import signal
import tarfile
import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from node_agent.protocol.containers import ContainerSave, ContainerSaved, container_piece_path
from node_agent.protocol.folders import PIECE_BYTES
from node_agent.web.work_keeper import keeper_ask
from tests.factories.archive import busybox_layer, layer
from tests.journeys.test_containers import folder, offer, want
from tests.journeys.test_node_agent_runtime import Agent
from tests.unit.node_agent.server import PortalServer, portal_server

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("agent"),
    pytest.mark.skipif(os.geteuid() != 0, reason="users of their own can be given to work by root alone"),
    pytest.mark.req("PLAT-ASSET-4", "PLAT-AICFG-14"),
]
_LIMIT = 64 * 2**20
FILES = {
    "srv": folder(0o777),
    "srv/old": b"of the image",
    "srv/set": folder(0o777),
    "srv/set/first": b"1",
    "srv/set/second": b"2",
    "opt": folder(0o777),
}
CHANGES = """
cd /srv; echo new > new; rm old; rm -r set; mkdir set; echo third > set/third
ln new again; ln -s /srv/new linked; mkfifo pipe; echo x > .wh.new; echo '#!/bin/sh' > tool; chmod 4755 tool
mkdir -p /usr/lib; echo library > /usr/lib/mine; head -c 3000000 /dev/urandom > large; printf '' > "a name"
echo hidden > $HOME/in_home; echo hidden > /tmp/in_tmp; mkdir -p /opt/deep; echo deep > /opt/deep/file
"""
COUNTS = "echo done; n=0; while true; do n=$((n+1)); echo $n > /srv/count; done"


@pytest.fixture(scope="module")
def portal() -> Iterator[PortalServer]:
    if missing := [name for name in ("runc", "umoci", "busybox") if not shutil.which(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    with portal_server() as server:
        yield server


@pytest.fixture(scope="module")
def agent(portal: PortalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    home = tmp_path_factory.mktemp("saved")
    made = Agent(portal, home / "home")
    made.env |= {"WEIR_AGENT_USERS_DIR": str(home / "users"), "WEIR_AGENT_DEVICES": "1x2:8192"}
    yield made.start()
    made.call("stop-work")
    made.kill()
    made.output.close()


@pytest.fixture(scope="module")
def image(portal: PortalServer) -> dict[str, object]:
    return offer(portal, busybox_layer(), layer(FILES), Env=["PATH=/bin"])


def ask(agent: Agent, uid: str, *, limit_bytes: int = _LIMIT) -> str:
    transfer = str(uuid4())
    wanted = ContainerSave(slice_uid=uid, transfer=transfer, limit_bytes=limit_bytes)
    agent.portal.containers_save = (wanted,)
    return transfer


def told(agent: Agent, transfer: str) -> ContainerSaved:
    agent.until(lambda: transfer in agent.portal.containers_saved, wait_s=60)
    agent.portal.containers_save = ()
    return agent.portal.containers_saved[transfer]


def sent(agent: Agent, transfer: str) -> bytes:
    """The layer, as the portal has it."""
    said = told(agent, transfer)
    assert said.problem == ""
    pieces = [agent.portal.files[container_piece_path(transfer, number)] for number in range(said.pieces)]
    packed = b"".join(pieces)
    assert (len(packed), hashlib.sha256(packed).hexdigest()) == (said.size_bytes, said.sha256)
    return gzip.decompress(packed)


def running(agent: Agent, image: dict[str, object], script: str, **more: object) -> str:
    uid = f"s{uuid4().hex[:8]}"
    want(agent, uid, script, image, compute_percent=5, **more)
    agent.until(lambda: b"done" in agent.portal.logs.get(uid, b""), wait_s=60)
    return uid


def count_of(agent: Agent, uid: str) -> str:
    return (agent.home / "slices" / uid / "image" / "files" / "srv" / "count").read_text()


def members(plain: bytes) -> dict[str, tarfile.TarInfo]:
    return {one.name: one for one in tarfile.open(fileobj=io.BytesIO(plain))}


def test_what_was_changed_is_in_it_and_a_new_work_finds_it(agent, image):
    key = "s3cr3t-of-the-work"
    uid = running(agent, image, CHANGES + COUNTS, secrets={"API_KEY": key})
    transfer = ask(agent, uid)
    plain = sent(agent, transfer)
    found = members(plain)
    assert {name for name in found if name.startswith("srv/set")} == {
        "srv/set",
        "srv/set/.wh..wh..opq",
        "srv/set/third",
    }
    assert {
        "srv/new",
        "srv/.wh.old",
        "srv/linked",
        "srv/large",
        "srv/a name",
        "opt/deep/file",
    } <= found.keys()
    assert {found["srv/new"].type, found["srv/again"].type} == {tarfile.REGTYPE, tarfile.LNKTYPE}
    assert not {"srv/pipe", "srv/.wh.new"} & found.keys()
    assert agent.portal.containers_saved[transfer].left_out == 2
    assert {(one.uid, one.gid) for one in found.values()} == {(0, 0)}
    assert found["srv/tool"].mode == 0o755
    assert found["srv/new"].mode == 0o600, "it is the next work's own"
    # Nothing of the node, of the work's own folders, and of what Weir gives to work.
    assert not [name for name in found if name.split("/")[0] not in ("srv", "opt", "usr")]
    for secret in (key, "hidden", agent.portal.credential, "WEIR_SLICE", "in_home", "in_tmp"):
        assert secret.encode() not in plain
    # It goes on.
    before = count_of(agent, uid)
    agent.until(lambda: count_of(agent, uid) not in ("", before), wait_s=10)
    agent.until(lambda: not list((agent.home / "saves").iterdir()), wait_s=10)

    grown = offer(agent.portal, busybox_layer(), layer(FILES), plain, Env=["PATH=/bin"])
    look = "cd /srv; cat new again linked set/third /opt/deep/file /usr/lib/mine; ls -A . set"
    look += "; ./tool && echo ran; echo more >> new"
    seen = running(agent, grown, f"{look}; echo done; sleep 60")
    text = agent.portal.logs[seen].decode()
    assert text.count("new\n") >= 3
    assert {"third", "deep", "library", "count", "large", "ran"} <= set(text.split())
    assert not {"old", "first", "second", "pipe"} & set(text.split())
    assert "denied" not in text


def test_nothing_is_written_while_it_is_read(agent, image):
    """Two files that are always written one after the other never differ by more than that."""
    script = "cd /srv; echo done; n=0; while true; do n=$((n+1)); echo $n > a; echo $n > b; done"
    uid = running(agent, image, script)
    for _turn in range(3):
        plain = sent(agent, ask(agent, uid))
        with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
            texts = [tar.extractfile(f"srv/{name}").read() for name in "ab"]
        first, second = (int(text) if text else None for text in texts)
        assert first is None or second is None or 0 <= first - second <= 1


def test_work_that_starts_programs_without_end_holds_still_too(agent, image):
    uid = running(
        agent, image, "(while true; do (true | cat); done) & echo done; while true; do busybox true; done"
    )
    for _turn in range(5):
        assert sent(agent, ask(agent, uid))
    assert agent.report(uid).state == "running"


def test_what_cannot_be_saved_is_said_and_leaves_nothing(agent, image):
    uid = running(agent, image, "head -c 5000000 /dev/urandom > /srv/large; echo done; sleep 600")
    assert "may grow by" in told(agent, ask(agent, uid, limit_bytes=PIECE_BYTES)).problem
    assert "not run in a container" in told(agent, ask(agent, f"s{uuid4().hex[:8]}")).problem
    agent.until(lambda: not list((agent.home / "saves").iterdir()), wait_s=10)


def test_a_work_that_ends_meanwhile_is_said_so_or_saved_whole(agent, image):
    uid = running(agent, image, "head -c 20000000 /dev/urandom > /srv/large; echo done; sleep 600")
    transfer = ask(agent, uid)
    agent.portal.desired[uid] = agent.portal.desired[uid].model_copy(
        update={"generation": 2, "state": "stopped"}
    )
    said = told(agent, transfer)
    assert said.problem or said.pieces
    agent.until_state(uid, "exited")


def test_an_agent_that_dies_midway_lets_the_work_go_on_and_its_heir_saves_it(agent, image):
    uid = running(agent, image, f"head -c 40000000 /dev/urandom > /srv/large; {COUNTS}")
    transfer = ask(agent, uid)
    saves = agent.home / "saves"
    agent.until(lambda: saves.exists() and any(saves.iterdir()), wait_s=30)
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait(60)
    before = count_of(agent, uid)
    end_s = time.monotonic() + 10
    while count_of(agent, uid) in ("", before):
        assert time.monotonic() < end_s, "it is still held"
        time.sleep(0.05)
    agent.start()
    assert "srv/large" in members(sent(agent, transfer))


def test_what_holds_still_runs_nothing_beside_itself_and_goes_on_with_its_asker(agent, image):
    uid = running(agent, image, COUNTS)
    keeper = agent.home / "slices" / uid / "exec.sock"
    connection, said, _files = keeper_ask(keeper, {"hold": True}, 10)
    assert said == {"held": True}
    still = count_of(agent, uid)
    _other, refused, _files = keeper_ask(keeper, {"argv": ["true"], "tty": False}, 10)
    assert "holds still" in refused["detail"]
    _third, refused, _files = keeper_ask(keeper, {"hold": True}, 10)
    assert "refused" in refused
    time.sleep(0.5)
    assert count_of(agent, uid) == still
    connection.close()
    agent.until(lambda: count_of(agent, uid) not in ("", still), wait_s=10)
    assert json.loads((agent.home / "slices" / uid / "state.json").read_text())["state"] == "running"


def test_an_overlay_of_its_own_is_whole(agent, image):
    """A folder of the image that is renamed would else be a word about another place."""
    uid = running(agent, image, "cd /srv; mv set moved; chmod 600 old; echo done; sleep 600")
    found = members(sent(agent, ask(agent, uid)))
    assert {"srv/moved/first", "srv/moved/second", "srv/.wh.set"} <= found.keys()
