"""Packages of work: installed once from a real index by a real agent, within the walls of the work that asks."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import IO
from uuid import uuid4

import psutil
import pytest

from node_agent.files import read_json
from node_agent.protocol.slices import DesiredSlice
from tests.factories.archive import busybox_layer, layer
from tests.factories.wheels import index_server, index_write, wheel
from tests.journeys.test_containers import offer
from tests.journeys.test_node_agent_runtime import ROOT, Agent
from tests.unit.node_agent.server import PortalServer, portal_server

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("agent"),
    pytest.mark.skipif(os.geteuid() != 0, reason="users of their own can be given to work by root alone"),
    pytest.mark.req("PLAT-CMP-10"),
]
SAYS = "import greeter; print('SAYS', greeter.text(), greeter.__file__)"
LARGE_MIB = 3


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    folder = tmp_path_factory.mktemp("index")
    made = [
        wheel(folder, "greeter", "1.0", {"greeter.py": "import tone\ndef text(): return f'one {tone.HIGH}'\n"
              "def main(): print('PROGRAM', text())\n"}, needs=("tone>=2",), programs={"greet": "greeter:main"}),
        wheel(folder, "greeter", "2.0", {"greeter.py": "import tone\ndef text(): return f'two {tone.HIGH}'\n"},
              needs=("tone>=2",)),
        wheel(folder, "tone", "2.1", {"tone.py": "HIGH = 'high'\n"}),
        wheel(folder, "low", "1", {"low.py": ""}, needs=("tone<2",)),
        wheel(folder, "future", "1", {"future.py": ""}, python=">=4"),
        wheel(folder, "bomb", "1", {"bomb.bin": bytes(200 * 2**20)}),
        wheel(folder, "leaves", "1", {"../../../leaves.py": "", "leaves.pth": "import os; os.abort()\n"}),
        *(wheel(folder, f"large{n}", "1", {f"large{n}.bin": os.urandom(LARGE_MIB * 2**20)}) for n in range(4)),
    ]  # fmt: skip
    (folder / "built-1.0.tar.gz").write_bytes(b"of no use")
    index_write(folder, [*made, folder / "built-1.0.tar.gz"])
    with index_server(folder) as found:
        yield found


@pytest.fixture
def portal() -> Iterator[PortalServer]:
    with portal_server() as server:
        yield server


@pytest.fixture
def start(
    portal: PortalServer, served: tuple[str, list[str]], tmp_path: Path
) -> Iterator[Callable[..., Agent]]:
    made: list[Agent] = []

    def act(**settings: str) -> Agent:
        agent = Agent(portal, tmp_path / "home")
        agent.env |= {
            "WEIR_AGENT_USERS_DIR": str(tmp_path / "users"),
            "WEIR_AGENT_DEVICES": "1x2:8192",
            "WEIR_AGENT_PACKAGE_INDEX": served[0],
        } | settings
        made.append(agent)
        return agent.start()

    yield act
    for agent in made:
        agent.call("stop-work")
        agent.kill()
        agent.output.close()


@pytest.fixture
def agent(start: Callable[..., Agent]) -> Agent:
    return start()


def want(agent: Agent, *lines: str, code: str = SAYS, owner: str = "acme", **more: object) -> str:
    uid = f"p{uuid4().hex[:8]}"
    device = agent.portal.syncs[-1].devices[0]
    work = {"argv": ("python", "-c", code), "grace_s": 1, **more.pop("work", {})}
    if lines:
        work["packages"] = {"owner": owner, "requirements": lines}
    wanted = {"slice_uid": uid, "generation": 1, "device_uid": device.uid, "compute_percent": 10, "memory_mib": 512,
              "state": "running", "work": work}  # fmt: skip
    agent.portal.desired[uid] = DesiredSlice.model_validate(wanted | more)
    return uid


def told(agent: Agent, uid: str, state: str = "exited") -> str:
    agent.until(
        lambda: (found := agent.report(uid)) is not None and found.state in ("exited", "failed", "refused")
    )
    report = agent.report(uid)
    assert report.state == state, (report, agent.portal.logs.get(uid))
    if report.state != "refused":
        agent.until(lambda: report.reason.encode() in agent.portal.logs.get(uid, b""))
    return agent.portal.logs.get(uid, b"").decode() + report.reason


def installed(agent: Agent) -> list[Path]:
    return [path.parent for path in (agent.home / "packages").glob("*/packages.json")]


def wheels_fetched(asked: list[str]) -> list[str]:
    return [path.rsplit("/", 1)[-1] for path in asked if path.endswith(".whl")]


def test_what_one_work_has_had_installed_the_next_finds(agent, served):
    assert agent.portal.syncs[-1].node.packages == "3.11"
    served[1].clear()
    first = told(agent, want(agent, "greeter==1.0"))
    assert "SAYS one high /.weir-packages/python/greeter.py" in first
    assert "its packages are being installed" in first
    assert sorted(wheels_fetched(served[1])) == ["greeter-1.0-py3-none-any.whl", "tone-2.1-py3-none-any.whl"]
    served[1].clear()
    second = told(agent, want(agent, "greeter==1.0", work={"argv": ("sh", "-c", "greet")}))
    assert "PROGRAM one high" in second
    assert served[1] == [], "nothing is asked of the index for what is here"
    assert len(installed(agent)) == 1
    other = told(agent, want(agent, "greeter==2.0"))
    assert "SAYS two high" in other
    assert len(installed(agent)) == 2


def test_two_that_ask_for_the_same_at_once_install_it_once(agent, served):
    served[1].clear()
    uids = [want(agent, "greeter==1.0") for _ in range(3)]
    assert all("SAYS one high" in told(agent, uid) for uid in uids)
    assert len(wheels_fetched(served[1])) == 2
    assert len(installed(agent)) == 1


def test_each_owner_has_his_own_and_nobody_sees_or_changes_anothers(agent, served):
    told(agent, want(agent, "greeter==1.0"))
    served[1].clear()
    told(agent, want(agent, "greeter==1.0", owner="globex"))
    assert len(wheels_fetched(served[1])) == 2
    assert len(installed(agent)) == 2
    tries = f"""
import os
def tried(act):
    try:
        act()
        print('OVER')
    except OSError as error:
        print('HELD', error.strerror)
tried(lambda: os.listdir({str(agent.home / "packages")!r}))
tried(lambda: open('/.weir-packages/python/greeter.py', 'a'))
tried(lambda: open('/.weir-packages/python/more.py', 'w'))
tried(lambda: os.unlink('/.weir-packages/python/tone.py'))
"""
    said = told(agent, want(agent, "greeter==1.0", owner="globex", code=tries))
    assert "OVER" not in said
    assert said.count("HELD") == 4


def test_no_code_of_a_work_or_a_package_runs_while_they_are_installed(agent, tmp_path):
    """Neither by the variables that a work sets nor by files in its folder: what others of its tenant are to use is
    what the index has."""
    env = {"PYTHONPATH": "/tmp/own", "PIP_INDEX_URL": "http://127.0.0.1:1/", "PIP_NO_BINARY": ":all:"}
    said = told(agent, want(agent, "greeter==1.0", work={"env": env}))
    assert "SAYS one high" in said
    failed = told(agent, want(agent, "built==1.0"), "failed")
    assert "no wheel for 'built==1.0' that runs with this Python" in failed


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            ("greeter==1.0", "nosuch==3"),
            "its packages could not be installed: the index has no wheel for 'nosuch==3'",
        ),
        (("greeter==7",), "the index has no wheel for 'greeter==7', only of 1.0, 2.0"),
        (("greeter", "low"), "these do not go together: 'greeter' and 'low'"),
        (("future",), "'future' requires a different Python"),
        (("greeter==1.0 --hash=sha256:" + "0" * 64,), "hash"),
    ],
)
def test_what_cannot_be_installed_ends_the_work_with_the_line_and_leaves_nothing(agent, lines, problem):
    said = told(agent, want(agent, *lines), "failed")
    assert problem in said
    assert "SAYS" not in said
    assert "ERROR:" in said, "what pip has said stands in the output"
    assert installed(agent) == []
    assert agent.report(next(iter(agent.portal.desired))).reason_code == "packages_failed"
    assert agent.portal.usage == {}, "nothing ran, and nothing is billed"


def test_an_index_that_does_not_answer_may_answer_later(start):
    agent = start(WEIR_AGENT_PACKAGE_INDEX="http://127.0.0.1:9/simple")
    uid = want(agent, "greeter==1.0")
    assert "the index http://127.0.0.1:9/simple does not answer" in told(agent, uid, "failed")
    assert agent.report(uid).reason_code == "crashed"


def test_a_folder_of_wheels_is_an_index_too(start, tmp_path):
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder, "greeter", "3.0", {"greeter.py": "def text(): return 'from a folder'\n"})
    folder.chmod(0o755)
    agent = start(WEIR_AGENT_PACKAGE_INDEX=str(folder))
    assert "SAYS from a folder" in told(agent, want(agent, "greeter"))


def test_a_node_without_an_index_installs_nothing_and_says_so(start):
    agent = start(WEIR_AGENT_PACKAGE_INDEX="")
    assert agent.portal.syncs[-1].node.packages == ""
    assert "WEIR_AGENT_PACKAGE_INDEX" in told(agent, want(agent, "greeter"), "refused")


def test_what_no_work_uses_makes_room_the_longest_unused_first(start):
    agent = start(WEIR_AGENT_PACKAGE_MIB="8")
    told(agent, want(agent, "large0", code=""))
    told(agent, want(agent, "large1", code=""))
    (first,) = [path for path in installed(agent) if (path / "files/python/large0.bin").exists()]
    told(agent, want(agent, "large2", code=""))
    assert not first.exists()
    assert len(installed(agent)) == 2
    busy = want(agent, "large1", code="import time; print('UP', flush=True); time.sleep(600)")
    agent.until(lambda: b"UP" in agent.portal.logs.get(busy, b""))
    told(agent, want(agent, "large3", code=""))
    assert sorted(next((path / "files/python").glob("large*.bin")).name for path in installed(agent)) == [
        "large1.bin",
        "large3.bin",
    ]
    too_large = agent.until_state(want(agent, "large0", "large1", "large2", code=""), "failed").reason
    assert "this node keeps 8 MiB at the most" in too_large
    assert len(installed(agent)) == 2


def test_a_wheel_that_unpacks_to_more_than_there_is_room_for_ends_the_work(start):
    agent = start(WEIR_AGENT_WORK_DISK_MIB="64")
    assert "disk limit of 64 MiB exceeded" in told(agent, want(agent, "bomb"), "failed")
    assert installed(agent) == []


def test_a_wheel_with_a_path_out_of_its_folder_is_not_installed(agent):
    assert "its packages could not be installed" in told(agent, want(agent, "leaves"), "failed")
    assert installed(agent) == []
    assert not list(agent.home.rglob("leaves.py"))


def _is_pip(process: psutil.Process) -> bool:
    try:
        return "--only-binary" in process.cmdline()
    except psutil.NoSuchProcess:
        # It ended meanwhile, and may wait for its parent still.
        return False


def test_pip_is_the_user_of_the_work_and_has_no_powers(agent, served, monkeypatch):
    release = _held_up(served, monkeypatch)
    uid = want(agent, "greeter==1.0")
    agent.until(lambda: wheels_fetched(served[1]))
    shim = read_json(agent.home / "slices" / uid / "state.json")["shim_pid"]
    (pip,) = filter(_is_pip, psutil.Process(shim).children(recursive=True))
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pip.pid}/status").read_text().splitlines())
    user = read_json(agent.home / "slices" / uid / "spec.json")["work_uid"]
    assert {int(number) for number in status["Uid"].split()} == {user}
    assert {int(status[name], 16) for name in ("CapEff", "CapBnd", "CapPrm")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    for name in ("mnt", "pid", "ipc"):
        assert os.readlink(f"/proc/{pip.pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")
    release()
    assert "SAYS one high" in told(agent, uid)


def test_without_root_they_are_installed_in_namespaces_that_end_before_the_works_begin(
    portal, served, tmp_path
):
    """A process without root makes namespaces once."""
    python = Path("/usr/bin/python3")
    if not python.exists() or sys.version_info[:2] != _version_of(python):
        pytest.skip("there is no Python that every user can run")
    # One more than for root's own work: beside other workers the folder lies one deeper.
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    (packages / "more.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    agent = Agent(portal, home / "agent")
    agent.env = {key: value for key, value in agent.env.items() if key.startswith("WEIR_AGENT_")}
    agent.env |= {"PATH": "/usr/bin:/bin", "WEIR_AGENT_PACKAGE_INDEX": served[0]}
    command = [
        "setpriv",
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        tmp_path / "venv/bin/python",
    ]
    with (
        agent.output,
        subprocess.Popen(
            [*command, "-m", "node_agent"], env=agent.env, cwd=home, stdout=agent.output, stderr=agent.output
        ) as agent.process,
    ):
        try:
            agent.until(lambda: portal.syncs)
            if portal.syncs[-1].node.isolation != "namespaces":
                pytest.skip("this kernel gives no namespaces without root")
            assert "SAYS one high" in told(agent, want(agent, "greeter==1.0"))
            assert "SAYS one high" in told(agent, want(agent, "greeter==1.0"))
            assert len(installed(agent)) == 1
        finally:
            agent.process.terminate()


def _version_of(python: Path) -> tuple[int, ...]:
    asked = "import sys; print(*sys.version_info[:2])"
    said = subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout
    return tuple(map(int, said.split()))


def test_an_agent_that_dies_meanwhile_finds_the_work_installing_and_it_goes_on(agent, served, monkeypatch):
    release = _held_up(served, monkeypatch)
    uid = want(agent, "greeter==1.0")
    agent.until(lambda: wheels_fetched(served[1]))
    agent.kill()
    agent.start()
    assert agent.until_state(uid, "starting").reason == "its packages are being installed"
    release()
    assert "SAYS one high" in told(agent, uid)


def test_a_killed_installation_leaves_nothing_and_the_next_begins_anew(agent, served, monkeypatch):
    release = _held_up(served, monkeypatch)
    uid = want(agent, "greeter==1.0")
    agent.until(lambda: wheels_fetched(served[1]))
    state = read_json(agent.home / "slices" / uid / "state.json")
    assert state["state"] == "starting"
    os.kill(state["shim_pid"], signal.SIGKILL)
    release()
    assert agent.until_state(uid, "failed").reason_code == "lost"
    assert installed(agent) == []
    assert "SAYS one high" in told(agent, want(agent, "greeter==1.0"))


def test_a_work_that_is_stopped_while_its_packages_are_installed_never_starts(agent, served, monkeypatch):
    release = _held_up(served, monkeypatch)
    uid = want(agent, "greeter==1.0")
    agent.until(lambda: wheels_fetched(served[1]))
    stopped = agent.portal.desired[uid].model_copy(update={"generation": 2, "state": "stopped"})
    agent.portal.desired[uid] = stopped
    report = agent.until_state(uid, "exited")
    release()
    assert report.reason_code == "stopped"
    assert installed(agent) == []
    assert not (agent.home / "slices" / uid / "packages").exists()


def _held_up(served: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From here on the index sends no wheel before it is let go."""
    served[1].clear()
    go = Event()

    def copyfile(self: SimpleHTTPRequestHandler, source: IO[bytes], out: IO[bytes]) -> None:
        if self.path.endswith(".whl"):
            go.wait(60)
        shutil.copyfileobj(source, out)

    monkeypatch.setattr(SimpleHTTPRequestHandler, "copyfile", copyfile)
    return go.set


def test_in_an_image_they_are_installed_by_the_images_own_python(agent):
    if missing := [
        name for name in ("runc", "umoci", "busybox", "/usr/bin/python3") if not shutil.which(name)
    ]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    image = offer(agent.portal, busybox_layer(), _python_layer(), Env=["PATH=/usr/bin:/bin"])
    code = "import sys; print('BASE', sys.base_prefix); " + SAYS
    asked = {"argv": ("python3", "-c", code), "image": image}
    said = told(agent, want(agent, "greeter==1.0", work=asked))
    assert "SAYS one high /.weir-packages/python/greeter.py" in said
    assert "BASE /usr\n" in said
    told(agent, want(agent, "greeter==1.0"))
    assert len(installed(agent)) == 2, "what an image's Python has installed, the node's does not use"
    bare = offer(agent.portal, busybox_layer(), Env=["PATH=/bin"])
    uid = want(agent, "greeter==1.0", work={"argv": ("true",), "image": bare})
    without = agent.until_state(uid, "failed").reason
    assert without.startswith("its packages cannot be installed: ")
    assert "python3" in without


def _python_layer() -> bytes:
    """The Python of this machine's own packages with its library, as an image has it."""
    asked = "import sysconfig; print(sysconfig.get_path('stdlib'))"
    command = ["/usr/bin/python3", "-I", "-c", asked]
    library = Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    left_out = {"test", "idlelib", "ensurepip", "lib2to3", "__pycache__", "tkinter", "dist-packages"}
    files = {
        str(path).removeprefix("/"): path.read_bytes()
        for path in library.rglob("*")
        if path.is_file() and not left_out & set(path.parts) and "config-" not in str(path)
    }
    files["usr/bin/python3"] = Path("/usr/bin/python3").read_bytes()
    for program in ("/usr/bin/python3", *library.glob("lib-dynload/*.so")):
        needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout.split()
        files |= {word.removeprefix("/"): Path(word).read_bytes() for word in needed if word.startswith("/")}
    return layer(files)
