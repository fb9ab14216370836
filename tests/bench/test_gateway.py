"""What the way through portal and tunnel costs a request to the web pages of work, beside that to its socket."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from portal.demo.seed import TEMPLATE
from portal.devstack.demo_order import Journey
from portal.devstack.stack import Stack
from tests.harness.web_pages import ECHO, Caller

ROUNDS, LARGE_ROUNDS, LARGE_MIB = 400, 20, 5
# Both ways go through Python; the gateway parses each request twice more, and copies each byte four times.
MOST_S, LEAST_MIB_S = 0.1, 10


@pytest.fixture
def asked(stack: Stack, journey: Journey):
    """The same work, asked through the gateway and at its socket."""
    alice = journey.person("alice")
    work = alice.workload_submit(
        name="pages", argv=["python", "-c", ECHO], compute_percent=90, memory_mib=1024, web=True
    )
    caller = Caller(stack, alice.workload_web(work["uid"])["url"])
    cookie = caller.cookie()
    assert caller.ready(cookie).status_code == 200
    sockets = Path(stack.options.var_dir).glob("agents/*/slices/*/tmp/weir-web.sock")
    with TemporaryDirectory() as short:
        # A socket's path holds 107 characters.
        link = Path(short, "s")
        link.symlink_to(next(sockets))
        direct = httpx.Client(transport=httpx.HTTPTransport(uds=str(link)), base_url="http://work")
        yield direct.get, lambda path: caller.get(path, Cookie=cookie)
    alice.workload_stop(work["uid"])


def _times(get: Callable[[str], httpx.Response], path: str, rounds: int) -> list[float]:
    found = []
    for _round in range(rounds):
        began_s = time.perf_counter()
        assert get(path).status_code == 200
        found.append(time.perf_counter() - began_s)
    return found


def test_the_way_through_the_gateway_beside_the_direct_one(asked):
    direct, through = asked
    said = {}
    for name, get in (("direct", direct), ("through", through)):
        times = _times(get, "/", ROUNDS)
        large_s = min(_times(get, "/large", LARGE_ROUNDS))
        p50_s, p95_s = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        said[name] = (p50_s, p95_s, LARGE_MIB / large_s)
        print(f"{name}: p50 {p50_s * 1e3:.1f} ms, p95 {p95_s * 1e3:.1f} ms, {LARGE_MIB / large_s:.0f} MiB/s")
    assert said["through"][1] - said["direct"][1] < MOST_S
    assert said["through"][2] > LEAST_MIB_S


def test_how_long_an_environment_takes_to_open(stack: Stack, journey: Journey):
    """From the one click to the first byte of JupyterLab."""
    alice = journey.person("alice")
    template = next(row for row in alice.environment_templates() if row["name"] == TEMPLATE.name)
    for attempt in ("first", "second", "third"):
        began_s = time.perf_counter()
        work = alice.environment_start(template["uid"])
        caller = Caller(stack, alice.workload_web(work["uid"])["url"])
        assert caller.ready(caller.cookie()).status_code in (200, 302)
        print(
            f"{attempt} environment: {time.perf_counter() - began_s:.1f} s from the click to its first byte"
        )
        alice.workload_stop(work["uid"])
