"""The walls around work, each tried by a program that wants over it: with a real agent and as root."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from node_agent.files import SliceFolder, read_json, write_json
from node_agent.protocol.slices import SliceReport
from node_agent.runtime.isolation.users import SHARED_FOLDERS
from tests.journeys.test_node_agent_runtime import ROOT, WAIT, Agent, assert_contiguous, seconds_of
from tests.unit.node_agent.server import PortalServer, portal_server

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("agent"),
    pytest.mark.skipif(os.geteuid() != 0, reason="users of their own can be given to work by root alone"),
]

TRY = """
import json, os, sys
def tried(act, *args):
    try:
        return repr(act(*args))[:200]
    except BaseException as error:
        return type(error).__name__
found = {}
"""
WAITING = SliceReport(slice_uid="w", generation=1, state="starting")
SAY = "\nprint('FOUND' + json.dumps(found), flush=True)"


@pytest.fixture
def portal() -> Iterator[PortalServer]:
    with portal_server() as server:
        yield server


@pytest.fixture
def agents(portal: PortalServer, tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Agents of this host, each with a folder of its own and one table of users for all."""
    made: list[Agent] = []

    def make(name: str = "home", portal: PortalServer = portal, **env: str) -> Agent:
        agent = Agent(portal, tmp_path / name)
        agent.env |= {
            "WEIR_AGENT_USERS_DIR": str(tmp_path / "users"),
            "WEIR_AGENT_NAME": Path(name).name,
        } | env
        made.append(agent)
        return agent.start()

    yield make
    for agent in made:
        agent.call("stop-work")
        if agent.process.poll() is None:
            agent.kill()
        agent.output.close()


@pytest.fixture
def agent(agents: Callable[..., Agent]) -> Agent:
    return agents()


def found_by(agent: Agent, uid: str, code: str, **changes: object) -> dict[str, str]:
    """What a program found out that ran as a slice's work."""
    agent.want(uid, TRY + code + SAY, **changes)
    agent.until(lambda: (agent.report(uid) or WAITING).state in ("exited", "failed", "refused"))
    report = agent.report(uid)
    assert report is not None
    assert report.reason_code == "completed", (report, agent.portal.logs.get(uid))
    agent.until(lambda: b"[weir] the work finished" in agent.portal.logs.get(uid, b""))
    line = next(line for line in agent.portal.logs[uid].decode().splitlines() if line.startswith("FOUND"))
    found: dict[str, str] = json.loads(line.removeprefix("FOUND"))
    return found


def test_work_is_a_user_without_powers_that_reads_nothing_which_is_not_its_own(agent: Agent) -> None:
    """S1: with the interpreter wherever it lies, below root's own folder too."""
    agent.want("other", WAIT + "# " + "the-others-secret")
    agent.until_state("other", "running")
    files = {
        "shadow": "/etc/shadow", "credential": str(agent.home / "credential.json"),
        "spec": str(agent.home / "slices/other/spec.json"), "own-spec": str(agent.home / "slices/w/spec.json"),
        "checkout": str(ROOT / "pyproject.toml"), "profile": "/root/.bashrc", "profile-2": "/root/.profile",
    }  # fmt: skip
    folders = {
        "slices": str(agent.home / "slices"), "other": str(agent.home / "slices/other/work"), "root": "/root",
        "home": str(agent.home), "var": str(ROOT / "var"), "run": "/run", "var-lib": "/var/lib",
    }  # fmt: skip
    found = found_by(
        agent,
        "w",
        f"files, folders = {files!r}, {folders!r}\n"
        "for name, path in files.items(): found['read ' + name] = tried(lambda: open(path).read(9))\n"
        "for name, path in folders.items(): found['list ' + name] = tried(os.listdir, path)\n"
        "found['uids'] = os.getresuid() + os.getresgid() + tuple(os.getgroups())\n"
        "status = open('/proc/self/status').read().splitlines()\n"
        "found['caps'] = [l.split()[1] for l in status if l.startswith('Cap')]\n"
        "found['nnp'] = [l.split()[1] for l in status if l.startswith('NoNewPrivs')]\n"
        "for path in ('/etc/passwd', '/usr/x', '/opt/x', '/x', sys.prefix + '/x', '/proc/sys/kernel/core_pattern'):\n"
        "    found['write ' + path] = tried(open, path, 'a')\n",
    )
    assert all(uid >= 60_000 for uid in found["uids"][:6])
    assert len(set(found["uids"][:6])) == 1
    assert set(found["caps"]) == {"0000000000000000"}
    assert found["nnp"] == ["1"]
    refused = {"PermissionError", "FileNotFoundError"}
    assert {name: said for name, said in found.items() if name.startswith("read")}.items() <= {
        (name, said) for name in found for said in refused
    }
    assert {said for name, said in found.items() if name.startswith("write")} <= refused | {"OSError"}
    interpreter = (
        Path(sys.base_prefix).relative_to("/root").parts[0] if sys.base_prefix.startswith("/root") else ""
    )
    assert found["list root"] in ("[]", f"['{interpreter}']")
    assert found["list slices"] == "['w']"
    assert found["list other"] == "FileNotFoundError"
    assert "credential.json" not in found["list home"]
    assert found["list var"] == "FileNotFoundError"
    assert (found["list run"], found["list var-lib"]) == ("[]", "FileNotFoundError")


def test_work_sees_no_process_of_others_and_reaches_none(agent: Agent) -> None:
    """S7, and what root may do to processes and to the file system."""
    agent.want("other", WAIT + "# --api-key=ACME-ARGV-SECRET")
    agent.until_state("other", "running")
    state = agent.shim_state("other")
    found = found_by(
        agent,
        "w",
        "import ctypes, signal\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "pids = sorted(int(n) for n in os.listdir('/proc') if n.isdigit())\n"
        "found['pids'] = len(pids)\n"
        "found['argv'] = ' '.join(open(f'/proc/{p}/cmdline').read() for p in pids if p != os.getpid())\n"
        f"for name, pid in dict(init=1, shim={state['shim_pid']}, work={state['work_pid']}, "
        f"agent={agent.process.pid}).items():\n"
        "    found['kill ' + name] = tried(os.kill, pid, signal.SIGTERM)\n"
        "found['environ'] = tried(lambda: open('/proc/1/environ').read())\n"
        "found['ptrace'] = libc.ptrace(16, 1, 0, 0)\n"
        "found['mount'] = libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)\n"
        "found['user namespace'] = libc.unshare(0x10000000)\n"
        "found['chroot'] = tried(os.chroot, '/tmp')\n"
        "found['setuid'] = tried(os.setuid, 0)\n"
        "import subprocess\n"
        "found['su'] = subprocess.run(['/usr/bin/su', '-c', 'id'], capture_output=True, text=True, "
        "stdin=subprocess.DEVNULL).stdout\n"
        "suid = [p for p in ('/usr/bin/mount', '/usr/bin/umount', '/usr/bin/passwd') if os.path.exists(p)]\n"
        "found['nosuid'] = bool(os.statvfs('/usr').f_flag & os.ST_NOSUID)\n",
    )
    assert found["pids"] <= 3
    assert "ACME-ARGV-SECRET" not in found["argv"]
    assert found["kill init"] == "PermissionError"
    assert {found[f"kill {name}"] for name in ("shim", "work", "agent")} <= {
        "ProcessLookupError",
        "PermissionError",
    }
    assert found["environ"] == "PermissionError"
    assert (found["ptrace"], found["mount"], found["user namespace"]) == (-1, -1, -1)
    assert (found["chroot"], found["setuid"], found["su"]) == ("PermissionError", "PermissionError", "")
    assert found["nosuid"] is True
    assert agent.process.poll() is None
    assert agent.report("other").state == "running"  # type: ignore[union-attr]


def test_temporary_files_are_the_works_own_and_go_with_it(agent: Agent) -> None:
    """S5: nothing is left on the node, and the next work finds nothing."""
    mark = f"weir-left-{os.getpid()}"
    leave = (
        f"for path in ('/tmp', '/var/tmp', '/dev/shm'): open(path + '/{mark}', 'w').write('x')\n"
        f"look = lambda: [p for p in ('/tmp', '/var/tmp', '/dev/shm') if os.path.exists(p + '/{mark}')]\n"
        "found['seen'] = look()\n"
    )
    assert found_by(agent, "a", leave)["seen"] == ["/tmp", "/var/tmp", "/dev/shm"]
    assert not [path for path in SHARED_FOLDERS if (path / mark).exists()]
    look = f"found['seen'] = [p for p in ('/tmp', '/var/tmp', '/dev/shm') if os.path.exists(p + '/{mark}')]\n"
    assert found_by(agent, "b", look)["seen"] == []
    assert not {path.name for path in (agent.home / "slices/a").iterdir()} & {"tmp", "tmp-var", "root"}


def test_files_in_main_memory_count_as_memory(agent: Agent) -> None:
    """S5: /dev/shm is bounded by the work's memory, and counted beside what its processes hold."""
    bound = (
        "found['MiB'] = os.statvfs('/dev/shm').f_blocks * os.statvfs('/dev/shm').f_frsize >> 20\n"
        "f = open('/dev/shm/x', 'wb')\n"
        "found['put'] = tried(lambda: os.posix_fallocate(f.fileno(), 0, 129 << 20))\n"
    )
    found = found_by(agent, "bound", bound, memory_mib=128)
    assert (found["MiB"], found["put"]) == (128, "OSError")
    alone = (
        "f = open('/dev/shm/x', 'wb')\n"
        "for _ in range(127): f.write(b'1' * (1 << 20))\n"
        "f.flush(); import time; time.sleep(60)\n"
    )
    agent.want("alone", alone, memory_mib=128)
    assert agent.until_state("alone", "failed").reason_code == "memory_exceeded"
    both = (
        "f = open('/dev/shm/x', 'wb'); [f.write(b'1' * (1 << 20)) for _ in range(90)]; f.flush()\n"
        "import mmap, time\nm = mmap.mmap(-1, 80 << 20); m.write(b'1' * (80 << 20)); time.sleep(60)\n"
    )
    agent.want("both", both, memory_mib=128)
    assert agent.until_state("both", "failed").reason_code == "memory_exceeded"
    mapped = (
        "import mmap, time\nf = open('/dev/shm/x', 'w+b'); f.truncate(70 << 20)\n"
        "m = mmap.mmap(f.fileno(), 70 << 20); [m.write(b'1' * (1 << 20)) for _ in range(70)]; time.sleep(2)\n"
    )
    agent.want("mapped", mapped, memory_mib=128)
    assert agent.until_state("mapped", "exited").reason_code == "completed"


def test_a_fork_bomb_is_bounded_and_goes_at_once(agent: Agent) -> None:
    bomb = (
        "import os, time\n"
        "print('up', flush=True)\n"
        "while True:\n"
        "    try: os.fork()\n"
        "    except OSError: time.sleep(0.05)\n"
    )
    agent.want("w", bomb, compute_percent=5)
    agent.until(lambda: b"up" in agent.portal.logs.get("w", b""))
    time.sleep(3)
    uid = int(str(agent.shim_state("w")["work_uid"]))
    running = subprocess.run(
        ["ps", "-u", str(uid), "-o", "pid="], capture_output=True, text=True, check=False
    )
    assert 1 < len(running.stdout.split()) <= 512
    agent.want("w", bomb, compute_percent=5, generation=2, state="stopped")
    agent.until_state("w", "exited")
    # A process that has ended stands in the list until its parent has looked.
    left = subprocess.run(["ps", "-u", str(uid), "-o", "stat="], capture_output=True, text=True, check=False)
    assert [stat for stat in left.stdout.split() if not stat.startswith("Z")] == []


def test_two_agents_of_a_host_never_give_the_same_user(agents: Callable[..., Agent], tmp_path: Path) -> None:
    """S6: the same names of slices on two agents gave the same user before."""
    with portal_server() as another:
        one, two = agents("one"), agents("two", portal=another)
        names = [f"w{number}" for number in range(4)]
        for agent in (one, two):
            for name in names:
                agent.want(name, WAIT)
        for agent in (one, two):
            agent.until(lambda agent=agent: all(agent.shim_state(name).get("work_pid") for name in names))
        users = [agent.shim_state(name)["work_uid"] for agent in (one, two) for name in names]
        assert len(set(users)) == 8
        table = json.loads((tmp_path / "users" / "work-users.json").read_text())
        assert {int(uid) for uid in table["held"]} == set(users)
        two.call("stop-work")


def test_programs_are_refused_where_nothing_would_wall_them(agents: Callable[..., Agent]) -> None:
    """S1: it fails closed; an operator may say otherwise, and then everybody is told."""
    agent = agents(WEIR_AGENT_WORK_UID_BASE="0")
    agent.want("w", "print(1)")
    agent.until(lambda: (agent.report("w") or WAITING).state == "refused")
    assert "WEIR_AGENT_ALLOW_ROOT_WORK=1" in agent.report("w").reason  # type: ignore[union-attr]
    assert agent.portal.syncs[-1].node.isolation == "refused"
    assert agent.portal.syncs[-1].node.isolation_problem
    agent.kill(signal.SIGTERM)
    agent.env["WEIR_AGENT_ALLOW_ROOT_WORK"] = "1"
    agent.start()
    assert agent.portal.syncs[-1].node.isolation == "unsafe"
    agent.want("forced", "import os; print('uid', os.getuid())")
    assert agent.until_state("forced", "exited").reason_code == "completed"
    agent.until(lambda: b"uid 0" in agent.portal.logs.get("forced", b""))
    assert "nothing between them" in agent.home.with_suffix(".out").read_text()


def test_the_work_goes_with_its_shim_and_with_it_alone(agent: Agent) -> None:
    agent.want("w", "import os\nfor _ in range(3): os.fork() or os.setsid()\n" + WAIT)
    agent.until_state("w", "running")
    uid, shim = str(agent.shim_state("w")["work_uid"]), int(str(agent.shim_state("w")["shim_pid"]))
    listed = ["ps", "-u", uid, "-o", "pid="]
    agent.until(
        lambda: len(subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()) == 8
    )
    agent.kill()
    agent.start()
    assert len(subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()) == 8
    os.kill(shim, signal.SIGKILL)
    agent.until(
        lambda: not subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()
    )
    assert agent.until_state("w", "failed").reason_code == "lost"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 MiB."""
    path = tmp_path / "disk"
    path.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(path)], check=False)
    if made.returncode:
        pytest.skip("this root may not mount")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def test_work_cannot_fill_the_nodes_disk(agents: Callable[..., Agent], small_disk: Path) -> None:
    """S3: by one file, by many, by files without a name; each ends with its reason, and the node goes on."""
    agent = agents("disk/node", WEIR_AGENT_WORK_DISK_MIB="16")
    agent.want("calm", WAIT, compute_percent=10)
    many = (
        "import time\n"
        "for n in range(1000):\n"
        "    with open(f'{n}', 'wb') as f: f.write(b'1' * (1 << 20))\n"
        "    time.sleep(0.05)\n"
        "time.sleep(60)"
    )
    one = "f = open('x', 'wb')\nwhile True: f.write(b'1' * (1 << 20))"
    nameless = (
        "import os, time\nkept = []\n"
        "for n in range(1000):\n"
        "    f = open(f'{n}', 'wb'); os.unlink(f'{n}'); f.write(b'1' * (1 << 20)); f.flush(); kept.append(f)\n"
        "    time.sleep(0.05)\n"
        "time.sleep(60)"
    )
    temporary = many.replace("open(f'{n}'", "open(f'/tmp/{n}'")
    for uid, code in (("one", one), ("many", many), ("nameless", nameless), ("temporary", temporary)):
        agent.want(uid, code)
        agent.until(lambda uid=uid: (agent.report(uid) or WAITING).state in ("exited", "failed"))
        report = agent.report(uid)
        assert report is not None
        assert (report.reason_code, report.reason) == ("disk_exceeded", "disk limit of 16 MiB exceeded"), uid
        assert not (agent.home / "slices" / uid / "work").exists()
    calm = agent.until_state("calm", "running")
    assert (calm.reason_code, calm.disk_limit_mib) == ("", 16)
    assert calm.disk_used_mib is not None
    assert agent.process.poll() is None


@pytest.mark.req("PLAT-OPS-22")
def test_scratch_disk_is_what_was_reserved_to_the_last_of_it(
    agents: Callable[..., Agent], small_disk: Path
) -> None:
    """More than half of the disk, and more than work without a reservation may keep here."""
    agent = agents("disk/node", WEIR_AGENT_WORK_DISK_MIB="4", WEIR_AGENT_SCRATCH_DISK_MIB="48")
    code = (
        "import os, time\n"
        "most = int(os.environ['WEIR_SCRATCH_DISK_MIB'])\n"
        "with open('all', 'wb') as f: f.write(b'1' * ((most - 2) << 20))\n"
        "print('written', flush=True)\n"
        "while not os.path.exists('go'): time.sleep(0.05)\n"
        "for n in range(8):\n"
        "    with open(f'more{n}', 'wb') as f: f.write(b'1' * (1 << 20))\n"
        "    time.sleep(0.3)\n"
        "time.sleep(600)"
    )
    agent.want("kept", code, scratch_disk_mib=40)
    agent.until(lambda: (agent.report("kept") or WAITING).disk_used_mib == 38)
    report = agent.until_state("kept", "running")
    assert report.disk_limit_mib == 40
    (agent.home / "slices" / "kept" / "work" / "go").touch()
    report = agent.until_state("kept", "failed")
    assert (report.reason_code, report.reason) == ("disk_exceeded", "disk limit of 40 MiB exceeded")


def test_a_full_disk_delays_the_books_and_loses_nothing_of_them(
    agents: Callable[..., Agent], small_disk: Path
) -> None:
    """S3: somebody else has filled the disk while work ran and ended."""
    agent = agents("disk/node")
    agent.want("w", WAIT, run_timeout_s=6)
    agent.until(lambda: len(agent.portal.usage.get("w", {})) >= 1)
    ballast = small_disk / "ballast"
    subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"], capture_output=True, check=False)
    assert os.statvfs(small_disk).f_bavail == 0
    shim = int(str(agent.shim_state("w")["shim_pid"]))
    # What is begun of a page still fits on a full disk: this way half a line fits and no more.
    journal = agent.home / "slices/w/journal.jsonl"
    resource.prlimit(shim, resource.RLIMIT_FSIZE, (journal.stat().st_size + 50, resource.RLIM_INFINITY))
    written = len(agent.portal.usage["w"])
    time.sleep(9)
    assert agent.process.poll() is None
    assert len(agent.portal.usage["w"]) <= written + 1
    assert Path(f"/proc/{shim}").exists(), "the shim has left with what it had to say"
    ballast.unlink()
    resource.prlimit(shim, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    report = agent.until_state("w", "exited")
    rows = agent.until_told("w")
    assert report.reason_code == "run_timeout"
    assert_contiguous(rows)
    assert seconds_of(rows) == 6


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user can enter, unlike those of tests."""
    path = Path(tempfile.mkdtemp(prefix="weir-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.mark.skipif(
    not Path("/usr/bin/python3.11").exists(), reason="needs an interpreter that any user can run"
)
def test_without_root_the_walls_are_built_in_a_user_namespace(open_folder: Path) -> None:
    user = 61_999
    library, home = open_folder / "lib", open_folder / "home"
    shutil.copytree(ROOT / "node_agent", library / "node_agent", ignore=shutil.ignore_patterns("__pycache__"))
    folder = SliceFolder(home / "slices" / "w")
    folder.work.mkdir(parents=True)
    (home / "credential.json").write_text("the-agents-secret")
    code = TRY + (
        f"found['credential'] = tried(open, {str(home / 'credential.json')!r})\n"
        "found['pids'] = len([n for n in os.listdir('/proc') if n.isdigit()])\n"
        "found['mount'] = __import__('ctypes').CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None)\n"
        "found['caps'] = [l.split()[1] for l in open('/proc/self/status') if l.startswith('Cap')]\n"
        "open('/tmp/x', 'w').write('x'); os.fork() or os._exit(0)\n"
    )
    spec = {
        "slice_uid": "w", "generation": 1, "device_uid": "d", "vendor": "cpu", "cores": 1, "compute_percent": 90,
        "memory_mib": 64, "argv": ["python", "-c", code + SAY], "env": {}, "run_timeout_s": None, "grace_s": 1,
        "meter_s": 1, "log_limit_bytes": 10_000, "lib_dir": str(library), "isolation": "namespaces", "disk_mib": 50,
    }  # fmt: skip
    write_json(folder.spec, spec)
    for path in (home, *home.rglob("*")):
        os.chown(path, user, user)
    shim = subprocess.run(
        ["/usr/bin/python3.11", "-m", "node_agent.runtime.shim.supervisor", str(folder.path)],
        env={"PYTHONPATH": str(library), "PATH": os.environ["PATH"]},
        cwd="/",
        user=user,
        group=user,
        extra_groups=[],
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )
    state = read_json(folder.state) or {}
    assert state.get("reason_code") == "completed", (shim.stderr, state)
    line = next(line for line in folder.log.read_text().splitlines() if line.startswith("FOUND"))
    found = json.loads(line.removeprefix("FOUND"))
    assert found["credential"] == "FileNotFoundError"
    assert found["pids"] <= 3
    assert found["mount"] == -1
    assert set(found["caps"]) == {"0000000000000000"}
    assert not (folder.path / "tmp").exists()
