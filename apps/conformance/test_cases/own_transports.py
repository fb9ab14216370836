from pathlib import Path

from apps.conformance.harness.case_context import CaseContext
from apps.conformance.harness.record import NotRun, Record
from apps.conformance.test_cases.base import TestCase
from apps.conformance.test_cases.scripts import BEGIN, BEGIN_APART, Script, session, session_of, transports

MOVE = (
    BEGIN
    + """
a = torch.randn(4096, 1024)
a.to('weir:0').cpu()
began = time.time(); b = a.to('weir:0'); float(b[0, 0]); up = 16 / (time.time() - began)
began = time.time(); b.cpu(); down = 16 / (time.time() - began)
trips = []
for _ in range(50):
    began = time.time(); float(b[0, 0]); trips.append(time.time() - began)
print('RESULT', json.dumps({'up_mib_s': round(up), 'down_mib_s': round(down),
      'trip_us': round(sorted(trips)[25] * 1e6)}), flush=True)
time.sleep(30)
"""
)
USE = """
a = torch.randn(8, 8).to('weir:0')
float(a[0, 0])
print('READY', flush=True)
time.sleep(30)
"""


class DataNetwork(TestCase):
    """Bandwidth and latency of a session's transport, measured and shown (POOL-8.2a)."""

    number = "8.2a"
    seconds = 20

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        work, shares = session(pool, device=device["uid"], compute_percent=90, memory_mib=512)
        seen = Script(pool, MOVE, shares).result()
        shown = pool.until("the session's figures", lambda: _shown(pool, work), 30)
        say.step(
            "S1",
            "16 MiB up and down, and 50 round trips",
            f"{seen['up_mib_s']} and {seen['down_mib_s']} MiB/s, {seen['trip_us']} µs",
            **{name: shown[name] for name in ("transport", "bandwidth_mib_s", "latency_us")},
        )
        text = (
            f"{shown['transport']}: {shown['bandwidth_mib_s']} MiB/s and {shown['latency_us']} µs are shown"
        )
        say.expect("E2", bool(shown["bandwidth_mib_s"] and shown["latency_us"]), text)


class Transport(TestCase):
    """Shared memory where client and card are on one machine, TCP where it may not be used (POOL-8.2b)."""

    number = "8.2b"
    seconds = 20

    def run(self, pool: CaseContext, say: Record) -> None:
        (device,) = pool.take()
        found = {}
        for name, begin in (("free", BEGIN), ("apart", BEGIN_APART)):
            work, shares = session(pool, device=device["uid"], compute_percent=30, memory_mib=256)
            script = Script(pool, begin + USE, shares)
            script.says("READY")
            (found[name],) = transports(pool, work)
            script.end()
            pool.halt(work)
        say.step("S1", "sessions on one machine", str(found))
        is_chosen = found == {"free": "shared-memory", "apart": "tcp"}
        say.expect(
            "E2", is_chosen, f"chosen by itself: {found['free']}; without shared memory: {found['apart']}"
        )


class Networks(TestCase):
    """TCP/IP works; RDMA is a matter of the nodes' adapters (POOL-10.1)."""

    number = "10.1"
    seconds = 12

    def run(self, pool: CaseContext, say: Record) -> None:
        if not any(Path("/sys/class/infiniband").glob("*")):
            raise NotRun("the control node has no RDMA adapter; TCP/IP is shown by 12.3 and 8.2b")
        (device,) = pool.take()
        work, shares = session(pool, device=device["uid"], compute_percent=30, memory_mib=256)
        Script(pool, BEGIN + USE, shares).says("READY")
        (name,) = transports(pool, work)
        say.step("S1", "a session where RDMA adapters are", name)
        say.expect("E2", name == "rdma", f"the transport chosen is {name}")


def _shown(pool: CaseContext, work: dict) -> dict | None:
    rows = session_of(pool, work)
    return next((row for row in rows if row["bandwidth_mib_s"] and row["latency_us"]), None)
