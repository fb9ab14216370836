"""Volumes as work finds them: its own to write where it may, read-only where not, and nothing beside them."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from node_agent.protocol.storage import STORAGE_MARK, VOLUME_SIZE
from tests.journeys.test_isolation import WAITING, agents, found_by, portal  # noqa: F401
from tests.journeys.test_node_agent_runtime import Agent

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("agent"),
    pytest.mark.skipif(os.geteuid() != 0, reason="users of their own can be given to work by root alone"),
]
MARK = uuid.uuid4().hex
# Whose the portal's files are: nobody that work ever runs as.
PORTAL_UID, PORTAL_GID = 4321, 8765


class Storage:
    """The portal's folder of volumes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(mode=0o700)
        (root / STORAGE_MARK).write_text(MARK)

    def volume(self, tenant: str = "acme") -> tuple[str, Path]:
        """Its key, and where its files lie."""
        key = f"{tenant}/{uuid.uuid4()}"
        for room in ("files", "uploads"):
            (self.root / key / room).mkdir(parents=True)
        for folder in (self.root, self.root / tenant, self.root / key, *(self.root / key).iterdir()):
            folder.chmod(0o700)
            os.chown(folder, PORTAL_UID, PORTAL_GID)
        return key, self.root / key / "files"

    def put(self, folder: Path, name: str, text: str) -> None:
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
        os.chown(folder / name, PORTAL_UID, PORTAL_GID)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "storage")


@pytest.fixture
def agent(agents: Callable[..., Agent], storage: Storage) -> Agent:  # noqa: F811
    return agents(WEIR_AGENT_STORAGE_DIR=str(storage.root))


def mount(key: str, path: str, *, read_only: bool = False) -> dict[str, object]:
    return {"key": key, "path": path, "read_only": read_only}


def test_work_writes_and_reads_its_volumes_and_climbs_out_of_none(agent: Agent, storage: Storage) -> None:
    key, files = storage.volume()
    other, others = storage.volume()
    strange, strangers = storage.volume("globex")
    storage.put(files, "in.txt", "from the portal")
    storage.put(others, "kept.txt", "as it was")
    storage.put(strangers, "secret.txt", "globex's")
    found = found_by(
        agent,
        "w",
        f"root, other, strange = {str(storage.root)!r}, {other!r}, {strange!r}\n"
        "found['read'] = open('/volumes/data/in.txt').read()\n"
        "os.makedirs('/volumes/data/out/deep')\n"
        "found['write'] = tried(lambda: open('/volumes/data/out/deep/x', 'w').write('from work'))\n"
        "found['owner'] = os.stat('/volumes/data/in.txt').st_uid == os.getuid()\n"
        "found['mode'] = tried(os.chmod, '/volumes/data/in.txt', 0o640)\n"
        "found['read-only read'] = open('/data/models/kept.txt').read()\n"
        "for name, act in dict(\n"
        "    append=lambda: open('/data/models/kept.txt', 'a'), make=lambda: open('/data/models/new', 'w'),\n"
        "    remove=lambda: os.remove('/data/models/kept.txt'), folder=lambda: os.mkdir('/data/models/d'),\n"
        "    mode=lambda: os.chmod('/data/models/kept.txt', 0o777), times=lambda: os.utime('/data/models/kept.txt'),\n"
        "    rename=lambda: os.rename('/data/models/kept.txt', '/data/models/k')).items():\n"
        "    found['ro ' + name] = tried(act)\n"
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "MS_REMOUNT, MS_BIND = 32, 4096\n"
        "found['remount'] = libc.mount(b'none', b'/data/models', None, MS_REMOUNT | MS_BIND, None)\n"
        "found['umount'] = libc.umount2(b'/data/models', 2)\n"
        "for path in (root, root + '/' + other, '/volumes/data/../../' + strange, '/volumes/data/..' + root):\n"
        "    found['list ' + path] = tried(os.listdir, path)\n"
        "found['volumes'] = sorted(os.listdir('/volumes')) + sorted(os.listdir('/data'))\n"
        "found['beside'] = tried(lambda: open('/volumes/x', 'w'))\n"
        "os.symlink(root + '/' + strange + '/files/secret.txt', '/volumes/data/link')\n"
        "found['link'] = tried(lambda: open('/volumes/data/link').read())\n"
        "found['device'] = tried(os.mknod, '/volumes/data/disk', 0o60600, os.makedev(8, 0))\n"
        "found['setuid'] = tried(os.chmod, '/volumes/data/out/deep/x', 0o4755)\n",
        volumes=[mount(key, "/volumes/data"), mount(other, "/data/models", read_only=True)],
    )
    assert (found["read"], found["write"], found["owner"], found["mode"]) == (
        "from the portal",
        "9",
        True,
        "None",
    )
    assert found["read-only read"] == "as it was"
    assert {said for name, said in found.items() if name.startswith("ro ")} == {"OSError"}
    assert (found["remount"], found["umount"]) == (-1, -1)
    assert {said for name, said in found.items() if name.startswith("list ")} <= {
        "FileNotFoundError",
        "PermissionError",
    }
    assert found["volumes"] == ["data", "models"]
    assert found["beside"] in ("OSError", "PermissionError")
    assert found["link"] == "FileNotFoundError"
    assert found["device"] == "PermissionError"
    # On disk all is the portal's, whoever made it.
    assert (files / "out" / "deep" / "x").read_text() == "from work"
    for path in (files / "out", files / "out" / "deep" / "x"):
        assert (path.stat().st_uid, path.stat().st_gid) == (PORTAL_UID, PORTAL_GID)
    assert (others / "kept.txt").read_text() == "as it was"
    assert sorted(os.listdir(others)) == ["kept.txt"]


def test_a_node_tells_of_the_storage_only_while_it_sees_its_mark(
    agent: Agent,
    storage: Storage,
    agents: Callable[..., Agent],  # noqa: F811
) -> None:
    def told(one: Agent) -> str:
        return one.portal.syncs[-1].node.storage

    agent.until(lambda: told(agent) == MARK)
    (storage.root / STORAGE_MARK).rename(storage.root / "away")
    agent.until(lambda: told(agent) == "")


def test_a_volume_that_is_not_there_or_has_no_place_ends_the_work_with_the_reason(
    agent: Agent, storage: Storage
) -> None:
    key, _files = storage.volume()
    gone = f"acme/{uuid.uuid4()}"
    wanted = {
        "gone": (mount(gone, "/volumes/x"), "not to be found on this node"),
        "covers": (mount(key, "/usr/lib"), "is something else on this node"),
    }
    linked, files = storage.volume()
    files.rename(files.with_name("moved"))
    files.symlink_to("/etc")
    wanted["link"] = (mount(linked, "/volumes/x"), "not to be found on this node")
    for uid, (volume, reason) in wanted.items():
        agent.want(uid, "print(1)", volumes=[volume])
        agent.until(lambda uid=uid: (agent.report(uid) or WAITING).state in ("failed", "refused"))
        assert reason in agent.report(uid).reason, agent.report(uid)


def test_work_that_writes_past_the_size_of_a_volume_is_ended_and_may_go_on_once_it_was_enlarged(
    agent: Agent, storage: Storage
) -> None:
    """Where the file system has no quotas: what is written is measured, and what is there stays."""
    key, files = storage.volume()
    size = files.parent / VOLUME_SIZE
    size.write_text("8\n")
    writing = (
        "import os, sys, time\n"
        "for n in range(4):\n"
        "    with open(f'/data/models/{n}-{os.getpid()}', 'wb') as f: f.write(os.urandom(5 << 20))\n"
        "    time.sleep(0.2)\n"
        "time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 60)\n"
    )
    agent.want("over", writing, volumes=[mount(key, "/data/models")])
    agent.until(lambda: (agent.report("over") or WAITING).state in ("exited", "failed"))
    report = agent.report("over")
    assert report is not None
    assert report.reason_code == "volume_exceeded", report
    assert report.reason.startswith("/data/models holds ")
    assert report.reason.endswith("MiB and may hold 8 MiB")
    kept = sorted(files.iterdir())
    assert kept, "what it wrote is the volume's"
    size.write_text("400\n")
    agent.want("on", writing.replace("else 60", "else 6"), volumes=[mount(key, "/data/models")])
    agent.until(lambda: (agent.report("on") or WAITING).state in ("exited", "failed"))
    assert agent.report("on").reason_code == "completed", agent.report("on")
    assert set(kept) < set(files.iterdir())


def test_a_node_says_how_volumes_are_held_to_their_sizes(agent: Agent, storage: Storage) -> None:
    agent.until(lambda: agent.portal.syncs[-1].node.storage_held == "watched")
