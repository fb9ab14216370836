"""Work in a container of an image: started by a real agent, as root, and each wall around it tried from inside."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import struct
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from node_agent.protocol.images import IMAGE_PIECE_BYTES, image_piece_path, manifest_path
from node_agent.protocol.slices import DesiredSlice
from tests.factories.archive import busybox_layer, layer, link, oci_image
from tests.journeys.test_node_agent_runtime import Agent
from tests.unit.node_agent.server import PortalServer, portal_server

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("agent"),
    pytest.mark.skipif(os.geteuid() != 0, reason="users of their own can be given to work by root alone"),
    pytest.mark.req("POOL-8.2c"),
]
_NEEDED = ("runc", "umoci", "busybox")


@pytest.fixture(scope="module")
def portal() -> Iterator[PortalServer]:
    if missing := [name for name in _NEEDED if not shutil.which(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    with portal_server() as server:
        yield server


@pytest.fixture(scope="module")
def agent(portal: PortalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    folder = tmp_path_factory.mktemp("containers")
    made = Agent(portal, folder / "home")
    made.env |= {"WEIR_AGENT_USERS_DIR": str(folder / "users"), "WEIR_AGENT_DEVICES": "1x2:8192"}
    yield made.start()
    made.call("stop-work")
    made.kill()
    made.output.close()


def offer(portal: PortalServer, *layers: bytes, **config: object) -> dict[str, object]:
    """An image at the portal, as work names it."""
    digest, files = oci_image(*layers, **config)
    version = str(uuid4())
    portal.files[manifest_path(version)] = files[digest]
    for name, content in files.items():
        for number in range(-(-len(content) // IMAGE_PIECE_BYTES)):
            part = content[number * IMAGE_PIECE_BYTES : (number + 1) * IMAGE_PIECE_BYTES]
            portal.files[image_piece_path(version, name, number)] = part
    return {"version": version, "digest": digest, "name": "box:1"}


@pytest.fixture(scope="module")
def image(portal: PortalServer) -> dict[str, object]:
    return offer(portal, busybox_layer(), Env=["FROM_IMAGE=yes", "PATH=/bin"])


@pytest.fixture
def run(agent: Agent, image: dict[str, object]) -> Callable[..., str]:
    """What a script prints that runs in a container, and why it ended."""

    def act(script: str, *, state: str = "exited", uid: str = "", **more: object) -> str:
        uid = uid or f"c{uuid4().hex[:8]}"
        want(agent, uid, script, more.pop("image", image), **more)
        ended = ("exited", "failed", "refused")
        agent.until(lambda: (found := agent.report(uid)) is not None and found.state in ended)
        report = agent.report(uid)
        assert report.state == state, (report, agent.portal.logs.get(uid))
        if state == "exited":
            agent.until(lambda: b"[weir] the work" in agent.portal.logs.get(uid, b""))
        return agent.portal.logs.get(uid, b"").decode() + report.reason

    return act


def want(agent: Agent, uid: str, script: str, image: dict[str, object], **more: object) -> None:
    device = agent.portal.syncs[-1].devices[0]
    work = {"argv": ("sh", "-c", script), "grace_s": 1, "image": image, **more.pop("work", {})}
    wanted = {"slice_uid": uid, "generation": 1, "device_uid": device.uid, "compute_percent": 20, "memory_mib": 256,
              "state": "running", "work": work}  # fmt: skip
    agent.portal.desired[uid] = DesiredSlice.model_validate(wanted | more)


def test_a_service_is_started_again_in_a_container_of_its_image(run):
    kept = {"health_path": "/", "restart": "failure", "max_restarts": 3, "start_s": 60}
    told = run(
        "echo FROM $FROM_IMAGE $PORT; echo >> $HOME/starts; [ $(wc -l < $HOME/starts) -ge 3 ] || exit 4",
        work={"service": kept},
    )
    assert told.count("FROM yes ") == 3
    assert told.count("the work ended with exit code 4: it is started again in") == 2
    assert told.endswith("the work finished")


def test_a_node_says_for_which_images_it_runs_work(agent):
    node = agent.portal.syncs[-1].node
    assert (node.containers, node.containers_problem) == ("amd64", "")


def test_work_sees_its_image_and_what_is_its_own_and_nothing_of_the_node(run, agent):
    told = run(
        "echo ROOT $(ls /); cat /etc/motd; echo ENV $FROM_IMAGE $WEIR_COMPUTE_PERCENT; pwd; echo HOME $HOME; "
        f"echo x > $HOME/kept; echo y > /tmp/t; ls -a {agent.home} {agent.home}/slices 2>&1; "
        "touch /x /bin/x 2>&1; ls -l /bin/x; chown 0 /x 2>&1; id; cat /proc/self/status"
    )
    assert "of the image" in told
    assert "ENV yes 20" in told
    top = told.partition("ROOT ")[2].partition("\n")[0].split()
    assert {"home", "opt", "root", "usr", "work"} & {*top} == set()
    assert int(told.partition("uid=")[2].partition("(")[0]) >= 60_000
    assert "/bin/x" in told.partition("HOME ")[2]
    assert "touch:" not in told, "what the image calls root's is the work's own"
    assert "chown: /x: Operation not permitted" in told
    assert not list((agent.home / "images").glob("*/rootfs/x")), "and the image stays as it is"
    for line in ("CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"):
        assert line in told
    assert "credential.json" not in told


def test_it_begins_where_its_image_says_and_is_nobody_but_its_own_user(run, agent):
    known = b"root:x:0:0:root:/root:/bin/sh\napp:x:0:0::/:/bin/sh\n"
    named = {"WorkingDir": "srv/app/../app", "User": "app:staff", "Env": ["PATH=/bin"]}
    image = offer(agent.portal, busybox_layer(), layer({"etc/passwd": known, "srv/app/x": b"here"}), **named)
    told = run("cat x; echo; pwd; id; cat /etc/passwd; echo HOME $HOME", image=image)
    uid = told.partition("uid=")[2].partition("(")[0]
    assert int(uid) >= 60_000
    assert f"uid={uid}(app)" in told
    for line in ("here", "/srv/app", "root:x:0:0:root:/root:/bin/sh", f"app:x:{uid}:{uid}::"):
        assert line in told
    assert "app:x:0:0" not in told
    at_home = run('test "$(pwd)" = "$HOME" && echo AT HOME; id -un', image=image | {"in_home": True})
    assert "AT HOME" in at_home
    for place in ("/proc/self/fd/7", "//proc/self/fd/7"):
        there = layer({"proc/self/fd/7": folder(0o755)})
        led = offer(agent.portal, busybox_layer(), there, Env=["PATH=/bin"], WorkingDir=place)
        assert "AT HOME" in run('test "$(pwd)" = "$HOME" && echo AT HOME', image=led)
    root = run("id", image=offer(agent.portal, busybox_layer(), Env=["PATH=/bin"], User="root"))
    assert "uid=0" not in root
    assert "(work)" in root


def test_what_belongs_to_the_user_of_its_image_is_the_works_own_and_nothing_else(run, agent):
    known = b"root:x:0:0:root:/root:/bin/sh\napp:x:1000:100::/:/bin/sh\n"
    files = {"etc/passwd": known, "srv/mine": owned(1000, 100), "srv/other": owned(1001, 100)}
    for named in ("app", "1000:100"):
        image = offer(agent.portal, busybox_layer(), layer(files), Env=["PATH=/bin"], User=named)
        told = run(
            "cd /srv; echo more >> mine && echo WROTE; echo x >> other 2>&1; echo x > /bin/new 2>&1; "
            "stat -c '%u %a' mine other /bin/busybox; echo UID=$(id -u).",
            image=image,
        )
        uid = told.partition("UID=")[2].partition(".")[0]
        assert "WROTE" in told
        assert told.count("ermission denied") == 2
        assert (f"{uid} 600" in told, "1001 644" in told, "0 755" in told) == (True, True, True)


def owned(uid: int, gid: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo()
    entry.uid, entry.gid, entry.mode = uid, gid, 0o600 if uid == 1000 else 0o644
    return entry


WALLS = {
    "mount": "mount -t tmpfs none /tmp",
    "bind": "mount -o bind /proc /tmp",
    "user namespace": "unshare -U true",
    "mount namespace": "unshare -m true",
    "chroot": "chroot / true",
    "device": "mknod /tmp/disk b 254 0",
    "root of the first process": "ls /proc/1/root",
    "first process": "kill -9 1",
    "log of the kernel": "dmesg",
    "settings of the kernel": "echo 1 > /proc/sys/kernel/panic",
    "control groups": "ls /sys/fs/cgroup/memory",
    "core pattern": "echo x > /proc/sys/kernel/core_pattern",
    "memory of the kernel": 'test -n "$(head -c 1 /proc/kcore)"',
    "sysrq": "echo b > /proc/sysrq-trigger",
}


def test_no_wall_is_climbed_from_inside(run):
    """Each try says whether it got over; the program goes on after each, and so does the node."""
    tools = sorted({act.split()[0] for act in WALLS.values()} | {"true"})
    tries = [
        f"if ({act}) >/dev/null 2>&1; then echo 'OVER {name}'; else echo 'HELD {name}'; fi"
        for name, act in WALLS.items()
    ]
    told = run("; ".join([f"command -v {tool} >/dev/null || echo MISSING {tool}" for tool in tools] + tries))
    assert "MISSING" not in told, "a wall that nobody can try holds nothing"
    assert "OVER" not in told, told
    assert told.count("HELD") == len(WALLS)


def asking(call: int, second: int) -> bytes:
    """A program that makes one call of the kernel and ends with the error that it got."""
    code = b"\xb8" + struct.pack("<I", call)  # mov eax, call
    code += b"\xbf\xff\xff\xff\xff\xbe" + struct.pack("<I", second)  # mov edi, -1; mov esi, second
    code += b"\x31\xd2\x4d\x31\xd2\x4d\x31\xc0\x0f\x05"  # no more arguments; syscall
    code += b"\xf7\xd8\x89\xc7\xb8\x3c\x00\x00\x00\x0f\x05"  # exit(-eax)
    begin, head = 0x400000, 64 + 56
    elf = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    elf += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, begin + head, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    size = head + len(code)
    return elf + struct.pack("<IIQQQQQQ", 1, 5, 0, begin, begin, size, size, 4096) + code


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the programs of this test are x86_64's")
@pytest.mark.req("PLAT-ASSET-6")
def test_no_file_leaves_the_quota_of_its_volume(run, portal):
    """By the calls that give it another project, of which the runtime's library need not know all."""
    calls = {
        "ioctl": (16, 0x401C5820),
        "flags": (16, 0x40086602),
        "newest": (469, 0),
        "asked": (16, 0x801C581F),
    }
    files = {f"bin/{name}": asking(*call) for name, call in calls.items()}
    box = offer(portal, busybox_layer(), layer(files), Env=["PATH=/bin"])
    told = run("; ".join(f"{name}; echo {name}=$?" for name in calls), image=box)
    answers = dict(line.split("=") for line in told.splitlines() if line.partition("=")[0] in calls)
    assert answers == {"ioctl": "1", "flags": "1", "newest": "1", "asked": str(errno.EBADF)}


def test_work_beside_it_is_neither_seen_nor_reached(run, agent, image):
    want(agent, "neighbour", "echo secret > $HOME/s; echo secret > /tmp/s; exec sleep 60", image)
    agent.until_state("neighbour", "running")
    told = run(f"ps; ls /tmp; cat {agent.home}/slices/neighbour/work/s 2>&1; kill -9 -1 2>&1; echo on")
    assert "sleep 60" not in told
    assert "secret" not in told.replace("slices/neighbour/work/s", "")
    assert agent.report("neighbour").state == "running"


def test_what_one_work_writes_over_its_image_no_other_sees_and_it_is_unpacked_once(run, agent, image):
    before = set((agent.home / "images").iterdir())
    open_root = offer(agent.portal, busybox_layer(), layer({"srv": folder(0o777)}), Env=["PATH=/bin"])
    assert "mine" in run("echo mine > /srv/x; rm /etc/motd; cat /srv/x", image=open_root)
    told = run("ls /srv; cat /etc/motd", image=open_root)
    assert "mine" not in told
    assert "of the image" in told
    new = {path for path in set((agent.home / "images").iterdir()) - before if not path.name.startswith(".")}
    assert len(new) == 1
    assert not list((agent.home / "images").glob("*/rootfs/srv/x"))


def test_memory_beyond_its_share_ends_it_by_the_kernels_hand(run):
    told = run("x=$(yes | head -c 600000000 | tr -d '\\n'); echo ${#x}", state="failed", memory_mib=64)
    assert "memory" in told


def test_it_is_told_to_end_and_ends(agent, image):
    want(agent, "long", "trap 'echo ending; exit 3' TERM; echo up; while true; do sleep 0.1; done", image)
    agent.until(lambda: b"up" in agent.portal.logs.get("long", b""))
    agent.portal.desired["long"] = agent.portal.desired["long"].model_copy(
        update={"generation": 2, "state": "stopped"}
    )
    report = agent.until_state("long", "exited")
    assert (report.reason_code, b"ending" in agent.portal.logs["long"]) == ("stopped", True)
    groups = [path for path in Path("/sys/fs/cgroup").rglob("long-*") if path.is_dir()]
    agent.until(lambda: not any(path.exists() for path in groups), wait_s=20)


@pytest.mark.parametrize(
    ("script", "image_of", "problem"),
    [
        ("x", lambda portal: offer(portal, layer({"bin/x": b"no program"}), Env=["PATH=/none"]), "sh"),
        (
            "x",
            lambda portal: offer(portal, busybox_layer()) | {"digest": f"sha256:{'0' * 64}"},
            "not what was asked",
        ),
        ("x", lambda portal: offer(portal, b"no layer"), "could not be brought here"),
        (
            "x",
            lambda portal: offer(portal, busybox_layer()) | {"version": str(uuid4())},
            "could not be brought here",
        ),
    ],
)
def test_an_image_that_cannot_run_is_said_so(run, agent, script, image_of, problem):
    uid = f"bad{uuid4().hex[:8]}"
    want(agent, uid, script, image_of(agent.portal))
    agent.until(lambda: (found := agent.report(uid)) is not None and found.state in ("failed", "refused"))
    assert problem in agent.report(uid).reason


def test_a_layer_that_leads_out_of_the_image_writes_nothing_outside(run, agent, tmp_path):
    """Were one to come past the portal: a link first, and then a file through it."""
    target = tmp_path / "target"
    target.mkdir()
    deep = "../" * 12
    evil = [layer({"out": link(str(target))}), layer({"out/hit": b"x", f"{deep}{target}/hit2": b"x"})]
    uid = f"evil{uuid4().hex[:8]}"
    want(agent, uid, "true", offer(agent.portal, busybox_layer(), *evil))
    agent.until(
        lambda: (found := agent.report(uid)) is not None and found.state in ("exited", "failed", "refused")
    )
    assert list(target.iterdir()) == []


def folder(mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo()
    entry.type, entry.mode = tarfile.DIRTYPE, mode
    return entry
