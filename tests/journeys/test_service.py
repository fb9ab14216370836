"""A service under its shim: asked after its health, ended where it is unwell, started again where it has ended."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from node_agent.runtime.network.rules import Rules
from node_agent.runtime.network.work_network import NetworkWanted
from node_agent.web.service_place import ServicePlace
from node_agent.web.work_keeper import keeper_connect
from node_agent.web.work_socket import NotListening, WorkSocket
from tests.journeys.test_shim import ShimSlice, kept  # noqa: F401

pytestmark = [pytest.mark.journey, pytest.mark.xdist_group("shim")]

# Answers at /healthz as long as there is no file `ill`; each start is counted in a file.
SERVER = """
import http.server, os, pathlib, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_GET(self):
        self.send_response(503 if pathlib.Path('ill').exists() else 200)
        self.end_headers(); self.wfile.write(os.environ['PORT'].encode())
with open('starts', 'a') as starts: print(os.getpid(), file=starts)
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
"""
CHECK = {
    "port": None, "health_path": "/healthz", "interval_s": 1, "timeout_s": 2, "failures": 2, "start_s": 30,
    "restart": "always", "max_restarts": 2,
}  # fmt: skip
Kept = Callable[..., ShimSlice]


def serving(kept: Kept, code: str = SERVER, name: str = "s", **check: Any) -> ShimSlice:  # noqa: F811
    """The slice of a service, started."""
    return kept(name, argv=["python", "-c", code, "$PORT"], service=CHECK | check, web=True).start()


def service(one: ShimSlice) -> dict[str, Any]:
    found: dict[str, Any] = one.state().get("service") or {}
    return found


def test_it_is_started_again_when_it_dies_and_when_it_is_unhealthy(kept: Kept) -> None:  # noqa: F811
    one = serving(kept)
    one.until(lambda: service(one).get("health") == "healthy")
    assert service(one)["restarts"] == 0
    place = ServicePlace(WorkSocket(one.files.path / "tmp", None), service(one)["port"])
    place.connect().close()
    with pytest.raises(NotListening, match="taken on this node"):
        ServicePlace(WorkSocket(one.files.path / "tmp", os.getuid() + 1), service(one)["port"]).connect()

    os.kill(one.state()["work_pid"], signal.SIGKILL)
    one.until(lambda: service(one)["restarts"] == 1 and service(one)["health"] == "healthy")
    assert "SIGKILL" in service(one)["failure"]

    (one.files.work / "ill").touch()
    one.until(lambda: service(one)["health"] in ("unhealthy", "waiting"))
    (one.files.work / "ill").unlink()
    one.until(lambda: service(one)["restarts"] == 2 and service(one)["health"] == "healthy")
    assert service(one)["failure"] == "unhealthy 2 times in a row: GET /healthz answered 503"
    assert len((one.files.work / "starts").read_text().split()) == 3
    assert one.state()["state"] == "running"

    one.want(state="stopped")
    ended = one.ended()
    assert (ended["state"], ended["reason_code"]) == ("exited", "stopped")


@pytest.mark.req("POOL-8.2c")
@pytest.mark.skipif(not shutil.which("pasta"), reason="pasta is not installed")
def test_two_services_listen_on_the_same_port_each_in_its_own_network(kept: Kept) -> None:  # noqa: F811
    network = NetworkWanted(Rules()).to_json()
    both = [
        kept(
            name,
            argv=["python", "-c", SERVER.replace("os.environ['PORT']", repr(name)), "$PORT"],
            service=CHECK | {"port": 8_080},
            web=True,
            isolation="namespaces",
            network=network,
        ).start()
        for name in ("one", "other")
    ]
    for one, name in zip(both, ("one", "other"), strict=True):
        one.until(lambda one=one: service(one).get("health") == "healthy")
        at = WorkSocket(one.files.path / "tmp", None)
        place = ServicePlace(at, 8_080, lambda port, one=one: keeper_connect(one.files.executions, port, 30))
        with place.connect() as connection:
            connection.setblocking(True)
            connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            heard = b""
            while data := connection.recv(1000):
                heard += data
        assert heard.endswith(name.encode())
        with pytest.raises(NotListening, match="nothing listens on port 8081"):
            replace(place, port=8_081).connect()
        # Not the node's port, where others could come.
        with pytest.raises(NotListening):
            ServicePlace(at, 8_080).connect()


def test_what_fails_again_and_again_has_failed_and_says_why(kept: Kept) -> None:  # noqa: F811
    one = serving(kept, "import sys; print('no model'); sys.exit(3)")
    ended = one.ended()
    assert (ended["state"], ended["reason_code"], ended["service"]["restarts"]) == ("failed", "crashed", 2)
    assert (
        ended["reason"]
        == "the service failed 3 times in a row, the last time: the work ended with exit code 3"
    )
    assert one.log().count("no model") == 3


def test_what_listens_nowhere_or_ends_as_it_may(kept: Kept) -> None:  # noqa: F811
    silent = serving(kept, "import time; time.sleep(600)", "silent", start_s=1, max_restarts=0)
    done = serving(kept, "print('done')", "done", restart="failure")
    assert "not healthy 1 s after its start: nothing listens on port" in silent.ended()["reason"]
    ended = done.ended()
    assert (ended["state"], ended["reason_code"], ended["service"]["restarts"]) == ("exited", "completed", 0)


def test_a_stop_while_it_waits_to_be_started_again_ends_it(kept: Kept) -> None:  # noqa: F811
    one = serving(kept, "raise SystemExit(1)", max_restarts=100)
    one.until(lambda: service(one).get("health") == "waiting")
    one.want(state="stopped")
    assert one.ended()["reason_code"] == "stopped"
