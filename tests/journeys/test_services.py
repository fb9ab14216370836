"""A service on a node of a portal: its address answers who may ask, its health is told, and killed it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import weir

from portal.devstack.demo_order import Journey
from portal.devstack.stack import Stack
from tests.harness.web_pages import Caller

pytestmark = [
    pytest.mark.journey,
    pytest.mark.xdist_group("portal"),
    pytest.mark.req("PLAT-SVC-8", "PLAT-CMP-10"),
]
# Says who it is; asked for /die it ends.
SERVER = """
import http.server, json, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == '/die': os._exit(7)
        said = json.dumps({'pid': os.getpid(), 'headers': dict(self.headers)}).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(said)))
        self.end_headers(); self.wfile.write(said)
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def served(journey: Journey) -> Iterator[dict[str, Any]]:
    """Alice's service, on a port that its node has chosen; ended afterwards."""
    alice = journey.person("alice")
    work = alice.workload_submit(
        name=f"service {uuid4().hex[:6]}", argv=["python", "-c", SERVER, "$PORT"], serve=0, health="/healthz",
        compute_percent=20, memory_mib=256,
    )  # fmt: skip
    yield work
    alice.workload_stop(work["uid"])


def test_its_address_answers_who_has_a_key_and_killed_it_comes_back(
    stack: Stack, journey: Journey, served: dict[str, Any]
) -> None:
    alice, uid = journey.person("alice"), served["uid"]

    def healthy(restarts: int) -> bool:
        seen = alice.service(uid)
        return (seen["health"], seen["restarts"]) == ("healthy", restarts)

    journey.wait("its health", lambda: healthy(0))
    made = alice.service_key_make(uid, "bot")
    caller = Caller(stack, alice.workload_web(uid)["url"])
    keyed = {"Authorization": f"Bearer {made['key']}"}
    answer = journey.wait(
        "an answer", lambda: (found := caller.get("/", **keyed)).status_code == 200 and found
    )
    assert "Authorization" not in answer.json()["headers"]
    assert caller.ready(caller.cookie()).json()["pid"] == answer.json()["pid"], (
        "its owner opens it by browser"
    )

    caller.http.cookies.clear()
    refused = caller.get("/", Authorization="Bearer weirsvc_wrong")
    assert (refused.status_code, refused.headers["content-type"]) == (401, "application/problem+json")
    assert caller.get("/").status_code == 403
    for name in ("gina", "ops"):
        with pytest.raises(weir.WeirClientError):
            journey.person(name).service(uid)

    caller.get("/die", **keyed)
    journey.wait("its restart", lambda: healthy(1))
    seen = alice.service(uid)
    assert (seen["failure_code"], "exit code 7" in seen["failure"]) == ("ended", True)
    again = journey.wait(
        "an answer", lambda: (found := caller.get("/", **keyed)).status_code == 200 and found
    )
    assert again.status_code == 200

    alice.service_key_revoke(uid, made["uid"])
    journey.wait("the end of the key", lambda: caller.get("/", **keyed).status_code == 401)
