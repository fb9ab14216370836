"""Two of each process on one database: any of them may die or restart at any time (POOL-8.1, 11a, 12.22)."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from weir.api import Client

from portal.devstack.options import Options
from portal.devstack.servers import ports
from portal.devstack.stack import Stack
from tests.harness.portal import own_environment, password_of, portal_folder

pytestmark = [
    pytest.mark.journey,
    pytest.mark.req("POOL-8.1a"),
    pytest.mark.req("POOL-11a"),
    pytest.mark.xdist_group("high availability"),
]
# What is waited for comes in seconds; a slow and busy machine may take minutes.
PATIENCE_S = 240.0
GATE_S, ROLL_OUT_S = 300, 900.0
PAUSE_S = 0.05


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    counts = {"nodes": 1, "webs": 2, "workers": 2, "beats": 2, "worker_processes": 1, "simulate": ""}
    with own_environment():
        folder = portal_folder(tmp_path_factory, "ha")
        made = Stack(Options(var_dir=folder, port=ports.any_free(), **counts), durable=False)
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.fixture(scope="module")
def tender(stack: Stack) -> Iterator["Tender"]:
    found = Tender(stack)
    found.start()
    yield found
    found.end()


class Tender(threading.Thread):
    """What `make run` does all the time: starts again what ended."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(daemon=True)
        self.stack, self.ended = stack, threading.Event()
        self.lock = threading.Lock()

    def run(self) -> None:
        while not self.ended.wait(0.3):
            with self.lock:
                self.stack.tend()

    def end(self) -> None:
        self.ended.set()
        if self.is_alive():
            self.join()

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """Inside, a test stops and starts processes itself."""
        with self.lock:
            yield


class Load(threading.Thread):
    """Asks all the time, by turns on a connection of its own as strangers do and on one that is kept; keeps what
    failed. A kept connection may be closed in the moment of a request: as every browser it then asks once more."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(daemon=True)
        self.url, self.headers = url, {"Authorization": f"Bearer {token}"}
        self.count, self.failed = 0, []
        self.ended = threading.Event()

    def run(self) -> None:
        with self._client() as kept:
            while not self.ended.wait(PAUSE_S):
                self._ask(kept, times=2)
                with self._client() as fresh:
                    self._ask(fresh, times=1)

    def _client(self) -> httpx.Client:
        return httpx.Client(headers=self.headers, timeout=PATIENCE_S)

    def _ask(self, client: httpx.Client, times: int) -> None:
        try:
            answer = client.get(f"{self.url}/api/v1/auth/me")
            if answer.status_code != 200:
                self.failed.append(answer.status_code)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
            if times > 1:
                return self._ask(client, times - 1)
            self.failed.append(repr(error))
        except httpx.HTTPError as error:
            self.failed.append(repr(error))
        self.count += 1

    def __enter__(self) -> "Load":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.join()


@pytest.fixture
def admin(stack: Stack) -> Iterator[Client]:
    client, _answer = Client.sign_in(stack.base_url, "admin", password_of(stack))
    with client:
        yield client


def until(what: str, look, timeout_s: float = PATIENCE_S):
    end_s = time.monotonic() + timeout_s
    while not (found := look()):
        assert time.monotonic() < end_s, f"{what} did not come true"
        time.sleep(0.2)
    return found


def processes(admin: Client) -> dict[str, dict]:
    return {row["name"]: row for row in admin.components() if row["component"] in ("web", "worker", "beat")}


def the_node(admin: Client) -> dict:
    return next(node for node in admin.nodes() if node["name"] == "node-1")


NAMES = {"web", "web-2", "worker", "worker-2", "beat", "beat-2"}


def test_every_component_is_seen(stack, tender, admin):
    until("six processes", lambda: set(processes(admin)) == NAMES)
    parts = {row["component"]: row for row in admin.components()}
    assert {"database", "queue", "agent", "session_server"} <= set(parts)
    assert all(row["version"] for row in parts.values())
    assert parts["agent"]["node_uid"] in {node["uid"] for node in admin.nodes()}


@pytest.mark.req("POOL-12.20")
def test_what_is_stopped_in_order_is_said_to_be_stopped(stack, tender, admin):
    until("six processes", lambda: set(processes(admin)) == NAMES)
    ended = ("web-2", "worker-2", "beat-2")
    with tender.looking_away():
        for name in ended:
            stack.children[name].stop()
        found = processes(admin)
        assert {name: found[name]["state"] for name in ended} == dict.fromkeys(ended, "stopped")
        for name in ended:
            stack.children[name].start()
    until("all back", lambda: {row["state"] for row in processes(admin).values()} == {"running"})


@pytest.mark.req("POOL-12.22", "PLAT-NFR-5")
@pytest.mark.req("POOL-12.20")
def test_the_server_and_a_node_are_renewed_in_one_batch_and_no_request_fails(stack, tender, admin):
    until("six processes", lambda: set(processes(admin)) == NAMES)
    before = {name: row["started_at"] for name, row in processes(admin).items()}
    generation = max(row["wanted_generation"] for row in processes(admin).values())
    stack.manage("release_build", "--release", "7.0.1", "--out", str(stack.var_dir / "r.zip"))
    admin.release_add(stack.var_dir / "r.zip")
    node = the_node(admin)
    with Load(stack.base_url, admin._http.headers["Authorization"].removeprefix("Bearer ")) as load:
        made = admin.rollout_start(release="7.0.1", nodes=[node["uid"]], server=True, batch=2, gate_s=GATE_S)
        assert [step["batch_no"] for step in made["steps"]] == [1, 1]
        found = until(
            "the roll-out's end",
            lambda: (row := admin.rollout(made["uid"]))["state"] not in ("running", "paused") and row,
            ROLL_OUT_S,
        )
    assert (found["state"], found["reason"]) == ("done", "")
    assert load.count > 10
    assert load.failed == []
    after = processes(admin)
    assert all(row["started_at"] > before[name] for name, row in after.items())
    assert {row["config_generation"] for row in after.values()} == {generation + 1}
    assert the_node(admin)["agent_version"] == "7.0.1"


def all_started_again(admin: Client, before: dict[str, int]) -> bool:
    found = processes(admin)
    changed = {name for name, row in found.items() if row["started_at"] != before[name]}
    return changed == {"beat", "worker", "web"} and {row["state"] for row in found.values()} == {"running"}


def test_whichever_dies_the_others_go_on_and_it_comes_back(stack, tender, admin):
    before = {name: row["started_at"] for name, row in processes(admin).items()}
    with Load(stack.base_url, admin._http.headers["Authorization"].removeprefix("Bearer ")) as load:
        for name in ("beat", "worker", "web"):
            os.kill(stack.children[name].pid, signal.SIGKILL)
            time.sleep(1)
        until("all of them", lambda: all_started_again(admin, before))
    # What the dying web was answering at that moment is lost to its caller, who asks again; nothing more.
    assert len(load.failed) <= 2
    assert load.count > 10


@pytest.mark.req("POOL-8.1c")
def test_with_one_beat_dead_the_other_ticks_and_work_is_placed(stack, tender, admin):
    with tender.looking_away():
        stack.children["beat"].stop()
        a_workload_runs(stack)
        stack.children["beat"].start()


def a_workload_runs(stack: Stack) -> None:
    alice, _answer = Client.sign_in(stack.base_url, "alice", password_of(stack), tenant="acme")
    with alice:
        body = {"name": "after the beat", "kind": "program", "argv": ["python", "-c", "print('done')"]}
        made = alice.post("workloads", {**body, "compute_percent": 10, "memory_mib": 256})
        ended = until(
            "the work's end",
            lambda: (row := alice.get(f"workloads/{made['uid']}"))["state"] in ("finished", "failed") and row,
        )
        assert ended["state"] == "finished"


@pytest.mark.req("POOL-8.1b")
def test_the_parts_start_in_any_order_and_the_database_last(stack, tender, admin):
    with tender.looking_away():
        for child in reversed(stack.children.values()):
            child.stop()
        stack.kill("postgres")
        # The node first, then the servers, while the database is on its way up.
        for name in ("node-1", "beat", "worker", "web", "beat-2", "worker-2", "web-2"):
            stack.children[name].start()
    until("the portal", stack.is_ready)
    until("all of them", lambda: {row["state"] for row in processes(admin).values()} == {"running"})
    until("the node", lambda: the_node(admin)["state"] == "ready")
